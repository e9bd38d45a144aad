select * from {{ raw('orders') }}
