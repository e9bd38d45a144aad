{#- Looks for everything that could be wrong with the lake; changes nothing. -#}
{% macro ducklake_verify(table_name=none, schema=none, files=none, dry_run=false, database=none) -%}
  {{ return(ducklake_operation('verify', {
    'table_name': table_name, 'schema': schema, 'files': files
  }, database)) }}
{%- endmacro %}
