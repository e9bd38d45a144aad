{#- A function is kept by the lake: Spark runs it in later runs too, and DuckDB as a macro. -#}
{% macro ducklake__scalar_function_sql(target_relation) -%}
  CREATE OR REPLACE FUNCTION {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() | trim }})
  RETURNS {{ model.returns.data_type }} {{ scalar_function_volatility_sql() | trim }}
  RETURN {{ model.compiled_code }}
{%- endmacro %}


{% macro ducklake__formatted_scalar_function_args_sql() -%}
  {%- set arguments = [] -%}
  {%- for argument in model.arguments -%}
    {%- set default = ' DEFAULT ' ~ argument.default_value if argument.get('default_value') is not none else '' -%}
    {% do arguments.append(adapter.quote(argument.name) ~ ' ' ~ argument.data_type ~ default) %}
  {%- endfor -%}
  {{ arguments | join(', ') }}
{%- endmacro %}


{% macro ducklake__scalar_function_volatility_sql() -%}
  {%- set volatility = model.config.get('volatility') -%}
  {%- if volatility == 'deterministic' -%}
    DETERMINISTIC
  {%- elif volatility == 'non-deterministic' -%}
    NOT DETERMINISTIC
  {%- elif volatility is not none -%}
    {% do unsupported_volatility_warning(volatility) %}
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__aggregate_function_sql(target_relation) -%}
  {% do exceptions.raise_compiler_error(
    "The function " ~ target_relation.render() ~ " cannot be made: functions in SQL give a value for a row, "
    ~ "and none for many rows. Write it as a dbt macro."
  ) %}
{%- endmacro %}
