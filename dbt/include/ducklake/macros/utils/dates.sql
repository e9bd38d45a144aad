{#- Spark counts in every unit since 3.3; dbt-spark's own ways lose fractions of seconds. -#}
{% macro ducklake__dateadd(datepart, interval, from_date_or_timestamp) -%}
  timestampadd({{ datepart }}, {{ interval }}, {{ from_date_or_timestamp }})
{%- endmacro %}


{#- The borders of the unit that lie between, as elsewhere: timestampdiff counts whole units. Weeks begin on Sunday. -#}
{% macro ducklake__datediff(first_date, second_date, datepart) -%}
  {%- set ends = [] -%}
  {%- for moment in (first_date, second_date) -%}
    {%- set moment = 'cast(' ~ moment ~ ' as timestamp)' -%}
    {%- if datepart | lower == 'week' -%}
      {%- set moment = moment ~ ' + interval 1 day' -%}
    {%- endif -%}
    {% do ends.append("date_trunc('" ~ datepart ~ "', " ~ moment ~ ')') %}
  {%- endfor -%}
  timestampdiff({{ datepart }}, {{ ends | join(', ') }})
{%- endmacro %}
