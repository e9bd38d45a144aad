{#- NULL where a value does not fit, which dbt-spark's own is only without ANSI. Structs, lists and
    maps have no text to cast from: in unit tests they are SQL, which dbt has made a text of. -#}
{% macro ducklake__safe_cast(field, type) -%}
  {%- if field is string and cast_from_string_unsupported_for(type) -%}
    {%- set field = field.strip('"').strip("'") | replace("\\'", "'") | replace("\\\\", "\\") -%}
  {%- endif -%}
  try_cast({{ field }} as {{ type }})
{%- endmacro %}
