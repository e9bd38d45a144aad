{#- Two tables cannot safely share files, so a clone is a view; see materializations/clone. -#}
{% macro ducklake__can_clone_table() -%}
  {{ return(False) }}
{%- endmacro %}
