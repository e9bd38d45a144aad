{#- Forgets snapshots, by age or by id. -#}
{% macro ducklake_expire(older_than=none, versions=none, dry_run=false, database=none) -%}
  {{ return(ducklake_operation('expire_snapshots', {
    'older_than': older_than, 'versions': versions, 'dry_run': dry_run
  }, database)) }}
{%- endmacro %}


{#- The name of DuckDB's function. -#}
{% macro ducklake_expire_snapshots(older_than=none, versions=none, dry_run=false, database=none) -%}
  {{ return(ducklake_expire(older_than, versions, dry_run, database)) }}
{%- endmacro %}
