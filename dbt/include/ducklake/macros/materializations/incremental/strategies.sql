{#-
  Whether a strategy evaluates the model's query once when it is given a view of it. The strategies named
  here make one statement, and a MERGE keeps the rows of its source. Others may read the view again, and so
  may a project's own version of one of the macros that they are made of.
-#}
{% macro ducklake__reads_once(strategy, strategy_macro) -%}
  {%- set append = [adapter.dispatch('get_incremental_append_sql', 'dbt')] -%}
  {%- set merge = [adapter.dispatch('get_incremental_merge_sql', 'dbt'), adapter.dispatch('get_merge_sql', 'dbt')] -%}
  {%- set made_of = {
    'append': append,
    'merge': merge,
    'default': [adapter.dispatch('get_incremental_default_sql', 'dbt')] + append + merge,
    'insert_overwrite': [adapter.dispatch('get_incremental_insert_overwrite_sql', 'dbt')],
    'microbatch': [adapter.dispatch('get_incremental_microbatch_sql', 'dbt')]
  } -%}
  {%- if strategy not in made_of -%}
    {{ return(false) }}
  {%- endif -%}
  {%- set packages = ([strategy_macro] + made_of[strategy]) | map(attribute='macro.package_name') | list -%}
  {{ return(packages | reject('in', ('dbt', 'dbt_ducklake')) | list | length == 0) }}
{%- endmacro %}


{% macro ducklake__get_incremental_default_sql(arg_dict) -%}
  {%- if arg_dict['unique_key'] -%}
    {{ return(get_incremental_merge_sql(arg_dict)) }}
  {%- else -%}
    {{ return(get_incremental_append_sql(arg_dict)) }}
  {%- endif -%}
{%- endmacro %}


{#- dbt-spark has a global get_insert_into_sql of two arguments that hides dbt's own of three. -#}
{% macro ducklake__get_incremental_append_sql(arg_dict) -%}
  {{ return(ducklake__insert_sql(arg_dict['target_relation'], arg_dict['temp_relation'], arg_dict['dest_columns'])) }}
{%- endmacro %}


{% macro ducklake__insert_sql(target, source, columns) -%}
  {%- set names = get_quoted_csv(columns | map(attribute='name')) -%}
  insert into {{ target.render() }} ({{ names }})
  select {{ names }} from {{ source.render() }}
{%- endmacro %}


{% macro ducklake__get_delete_insert_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- if unique_key -%}
    {%- set keys = [unique_key] if unique_key is string else unique_key %}
    delete from {{ target.render() }} as DBT_INTERNAL_DEST
    where exists (
      select 1 from {{ source.render() }} as DBT_INTERNAL_SOURCE
      where
      {%- for key in keys %}
        {{ equals('DBT_INTERNAL_SOURCE.' ~ key, 'DBT_INTERNAL_DEST.' ~ key) | trim }}{{ ' and' if not loop.last }}
      {%- endfor %}
    )
    {%- for predicate in incremental_predicates or [] %}
      and ({{ predicate }})
    {%- endfor %};
  {%- endif %}
  {{ ducklake__insert_sql(target, source, dest_columns) }}
{%- endmacro %}


{#- Rows of the partitions that new rows are in give way to these; without partitions, all rows. -#}
{% macro ducklake__get_incremental_insert_overwrite_sql(arg_dict) -%}
  {%- set target, source = arg_dict['target_relation'], arg_dict['temp_relation'] -%}
  {%- set names = get_quoted_csv(arg_dict['dest_columns'] | map(attribute='name')) -%}
  {%- set dynamic = ducklake__layout().partitioned_by | length > 0 -%}
  insert overwrite {{ target.render() }}
  {%- if dynamic %} partition ({{ get_quoted_csv(arg_dict['dest_columns'][:1] | map(attribute='name')) }}){% endif %}
  by name select {{ names }} from {{ source.render() }}
{%- endmacro %}


{#-
  A batch replaces its time by one statement, so that others of the model can run beside it. It writes no
  rows of another time: dbt filters only inputs that have an event_time, so every batch may see all rows.
-#}
{% macro ducklake__get_incremental_microbatch_sql(arg_dict) -%}
  {%- set names = get_quoted_csv(arg_dict['dest_columns'] | map(attribute='name')) -%}
  {%- set time = adapter.within_event_time(
    model.config.event_time, model.batch.event_time_start, model.batch.event_time_end
  ) -%}
  {%- set conditions = (arg_dict.get('incremental_predicates') or []) + time %}
  insert into {{ arg_dict['target_relation'].render() }} as DBT_INTERNAL_TARGET
  by name replace only where {{ '(' ~ conditions | join(') and (') ~ ')' }}
  select {{ names }} from (
    {{ model['compiled_code'] }}
  ) as DBT_INTERNAL_SOURCE
{%- endmacro %}
