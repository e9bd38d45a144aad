{#- Removes the files that no snapshot needs any more. -#}
{% macro ducklake_cleanup_old_files(older_than=none, cleanup_all=none, dry_run=false, database=none) -%}
  {{ return(ducklake_operation('cleanup_old_files', {
    'older_than': older_than, 'cleanup_all': cleanup_all, 'dry_run': dry_run
  }, database)) }}
{%- endmacro %}


{#- Removes the files below the data path that the lake knows nothing of. -#}
{% macro ducklake_delete_orphaned_files(older_than=none, cleanup_all=none, dry_run=false, database=none) -%}
  {{ return(ducklake_operation('delete_orphaned_files', {
    'older_than': older_than, 'cleanup_all': cleanup_all, 'dry_run': dry_run
  }, database)) }}
{%- endmacro %}
