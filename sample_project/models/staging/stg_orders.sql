select
    id as order_id,
    customer_id,
    store_id,
    status,
    ordered_at,
    updated_at
from {{ source('till', 'orders') }}
