{#- The history of the lake. -#}
{% macro ducklake_snapshots(dry_run=false, database=none) -%}
  {{ return(ducklake_operation('snapshots', {}, database)) }}
{%- endmacro %}


{#- Makes the lake, or one table, what it was at a snapshot, as a new snapshot. -#}
{% macro ducklake_rollback(
  snapshot_version=none, snapshot_time=none, table_name=none, schema=none, dry_run=false,
  database=none
) -%}
  {{ return(ducklake_operation('rollback', {
    'snapshot_version': snapshot_version, 'snapshot_time': snapshot_time,
    'table_name': table_name, 'schema': schema, 'dry_run': dry_run
  }, database)) }}
{%- endmacro %}
