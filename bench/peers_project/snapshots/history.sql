{% snapshot history %}
{{ config(unique_key='id', strategy='timestamp', updated_at='updated_at') }}
select * from {{ raw('customers_' ~ var('round')) }}
{% endsnapshot %}
