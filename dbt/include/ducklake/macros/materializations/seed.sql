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

  {%- set types = ducklake__seed_types(agate_table) -%}
  {%- set query = ducklake__seed_query(agate_table, types) -%}
  {%- set replaced = existing_relation is none or not existing_relation.is_table or should_full_refresh()
      or ducklake__has_other_columns(existing_relation, query) -%}
  {%- if not replaced -%}
    {% do ducklake__apply_layout(target_relation) %}
  {%- endif %}
  {% call statement('main') -%}
    {%- if replaced %}
      create or replace table {{ target_relation.render() }} {{ ducklake__layout_clauses() }} as {{ query }}
    {%- else %}
      insert overwrite {{ target_relation.render() }} by name {{ query }}
    {%- endif %}
  {%- endcall %}
  {% do ducklake__forget_view(existing_relation) %}
  {# dbt's log and its tests want to see how the rows got there. #}
  {% set rows_affected = agate_table.rows | length %}

  {% do apply_grants(target_relation, grant_config) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{% macro ducklake__seed_types(agate_table) -%}
  {%- set types, given = {}, config.get('column_types', {}) -%}
  {%- for name in agate_table.column_names -%}
    {% do types.update({name: given.get(name, adapter.convert_type(agate_table, loop.index0))}) %}
  {%- endfor -%}
  {{ return(types) }}
{%- endmacro %}


{#- A file may change: its decimals would be cut to fit a column that was made for integers. -#}
{% macro ducklake__has_other_columns(relation, query) -%}
  {%- set wanted, there = {}, {} -%}
  {%- for column in adapter.get_column_schema_from_query(query) -%}
    {% do wanted.update({column.name | lower: column.dtype}) %}
  {%- endfor -%}
  {%- for column in adapter.get_columns_in_relation(relation) -%}
    {% do there.update({column.name | lower: column.dtype}) %}
  {%- endfor -%}
  {{ return(wanted != there) }}
{%- endmacro %}


{% macro ducklake__seed_query(agate_table, types) -%}
  {%- set quotes = config.get('quote_columns', none) -%}
  select
  {%- for name, type in types.items() %}
    cast({{ adapter.quote(name) }} as {{ type }}) as {{ adapter.quote_seed_column(name, quotes) }}{{ ',' if not loop.last }}
  {%- endfor %}
  from {{ adapter.seed_view(model['alias'] ~ '__dbt_seed', agate_table, types) }}
{%- endmacro %}
