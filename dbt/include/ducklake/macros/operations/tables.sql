{#- The tables and the room they take. -#}
{% macro ducklake_table_info(
  table_name=none, schema=none, snapshot_version=none, snapshot_time=none, dry_run=false,
  database=none
) -%}
  {{ return(ducklake_operation('table_info', {
    'table_name': table_name, 'schema': schema, 'snapshot_version': snapshot_version,
    'snapshot_time': snapshot_time
  }, database)) }}
{%- endmacro %}


{#- The data files of a table. -#}
{% macro ducklake_list_files(
  table_name, schema=none, snapshot_version=none, snapshot_time=none, dry_run=false, database=none
) -%}
  {{ return(ducklake_operation('list_files', {
    'table_name': table_name, 'schema': schema, 'snapshot_version': snapshot_version,
    'snapshot_time': snapshot_time
  }, database)) }}
{%- endmacro %}


{#- Makes Parquet files that are there already part of a table. -#}
{% macro ducklake_add_data_files(
  table_name, files, schema=none, allow_missing=none, ignore_extra_columns=none,
  hive_partitioning=none, dry_run=false, database=none
) -%}
  {{ return(ducklake_operation('add_data_files', {
    'table_name': table_name, 'files': files, 'schema': schema, 'allow_missing': allow_missing,
    'ignore_extra_columns': ignore_extra_columns, 'hive_partitioning': hive_partitioning,
    'dry_run': dry_run
  }, database)) }}
{%- endmacro %}
