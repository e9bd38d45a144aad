{% macro ducklake__create_schema(relation) -%}
  {%- call statement('create_schema') -%}
    create schema if not exists {{ relation.without_identifier() }}
  {%- endcall %}
{%- endmacro %}


{% macro ducklake__drop_schema(relation) -%}
  {%- call statement('drop_schema') -%}
    drop schema if exists {{ relation.without_identifier() }} cascade
  {%- endcall %}
{%- endmacro %}


{#- dbt-spark's own says none: its relations have no database, ours have. dbt's own knows of catalogs.yml
    in its newest versions only. -#}
{% macro ducklake__generate_database_name(custom_database_name=none, node=none) -%}
  {%- if node is not none and node | attr('database') -%}
    {%- set lake = adapter.build_catalog_relation(node) -%}
  {%- endif -%}
  {{ return(lake.catalog_database if lake else default__generate_database_name(custom_database_name)) }}
{%- endmacro %}
