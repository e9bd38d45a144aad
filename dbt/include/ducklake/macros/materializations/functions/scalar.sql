{#- A function of Spark's ends with the process that made it, and DuckLake's macros are in DuckDB's SQL alone. -#}
{% macro ducklake__scalar_function_sql(target_relation) -%}
  {% do exceptions.raise_compiler_error(
    "The function " ~ target_relation.render() ~ " cannot be made: neither Spark nor the lake would keep it "
    ~ "for the models of another run. Write it as a dbt macro."
  ) %}
{%- endmacro %}


{% macro ducklake__aggregate_function_sql(target_relation) -%}
  {{ ducklake__scalar_function_sql(target_relation) }}
{%- endmacro %}
