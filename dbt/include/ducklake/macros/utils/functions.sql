{#- What Spark has by these names today; dbt-spark's own ways are of Spark 2. -#}
{% macro ducklake__bool_or(expression) -%}
  bool_or({{ expression }})
{%- endmacro %}


{% macro ducklake__split_part(string_text, delimiter_text, part_number) -%}
  split_part({{ string_text }}, {{ delimiter_text }}, {{ part_number }})
{%- endmacro %}
