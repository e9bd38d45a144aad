{% macro ducklake__current_timestamp() -%}
  current_timestamp()
{%- endmacro %}


{% macro ducklake__snapshot_string_as_time(timestamp) -%}
  {{ return("timestamp'" ~ timestamp ~ "'") }}
{%- endmacro %}
