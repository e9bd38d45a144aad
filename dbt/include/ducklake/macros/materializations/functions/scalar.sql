{#- A function is kept by the lake: Spark runs it in later runs too, and DuckDB as a macro. -#}
{% macro ducklake__scalar_function_sql(target_relation) -%}
  {%- if model.get('overloads') -%}
    {% do ducklake__reject_overloads(target_relation) %}
  {%- endif %}
  CREATE OR REPLACE FUNCTION {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() | trim }})
  RETURNS {{ model.returns.data_type }} {{ scalar_function_volatility_sql() | trim }}
  RETURN {{ model.compiled_code }}
{%- endmacro %}


{#- dbt 1.12 runs the materialization once per overload, and each would replace the one before. -#}
{% macro ducklake__reject_overloads(target_relation) -%}
  {% do exceptions.raise_compiler_error(
    "Cannot create the function " ~ target_relation.render() ~ ": overloads are not supported. "
    ~ "Spark resolves a function by its name alone. Define each of "
    ~ (model.overloads | map(attribute='defined_in') | join(', ')) ~ " as a function of its own."
  ) %}
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
