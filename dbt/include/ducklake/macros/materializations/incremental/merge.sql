{% macro ducklake__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates=none) -%}
  {%- set predicates = [] + (incremental_predicates or []) -%}
  {%- set keys = [] if not unique_key else ([unique_key] if unique_key is string else unique_key) -%}
  {%- for key in keys -%}
    {% do predicates.append(get_merge_unique_key_match('DBT_INTERNAL_SOURCE.' ~ key, 'DBT_INTERNAL_DEST.' ~ key)) %}
  {%- endfor -%}
  {%- if not keys -%}
    {% do predicates.append('false') %}
  {%- endif -%}
  {%- set update_columns = get_merge_update_columns(
    config.get('merge_update_columns'), config.get('merge_exclude_columns'), dest_columns
  ) -%}
  {%- set names = get_quoted_csv(dest_columns | map(attribute='name')) %}
  merge into {{ target.render() }} as DBT_INTERNAL_DEST
  using {{ source.render() }} as DBT_INTERNAL_SOURCE
  on {{ '(' ~ predicates | join(') and (') ~ ')' }}
  {%- if keys and update_columns %}
  when matched then update set
    {%- for column in update_columns %}
    {{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
  {%- endif %}
  when not matched then insert ({{ names }}) values ({{ names }})
{%- endmacro %}


{% macro ducklake__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) -%}
  {{ return(default__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns)) }}
{%- endmacro %}
