{#- Writes an HTML page about the lake: sizes, history, what maintenance would gain. -#}
{% macro ducklake_report(path='lake-report.html', database=none) -%}
  {%- if execute -%}
    {%- do print('ducklake_report: ' ~ adapter.write_report(path, database)) -%}
  {%- endif -%}
{%- endmacro %}
