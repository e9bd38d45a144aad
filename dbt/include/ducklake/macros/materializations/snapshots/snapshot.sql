{% materialization snapshot, adapter='ducklake' %}

  {%- set exists, target_relation = get_or_create_relation(
      database=model.database, schema=model.schema, identifier=model.get('alias', model.name), type='table'
  ) -%}
  {%- if target_relation.is_function -%}
    {#- A macro of that name is no snapshot, and stays beside the one that is made. -#}
    {% do adapter.cache_dropped(target_relation) %}
    {%- set exists, target_relation = false, target_relation.incorporate(type='table') -%}
  {%- endif -%}
  {%- if not target_relation.is_table -%}
    {% do exceptions.relation_wrong_type(target_relation, 'table') %}
  {%- endif -%}
  {%- set grant_config = config.get('grants') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set strategy = strategy_dispatch(config.get('strategy'))(
      model, 'snapshotted_data', 'source_data', model['config'], exists
  ) -%}

  {% if not exists %}
    {% set selected_sql = build_snapshot_table(strategy, model['compiled_code']) %}
    {% set final_sql = create_table_as(False, target_relation, selected_sql) %}
  {% else %}
    {% set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() %}
    {{ adapter.assert_valid_snapshot_target_given_strategy(target_relation, columns, strategy) }}
    {% set selected_sql = snapshot_staging_table(strategy, sql, target_relation) %}
    {% set staging_relation = build_snapshot_staging_table(strategy, sql, target_relation) %}
    {% do adapter.expand_target_column_types(from_relation=staging_relation, to_relation=target_relation) %}
    {% set final_sql = ducklake__snapshot_changes(strategy, staging_relation, target_relation) %}
    {% do ducklake__apply_layout(target_relation) %}
  {% endif %}

  {{ check_time_data_types(selected_sql) }}

  {% call statement('main') -%}
    {{ final_sql }}
  {%- endcall %}

  {% do apply_grants(target_relation, grant_config) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {% if staging_relation is defined %}
    {% do post_snapshot(staging_relation) %}
  {% endif %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{#- Adds the columns that the source has newly, and gives the statement that writes the changes. -#}
{% macro ducklake__snapshot_changes(strategy, staging_relation, target_relation) -%}
  {%- set helpers = ['dbt_change_type', 'dbt_unique_key'] -%}
  {%- if strategy.unique_key is not string -%}
    {%- for _ in strategy.unique_key -%}
      {% do helpers.append('dbt_unique_key_' ~ loop.index) %}
    {%- endfor -%}
  {%- endif -%}
  {%- set missing = adapter.get_missing_columns(staging_relation, target_relation)
      | rejectattr('name', 'in', helpers) | list -%}
  {% do create_columns(target_relation, missing) %}
  {%- set names = adapter.get_columns_in_relation(staging_relation)
      | rejectattr('name', 'in', helpers) | map(attribute='quoted') | list -%}
  {{ return(snapshot_merge_sql(target=target_relation, source=staging_relation, insert_cols=names)) }}
{%- endmacro %}


{% macro ducklake__snapshot_merge_sql(target, source, insert_cols) -%}
  {%- set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set names = insert_cols | join(', ') %}
  merge into {{ target.render() }} as DBT_INTERNAL_DEST
  using {{ source.render() }} as DBT_INTERNAL_SOURCE
  on DBT_INTERNAL_SOURCE.{{ columns.dbt_scd_id }} = DBT_INTERNAL_DEST.{{ columns.dbt_scd_id }}
  when matched
    {%- if config.get('dbt_valid_to_current') %}
      and (
        {{ equals('DBT_INTERNAL_DEST.' ~ columns.dbt_valid_to, config.get('dbt_valid_to_current')) }}
        or DBT_INTERNAL_DEST.{{ columns.dbt_valid_to }} is null
      )
    {%- else %}
      and DBT_INTERNAL_DEST.{{ columns.dbt_valid_to }} is null
    {%- endif %}
    and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')
    then update set {{ columns.dbt_valid_to }} = DBT_INTERNAL_SOURCE.{{ columns.dbt_valid_to }}
  when not matched and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'
    then insert ({{ names }}) values ({{ names }})
{%- endmacro %}


{% macro ducklake__post_snapshot(staging_relation) -%}
  {% do ducklake__drop_temp_relation(staging_relation) %}
{%- endmacro %}
