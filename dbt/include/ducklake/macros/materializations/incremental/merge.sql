{% macro ducklake__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates=none) -%}
  {%- set plan = adapter.merge_plan(model.config) -%}
  {%- set keys = plan.using or unique_key or [] -%}
  {%- set keys = [keys] if keys is string else keys -%}
  {%- set predicates = [] + (incremental_predicates or []) -%}
  {%- for key in keys -%}
    {% do predicates.append(get_merge_unique_key_match(plan.source_alias ~ '.' ~ key, plan.target_alias ~ '.' ~ key)) %}
  {%- endfor -%}
  {%- if not keys -%}
    {% do predicates.append('false') %}
  {%- endif %}
  merge into {{ target.render() }} as {{ plan.target_alias }}
  using {{ source.render() }} as {{ plan.source_alias }}
  on {{ '(' ~ predicates | join(') and (') ~ ')' }}
  {%- for clause in plan.clauses if keys or clause.when != 'matched' -%}
    {%- set action = ducklake__merge_action(clause, plan, target, source, dest_columns) | trim -%}
    {%- if action %}
  when {{ clause.when }}{% if clause.conditions %} and ({{ clause.conditions | join(') and (') }}){% endif %}
    then {{ action }}
    {%- endif -%}
  {%- endfor %}
{%- endmacro %}


{#- What follows THEN; nothing for an update that leaves every column out. -#}
{% macro ducklake__merge_action(clause, plan, target, source, dest_columns) -%}
  {%- if clause.then == 'update' -%}
    {%- set assignments = ducklake__merge_assignments(clause, plan, target, source, dest_columns) -%}
    {%- if assignments -%}
    update set
      {{ assignments | join(',\n      ') }}
    {%- endif -%}
  {%- elif clause.then == 'insert' and clause.columns -%}
    insert ({{ clause.columns | join(', ') }}) values ({{ clause.values | join(', ') }})
  {%- elif clause.then == 'insert' -%}
    {%- set pairs = ducklake__merge_pairs(clause, target, source, dest_columns) -%}
    insert ({{ pairs | map(attribute=0) | join(', ') }})
    values ({{ plan.source_alias }}.{{ pairs | map(attribute=1) | join(', ' ~ plan.source_alias ~ '.') }})
  {%- elif clause.then == 'error' -%}
    error {{ ducklake__literal(clause.error_message) if clause.error_message }}
  {%- else -%}
    {{ clause.then }}
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__merge_assignments(clause, plan, target, source, dest_columns) -%}
  {%- set assignments, given = [], [] -%}
  {%- for column, expression in clause.set_expressions.items() -%}
    {% do given.append(column | replace('`', '') | lower) %}
    {% do assignments.append(column ~ ' = ' ~ expression) %}
  {%- endfor -%}
  {%- if clause.when == 'matched' and clause.by_position -%}
    {%- for mine, its in ducklake__merge_pairs(clause, target, source, dest_columns) -%}
      {% do assignments.append(mine ~ ' = ' ~ plan.source_alias ~ '.' ~ its) %}
    {%- endfor -%}
  {%- elif clause.when == 'matched' -%}
    {% do ducklake__check_excluded(clause.exclude, target, dest_columns) %}
    {%- for column in get_merge_update_columns(clause.include, clause.exclude, dest_columns)
        if column | replace('`', '') | lower not in given -%}
      {% do assignments.append(column ~ ' = ' ~ plan.source_alias ~ '.' ~ column) %}
    {%- endfor -%}
  {%- endif -%}
  {{ return(assignments) }}
{%- endmacro %}


{#- A column that is misspelt would be overwritten without a word. -#}
{% macro ducklake__check_excluded(excluded, target, dest_columns) -%}
  {%- if excluded -%}
    {%- set columns = dest_columns + adapter.get_columns_in_relation(target) -%}
    {%- set known = columns | map(attribute='name') | map('lower') | list -%}
    {%- for name in excluded if name | replace('`', '') | lower not in known -%}
      {% do exceptions.raise_compiler_error(
        'merge_exclude_columns names ' ~ name ~ ', which is no column of ' ~ target.render() ~ '.'
      ) %}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro %}


{#- Columns of the target, each with the column of the source that it takes its value from. -#}
{% macro ducklake__merge_pairs(clause, target, source, dest_columns) -%}
  {%- if clause.by_position -%}
    {%- set mine, its = adapter.get_columns_in_relation(target), adapter.get_columns_in_relation(source) -%}
    {%- if mine | length != its | length -%}
      {% do exceptions.raise_compiler_error(
        'A merge by position needs as many columns as ' ~ target.render() ~ ' has, '
        ~ mine | length ~ '; the model gives ' ~ its | length ~ '.'
      ) %}
    {%- endif -%}
  {%- else -%}
    {%- set mine, its = dest_columns, dest_columns -%}
  {%- endif -%}
  {{ return(zip(mine | map(attribute='quoted'), its | map(attribute='quoted')) | list) }}
{%- endmacro %}


{% macro ducklake__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) -%}
  {{ return(default__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns)) }}
{%- endmacro %}
