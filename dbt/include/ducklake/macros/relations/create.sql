{#- One commit replaces a table: no temporary name, no backup, no renaming. -#}
{% macro ducklake__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if language == 'python' %}
{#- The code begins on a line of its own: what calls this macro indents its first line. #}
{{ compiled_code }}

# ducklake: {{ ducklake__create_clause(temporary, relation) | replace('\n', ' ') }}
  {%- elif temporary -%}
    {{ config.get('sql_header', none) or '' }}
    {%- set contract = config.get('contract') %}
    {%- if contract and contract.enforced %}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- endif %}
    create or replace temporary view {{ relation.include(database=false, schema=false) }} as
    {{ compiled_code }}
  {%- else -%}
    {{ config.get('sql_header', none) or '' }}
    {%- set contract = config.get('contract') %}
    create or replace table {{ relation.render() }}
    {%- if contract and contract.enforced %}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {{ get_table_columns_and_constraints() }}
    {%- set compiled_code = get_select_subquery(compiled_code) %}
    {%- endif %}
    {{ ducklake__layout_clauses() }}
    as
    {{ compiled_code }}
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__create_clause(temporary, relation) -%}
  {%- if temporary -%}
    create or replace temporary view {{ relation.include(database=false, schema=false) }}
  {%- else -%}
    create or replace table {{ relation.render() }} {{ ducklake__layout_clauses() }}
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__create_view_as(relation, sql) -%}
  {{ config.get('sql_header', none) or '' }}
  {%- set contract = config.get('contract') %}
  create or replace view {{ relation.render() }}
  {%- if contract and contract.enforced %}
  {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  as
  {{ sql }}
{%- endmacro %}


{% macro ducklake__drop_relation(relation) -%}
  {% call statement('drop_relation', auto_begin=False) -%}
    drop {{ relation.type }} if exists {{ relation.render() }}
  {%- endcall %}
{%- endmacro %}


{% macro ducklake__rename_relation(from_relation, to_relation) -%}
  {% call statement('rename_relation') -%}
    alter {{ 'view' if from_relation.is_view else 'table' }} {{ from_relation.render() }}
    rename to {{ to_relation.render() }}
  {%- endcall %}
{%- endmacro %}
