{#- Sets an option of the lake, a schema or a table. -#}
{% macro ducklake_set_option(
  option, value, schema=none, table_name=none, dry_run=false, database=none
) -%}
  {{ return(ducklake_operation('set_option', {
    'option': option, 'value': value, 'schema': schema, 'table_name': table_name,
    'dry_run': dry_run
  }, database)) }}
{%- endmacro %}


{#- The options that are set. Like all that only look, it takes a dry_run and has no use for it. -#}
{% macro ducklake_options(table_name=none, schema=none, dry_run=false, database=none) -%}
  {{ return(ducklake_operation('options', {'table_name': table_name, 'schema': schema}, database)) }}
{%- endmacro %}


{#- Adds the indexes to the catalog that make narrow reads fast. -#}
{% macro ducklake_create_indexes(dry_run=false, database=none) -%}
  {{ return(ducklake_operation('create_indexes', {'dry_run': dry_run}, database)) }}
{%- endmacro %}
