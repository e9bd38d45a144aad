{#- Return the strategy for a query in place of the snapshot's own. -#}
{% macro ducklake__snapshot_strategy(query, exists) -%}
  {%- set node = dict(model, compiled_code=query) -%}
  {{ return(strategy_dispatch(config.get('strategy'))(
      node, 'snapshotted_data', 'source_data', model['config'], exists
  )) }}
{%- endmacro %}


{#- The columns that dbt adds to the changed rows, and that the snapshot table does not have. -#}
{% macro ducklake__snapshot_helper_columns(unique_key) -%}
  {%- set helpers = ['dbt_change_type', 'dbt_unique_key'] -%}
  {%- if unique_key is not string -%}
    {%- for _ in unique_key -%}
      {% do helpers.append('dbt_unique_key_' ~ loop.index) %}
    {%- endfor -%}
  {%- endif -%}
  {{ return(helpers) }}
{%- endmacro %}


{#- Reject a source with a column that dbt adds: only the next run would fail, and fail every time. -#}
{% macro ducklake__check_snapshot_source(query, columns, unique_key) -%}
  {%- set added = ducklake__snapshot_helper_columns(unique_key) -%}
  {%- for key, name in columns.items() if key != 'dbt_is_deleted' or config.get('hard_deletes') == 'new_record' -%}
    {% do added.append(name | replace('`', '') | lower) %}
  {%- endfor -%}
  {%- for column in adapter.get_column_schema_from_query(query) if column.name | lower in added -%}
    {% do exceptions.raise_compiler_error(
      'The source of the snapshot ' ~ this.render() ~ ' has a column ' ~ column.name ~ ', and dbt adds a column '
      ~ 'of that name. Give the column of the source another name.'
    ) %}
  {%- endfor -%}
{%- endmacro %}


{#- In place of dbt's own, which nothing dispatches: names of a lake do not differ in case alone. -#}
{% macro snapshot_check_all_get_existing_columns(node, target_exists, check_cols_config) -%}
  {%- if not target_exists -%}
    {{ return((false, [])) }}
  {%- endif -%}
  {%- set query = node['compiled_code'] -%}
  {%- if check_cols_config is iterable and check_cols_config is not string and check_cols_config -%}
    {%- set query = 'select ' ~ check_cols_config | join(', ') ~ ' from (\n' ~ query ~ '\n) subq' -%}
  {%- elif check_cols_config != 'all' -%}
    {% do exceptions.raise_compiler_error("Invalid value for 'check_cols': " ~ check_cols_config) %}
  {%- endif -%}
  {%- set target = adapter.get_relation(database=node.database, schema=node.schema, identifier=node.alias) -%}
  {%- set checked = adapter.get_column_schema_from_query(query) -%}
  {%- set missing = diff_columns(checked, adapter.get_columns_in_relation(target)) -%}
  {{ return((missing | length > 0, checked | reject('in', missing) | map(attribute='quoted') | list)) }}
{%- endmacro %}


{#-
  dbt's hash, except that no two different lists of values have the same one. dbt joins the values with
  a bar and reads NULL as an empty text. Where a value is NULL or has a bar, the lengths are added.
-#}
{% macro ducklake__snapshot_hash_arguments(args) -%}
  {%- set texts, lengths = [], [] -%}
  {%- for arg in args -%}
    {% do texts.append("coalesce(cast(" ~ arg ~ " as string), '')") %}
    {% do lengths.append("coalesce(cast(length(cast(" ~ arg ~ " as string)) as string), 'null')") %}
  {%- endfor -%}
  {%- set joined = texts | join(" || '|' || ") -%}
  md5({{ joined }} || case
    when array_contains(array({{ lengths | join(', ') }}), 'null')
      or length({{ joined }}) - length(replace({{ joined }}, '|', '')) > {{ args | length - 1 }}
    then '|' || {{ lengths | join(" || ',' || ") }} else '' end)
{%- endmacro %}
