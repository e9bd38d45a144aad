{#- Makes one file of many small ones. -#}
{% macro ducklake_merge_adjacent_files(
  table_name=none, schema=none, max_compacted_files=none, min_file_size=none, max_file_size=none,
  dry_run=false, database=none
) -%}
  {{ return(ducklake_operation('merge_adjacent_files', {
    'table_name': table_name, 'schema': schema, 'max_compacted_files': max_compacted_files,
    'min_file_size': min_file_size, 'max_file_size': max_file_size, 'dry_run': dry_run
  }, database)) }}
{%- endmacro %}


{#- Writes files again of which many rows are deleted. -#}
{% macro ducklake_rewrite_data_files(
  table_name=none, schema=none, delete_threshold=none, dry_run=false, database=none
) -%}
  {{ return(ducklake_operation('rewrite_data_files', {
    'table_name': table_name, 'schema': schema, 'delete_threshold': delete_threshold,
    'dry_run': dry_run
  }, database)) }}
{%- endmacro %}


{#- Moves rows that live in the catalog to files. -#}
{% macro ducklake_flush_inlined_data(table_name=none, schema_name=none, dry_run=false, database=none) -%}
  {{ return(ducklake_operation('flush_inlined_data', {
    'table_name': table_name, 'schema_name': schema_name, 'dry_run': dry_run
  }, database)) }}
{%- endmacro %}


{#- All of the maintenance, in DuckDB's order. -#}
{% macro ducklake_checkpoint(dry_run=false, database=none) -%}
  {{ return(ducklake_operation('checkpoint', {'dry_run': dry_run}, database)) }}
{%- endmacro %}
