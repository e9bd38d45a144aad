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

  {%- set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {% do ducklake__check_snapshot_source(model['compiled_code'], columns, config.get('unique_key')) %}
  {% if not exists %}
    {%- set strategy = ducklake__snapshot_strategy(model['compiled_code'], exists) -%}
    {% set selected_sql = build_snapshot_table(strategy, model['compiled_code']) %}
    {% set final_sql = create_table_as(False, target_relation, selected_sql) %}
  {% else %}
    {%- set source_relation = make_temp_relation(target_relation, '__dbt_source') -%}
    {% call statement('source_rows') -%}
      {{ create_table_as(True, source_relation, model['compiled_code']) }}
    {%- endcall %}
    {#- A struct can only be compared with a struct that has the same fields. -#}
    {% do adapter.sync_nested_fields(source_relation, target_relation, 'append_new_columns') %}
    {#- Each kind of change is looked for by a query of its own over the same source rows. -#}
    {%- set evaluated_relation = ducklake__evaluate_once(source_relation, target_relation) -%}
    {%- set source_sql = 'select * from ' ~ evaluated_relation.render() -%}
    {%- set strategy = ducklake__snapshot_strategy(source_sql, exists) -%}
    {{ adapter.assert_valid_snapshot_target_given_strategy(target_relation, columns, strategy) }}
    {% set selected_sql = snapshot_staging_table(strategy, source_sql, target_relation) %}
    {%- set staging_relation = make_temp_relation(target_relation) -%}
    {% call statement('changed_rows') -%}
      create or replace temporary view {{ staging_relation.render() }} as {{ selected_sql }}
    {%- endcall %}
    {% do adapter.expand_target_column_types(from_relation=staging_relation, to_relation=target_relation) %}
    {% set final_sql = ducklake__snapshot_changes(strategy, staging_relation, target_relation) %}
    {% do ducklake__apply_layout(target_relation) %}
  {% endif %}

  {{ check_time_data_types(selected_sql) }}

  {% call statement('main') -%}
    {{ final_sql }}
  {%- endcall %}
  {% if exists %}
    {% do ducklake__drop_temp_relation(staging_relation) %}
    {% do ducklake__drop_temp_relation(source_relation) %}
    {% do ducklake__drop_temp_relation(evaluated_relation) %}
  {% endif %}

  {% do apply_grants(target_relation, grant_config) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{#- Add the columns that are new in the source, and return the statement that writes the changes. -#}
{% macro ducklake__snapshot_changes(strategy, staging_relation, target_relation) -%}
  {%- set helpers = ducklake__snapshot_helper_columns(strategy.unique_key) -%}
  {%- set written = adapter.get_columns_in_relation(staging_relation) | rejectattr('name', 'in', helpers) | list -%}
  {% do create_columns(target_relation, diff_columns(written, adapter.get_columns_in_relation(target_relation))) %}
  {{ return(snapshot_merge_sql(
      target=target_relation, source=staging_relation, insert_cols=written | map(attribute='quoted') | list
  )) }}
{%- endmacro %}


{#-
  Close versions and insert others, in one statement. A version is inserted even if its ID is there
  already: the ID is a hash of the key and `updated_at`, and a row may change while both stay.
-#}
{% macro ducklake__snapshot_merge_sql(target, source, insert_cols) -%}
  {%- set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set names = insert_cols | join(', ') -%}
  {%- set valid_to = 'DBT_INTERNAL_DEST.' ~ columns.dbt_valid_to %}
  merge into {{ target.render() }} as DBT_INTERNAL_DEST
  using {{ ducklake__snapshot_source(source, columns, insert_cols) }} as DBT_INTERNAL_SOURCE
  on DBT_INTERNAL_SOURCE.{{ columns.dbt_scd_id }} = DBT_INTERNAL_DEST.{{ columns.dbt_scd_id }}
    and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')
    {%- if config.get('dbt_valid_to_current') %}
    and ({{ equals(valid_to, config.get('dbt_valid_to_current')) }} or {{ valid_to }} is null)
    {%- else %}
    and {{ valid_to }} is null
    {%- endif %}
  when matched
    then update set {{ columns.dbt_valid_to }} = DBT_INTERNAL_SOURCE.{{ columns.dbt_valid_to }}
  when not matched and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'
    then insert ({{ names }}) values ({{ names }})
{%- endmacro %}


{#-
  Return a query of the changed rows with one row for each version to close. Several current versions
  have the same ID if the source ever had several rows of a key, and dbt joins the source to each of them.
  All these versions end at once, at the earliest time.
-#}
{% macro ducklake__snapshot_source(source, columns, insert_cols) -%}
  {%- set names = insert_cols | map('replace', '`', '') | map('lower') | list -%}
  {%- set number = namespace(name='dbt_row_number') -%}
  {%- for _ in names if number.name in names -%}
    {%- set number.name = number.name ~ '_' -%}
  {%- endfor -%}
  (
    select * except ({{ number.name }}) from (
      select *, row_number() over (
        partition by dbt_change_type, {{ columns.dbt_scd_id }} order by {{ columns.dbt_valid_to }}
      ) as {{ number.name }}
      from {{ source.render() }}
    ) where dbt_change_type = 'insert' or {{ number.name }} = 1
  )
{%- endmacro %}
