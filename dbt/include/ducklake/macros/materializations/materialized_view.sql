{% materialization materialized_view, adapter='ducklake' -%}
  {% do exceptions.raise_compiler_error(
    model['unique_id'] ~ ' cannot be a materialized view, because DuckLake has none. '
    ~ "Set materialized='table' to compute it in each run, or 'incremental' to add to it."
  ) %}
{%- endmaterialization %}
