select
    order_id,
    sku,
    quantity,
    cast(quantity * unit_price as decimal(12, 2)) as amount
from {{ source('till', 'order_items') }}
