{#- Removes the files that no snapshot needs any more. -#}
{% macro ducklake_cleanup_old_files(older_than=none, cleanup_all=none, dry_run=false, database=none) -%}
  {{ return(ducklake_operation('cleanup_old_files', {
    'older_than': older_than, 'cleanup_all': cleanup_all, 'dry_run': dry_run
  }, database)) }}
{%- endmacro %}


{#- Removes the files that this lake wrote and no snapshot needs; lists other unknown files. -#}
{% macro ducklake_delete_orphaned_files(older_than=none, cleanup_all=none, exclusive_data_path=none, dry_run=false, database=none) -%}
  {{ return(ducklake_operation('delete_orphaned_files', {
    'older_than': older_than, 'cleanup_all': cleanup_all,
    'exclusive_data_path': exclusive_data_path, 'dry_run': dry_run
  }, database)) }}
{%- endmacro %}
