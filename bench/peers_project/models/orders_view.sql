{{ config(materialized='view') }}
select id, customer_id, quantity * price as revenue from {{ ref('big') }}
