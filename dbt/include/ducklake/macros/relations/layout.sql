{#- Partitioning, sort order and options of a table, as a model's config has them. -#}
{% macro ducklake__layout() -%}
  {{ return(adapter.table_layout(model.config)) }}
{%- endmacro %}


{% macro ducklake__layout_clauses() -%}
  {%- set layout = ducklake__layout() -%}
  {%- if layout.partitioned_by %}
    partitioned by ({{ layout.partitioned_by | join(', ') }})
  {%- endif %}
  {%- if layout.sorted_by %}
    sorted by ({{ layout.sorted_by | join(', ') }})
  {%- endif %}
  {%- if layout.options %}
    tblproperties (
      {%- for key, value in layout.options.items() -%}
        {{ ducklake__literal(key) }} = {{ ducklake__literal(value) }}{{ ', ' if not loop.last }}
      {%- endfor -%}
    )
  {%- endif %}
{%- endmacro %}


{#- Gives an existing table the layout of its config; files that are there stay as they are. -#}
{% macro ducklake__apply_layout(relation) -%}
  {%- set layout = ducklake__layout() -%}
  {%- if layout.partitioned_by %}
    {% do run_query('alter table ' ~ relation.render() ~ ' set partitioned by (' ~ layout.partitioned_by | join(', ') ~ ')') %}
  {%- else %}
    {% do run_query('alter table ' ~ relation.render() ~ ' reset partitioned by') %}
  {%- endif %}
  {%- if layout.sorted_by %}
    {% do run_query('alter table ' ~ relation.render() ~ ' set sorted by (' ~ layout.sorted_by | join(', ') ~ ')') %}
  {%- else %}
    {% do run_query('alter table ' ~ relation.render() ~ ' reset sorted by') %}
  {%- endif %}
  {%- for key, value in layout.options.items() %}
    {% do run_query('alter table ' ~ relation.render() ~ ' set tblproperties (' ~ ducklake__literal(key) ~ ' = ' ~ ducklake__literal(value) ~ ')') %}
  {%- endfor %}
{%- endmacro %}
