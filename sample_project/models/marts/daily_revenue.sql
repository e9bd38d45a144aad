{{ config(sorted_by=['day', 'store_name']) }}

select
    cast(o.ordered_at as date) as day,
    s.name as store_name,
    count(*) as orders,
    sum(o.revenue) as revenue,
    sum(o.profit) as profit
from {{ ref('fct_orders') }} as o
join {{ ref('stores') }} as s on s.id = o.store_id
group by all
