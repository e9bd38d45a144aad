select
    id as customer_id,
    name as customer_name,
    lower(email) as email,
    city,
    updated_at
from {{ source('till', 'customers') }}
