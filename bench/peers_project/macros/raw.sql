{#- A Parquet file that every engine reads. -#}
{% macro raw(name) -%}
  {%- set path = env_var('PEERS_DATA') ~ '/' ~ name ~ '.parquet' -%}
  {{ "read_parquet('" ~ path ~ "')" if target.type == 'duckdb' else 'parquet.`' ~ path ~ '`' }}
{%- endmacro %}
