{#- A function has no place for a comment. -#}
{% macro ducklake__persist_docs(relation, model, for_relation, for_columns) -%}
  {%- if not relation.is_function -%}
    {{ return(default__persist_docs(relation, model, for_relation, for_columns)) }}
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__alter_relation_comment(relation, comment) -%}
  comment on {{ 'view' if relation.is_view else 'table' }} {{ relation.render() }} is {{ ducklake__literal(comment) }}
{%- endmacro %}


{% macro ducklake__alter_column_comment(relation, column_dict) -%}
  {%- for name, column in column_dict.items() if column['description'] %}
    comment on column {{ relation.render() }}.{{ adapter.quote(name) }} is {{ ducklake__literal(column['description']) }};
  {%- endfor %}
{%- endmacro %}
