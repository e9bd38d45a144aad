{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
select * from {{ raw('orders' if var('round') == 1 else 'changes') }}
