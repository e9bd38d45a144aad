{#- For what stands between single quotes: Spark takes a backslash there for the begin of an escape. -#}
{% macro ducklake__escape_single_quotes(expression) -%}
  {{ return(expression | replace("\\", "\\\\") | replace("'", "\\'")) }}
{%- endmacro %}


{% macro ducklake__literal(text) -%}
  {{ return("'" ~ ducklake__escape_single_quotes(text) ~ "'") }}
{%- endmacro %}
