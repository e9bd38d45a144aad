-- The daily sums and the orders they are made of tell the same story.
select days.revenue as by_day, orders.revenue as by_order
from (select sum(revenue) as revenue from {{ ref('daily_revenue') }}) as days
cross join (select sum(revenue) as revenue from {{ ref('fct_orders') }}) as orders
where days.revenue is distinct from orders.revenue
