{% macro ducklake__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}


{% macro ducklake__alter_column_type(relation, column_name, new_column_type) -%}
  {% call statement('alter_column_type') %}
    alter table {{ relation.render() }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {% endcall %}
{%- endmacro %}


{% macro ducklake__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
  {% for column in add_columns or [] %}
    {% do run_query('alter table ' ~ relation.render() ~ ' add column ' ~ column.quoted ~ ' ' ~ column.data_type) %}
  {% endfor %}
  {% for column in remove_columns or [] %}
    {% do run_query('alter table ' ~ relation.render() ~ ' drop column ' ~ column.quoted) %}
  {% endfor %}
{%- endmacro %}


{% macro ducklake__create_columns(relation, columns) -%}
  {{ ducklake__alter_relation_add_remove_columns(relation, columns, none) }}
{%- endmacro %}


{#- The subquery has no alias of its own that a model's columns could meet. -#}
{% macro ducklake__get_empty_subquery_sql(select_sql, select_sql_header=none) -%}
  {%- if select_sql_header is not none -%}
    {{ select_sql_header }}
  {%- endif %}
  select * from (
    {{ select_sql }}
  ) as __dbt_sbq
  where false
{%- endmacro %}
