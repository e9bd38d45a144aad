select
    c.city,
    year(o.ordered_at) as year,
    month(o.ordered_at) as month,
    count(*) as orders,
    sum(o.quantity * o.price) as revenue
from {{ ref('big') }} as o
join {{ raw('customers_1') }} as c on c.id = o.customer_id
group by c.city, year(o.ordered_at), month(o.ordered_at)
