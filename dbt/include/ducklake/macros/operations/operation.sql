{#- What all operations do: in a run-operation, carry out a CALL and print its rows; anywhere else,
    which is in a hook, give dbt the CALL to run. `table_name` may be a relation, such as `this`;
    a name without a schema is one of the target's schema. -#}
{% macro ducklake_operation(procedure, arguments, database=none) -%}
  {%- set call = adapter.operation_sql(procedure, arguments, database) -%}
  {%- if flags.WHICH != 'run-operation' -%}
    {{ return(call) }}
  {%- endif -%}
  {%- if execute -%}
    {%- do print(adapter.operation_text(procedure, call)) -%}
  {%- endif -%}
{%- endmacro %}
