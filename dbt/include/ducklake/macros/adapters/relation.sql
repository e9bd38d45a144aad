{#- What is computed on the way to a table is a view of the connection's Spark session, in no lake. -#}
{% macro ducklake__make_temp_relation(base_relation, suffix) -%}
  {{ return(base_relation.incorporate(
    path={'identifier': base_relation.identifier ~ suffix, 'schema': none, 'database': none},
    type='view'
  )) }}
{%- endmacro %}


{% macro ducklake__drop_temp_relation(relation) -%}
  {% call statement('drop_temp_relation', auto_begin=False) -%}
    drop view if exists {{ relation.render() }}
  {%- endcall %}
{%- endmacro %}
