{#- Spark has listagg since 4.0; dbt-spark's own way loses the order. -#}
{% macro ducklake__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- set listed -%}
    listagg({{ measure }}, {{ delimiter_text }}){% if order_by_clause %} within group ({{ order_by_clause }}){% endif %}
  {%- endset -%}
  {%- if limit_num -%}
    substring_index({{ listed }}, {{ delimiter_text }}, {{ limit_num }})
  {%- else -%}
    {{ listed }}
  {%- endif -%}
{%- endmacro %}
