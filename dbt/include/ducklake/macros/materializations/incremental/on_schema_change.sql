{#- Fields inside structs first; what is left to compare then are columns. -#}
{% macro ducklake__process_schema_changes(on_schema_change, source_relation, target_relation) -%}
  {%- if on_schema_change in ('append_new_columns', 'sync_all_columns') -%}
    {% do adapter.sync_nested_fields(source_relation, target_relation, on_schema_change) %}
  {%- endif -%}
  {{ return(default__process_schema_changes(on_schema_change, source_relation, target_relation)) }}
{%- endmacro %}


{#- In place of dbt's own, which nothing dispatches: names of a lake do not differ in case alone. -#}
{% macro diff_columns(source_columns, target_columns) -%}
  {%- set known = target_columns | map(attribute='name') | map('lower') | list -%}
  {%- set missing = [] -%}
  {%- for column in source_columns if column.name | lower not in known -%}
    {% do missing.append(column) %}
  {%- endfor -%}
  {{ return(missing) }}
{%- endmacro %}


{% macro ducklake__diff_column_data_types(source_columns, target_columns) -%}
  {%- set spelled, named = {}, [] -%}
  {%- for column in target_columns -%}
    {% do spelled.update({column.name | lower: column.name}) %}
  {%- endfor -%}
  {%- for column in source_columns -%}
    {% do named.append(api.Column(spelled.get(column.name | lower, column.name), column.dtype)) %}
  {%- endfor -%}
  {{ return(default__diff_column_data_types(named, target_columns)) }}
{%- endmacro %}


{#- Types have been seen to: those that still differ hold all that the new ones do. -#}
{% macro ducklake__sync_column_schemas(on_schema_change, target_relation, schema_changes_dict) -%}
  {% do schema_changes_dict.update({'new_target_types': []}) %}
  {%- set gone = schema_changes_dict['target_not_in_source'] -%}
  {%- if on_schema_change == 'sync_all_columns' and gone -%}
    {#- A column that the layout is by must be there, and one that goes must not be in it. -#}
    {% do default__sync_column_schemas('append_new_columns', target_relation, schema_changes_dict) %}
    {% do ducklake__apply_layout(target_relation) %}
    {% do alter_relation_add_remove_columns(target_relation, none, gone) %}
  {%- else -%}
    {% do default__sync_column_schemas(on_schema_change, target_relation, schema_changes_dict) %}
  {%- endif -%}
{%- endmacro %}
