{#- What is computed on the way to a table is a view of the connection's Spark session, in no lake. -#}
{% macro ducklake__make_temp_relation(base_relation, suffix) -%}
  {{ return(base_relation.incorporate(
    path={'identifier': base_relation.identifier ~ suffix, 'schema': none, 'database': none},
    type='view'
  )) }}
{%- endmacro %}


{% macro ducklake__drop_temp_relation(relation) -%}
  {% call statement('drop_temp_relation', auto_begin=False) -%}
    drop {{ 'table' if relation.is_table else 'view' }} if exists {{ relation.render() }}
  {%- endcall %}
{%- endmacro %}


{#-
  Write the rows of a temporary view to a table and return that table. A view evaluates its query each
  time it is read, and a query may return other rows the second time. The caller drops the table in
  the same transaction, so no snapshot of the lake contains it. `names` are the columns to write, by default all.
-#}
{% macro ducklake__evaluate_once(view_relation, target_relation, names=none) -%}
  {%- set evaluated = target_relation.incorporate(
      path={'identifier': 'dbt_tmp_' ~ local_md5(invocation_id ~ target_relation.render())}, type='table'
  ) -%}
  {%- set selected = ducklake__columns_as_in(target_relation, view_relation, names) | join(', ') -%}
  {%- set query = 'select ' ~ selected ~ ' from ' ~ view_relation.render() -%}
  {%- set definitions = adapter.conforming_columns(query, target_relation) -%}
  {%- if definitions -%}
    {#- A cast would match the fields of structs by position; an INSERT matches them by name. -#}
    {% call statement('create_evaluated') -%}
      create table {{ evaluated.render() }} ({{ definitions | join(', ') }})
    {%- endcall %}
    {% call statement('evaluate_once') -%}
      insert into {{ evaluated.render() }} {{ query }}
    {%- endcall %}
  {%- else -%}
    {% call statement('evaluate_once') -%}
      create table {{ evaluated.render() }} as {{ query }}
    {%- endcall %}
  {%- endif -%}
  {{ return(evaluated) }}
{%- endmacro %}


{#- The columns of a relation, spelled as the target spells them. -#}
{% macro ducklake__columns_as_in(target_relation, relation, names=none) -%}
  {%- set wanted = names | map('lower') | list if names else none -%}
  {%- set known, selected = {}, [] -%}
  {%- for column in adapter.get_columns_in_relation(target_relation) -%}
    {% do known.update({column.name | lower: column}) %}
  {%- endfor -%}
  {%- for column in adapter.get_columns_in_relation(relation) if wanted is none or column.name | lower in wanted -%}
    {% do selected.append(column.quoted ~ ' as ' ~ known.get(column.name | lower, column).quoted) %}
  {%- endfor -%}
  {{ return(selected) }}
{%- endmacro %}
