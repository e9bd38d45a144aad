{% materialization seed, adapter='ducklake' %}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- if existing_relation is not none and existing_relation.is_view -%}
    {{ exceptions.raise_compiler_error("Cannot seed to '{}', it is a view".format(existing_relation.render())) }}
  {%- endif -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set agate_table = load_agate_table() -%}
  {%- do store_result('agate_table', response='OK', agate_table=agate_table) -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set query = ducklake__seed_query(agate_table) %}
  {% call statement('main') -%}
    {%- if existing_relation is none or should_full_refresh() %}
      create or replace table {{ target_relation.render() }} {{ ducklake__layout_clauses() }} as {{ query }}
    {%- else %}
      insert overwrite {{ target_relation.render() }} by name {{ query }}
    {%- endif %}
  {%- endcall %}
  {# dbt's log and its tests want to see how the rows got there. #}
  {% set rows_affected = agate_table.rows | length %}

  {% do apply_grants(target_relation, grant_config) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{% macro ducklake__seed_query(agate_table) -%}
  {%- set types = config.get('column_types', {}) -%}
  {%- set quotes = config.get('quote_columns', none) -%}
  select
  {%- for name in agate_table.column_names %}
    cast({{ adapter.quote(name) }} as {{ types.get(name, adapter.convert_type(agate_table, loop.index0)) }}) as {{ adapter.quote_seed_column(name, quotes) }}{{ ',' if not loop.last }}
  {%- endfor %}
  from {{ adapter.seed_view(model['alias'] ~ '__dbt_seed', agate_table) }}
{%- endmacro %}
