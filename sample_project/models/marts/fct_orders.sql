{{ config(
    materialized='incremental',
    unique_key='order_id',
    partitioned_by=['year(ordered_at)', 'month(ordered_at)'],
    sorted_by=['ordered_at']
) }}
-- An order that has changed takes the place of what was known of it; new ones are added.

with items as (
    select
        i.order_id,
        sum(i.quantity) as pieces,
        sum(i.amount) as amount,
        sum(i.quantity * p.cost) as cost
    from {{ ref('stg_order_items') }} as i
    join {{ ref('products') }} as p on p.sku = i.sku
    group by i.order_id
)

select
    o.order_id,
    o.customer_id,
    o.store_id,
    o.status,
    items.pieces,
    if(o.status = 'returned', 0, items.amount) as revenue,
    if(o.status = 'returned', 0, items.amount - items.cost) as profit,
    o.ordered_at,
    o.updated_at
from {{ ref('stg_orders') }} as o
join items on items.order_id = o.order_id
{% if is_incremental() %}
where o.updated_at > (select max(updated_at) from {{ this }})
{% endif %}
