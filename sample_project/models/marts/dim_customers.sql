select
    c.customer_id,
    c.customer_name,
    c.city,
    coalesce(g.segment, 'new') as segment,
    coalesce(g.orders, 0) as orders,
    cast(coalesce(g.revenue, 0) as decimal(12, 2)) as revenue,
    g.last_order_at
from {{ ref('stg_customers') }} as c
left join {{ ref('customer_segments') }} as g on g.customer_id = c.customer_id
