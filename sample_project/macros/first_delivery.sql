{# The shop's history up to today, so that a first `dbt build` has data: what a new till would
   have written. Numbers that look random are the same each time: pmod(xxhash64(id, 'why'), n). #}
{% macro first_delivery() %}
  {% if execute %}
    {% set today = (modules.datetime.datetime.now(modules.pytz.utc).timestamp() // 86400 * 86400) | int %}
    {% do run_query('create schema if not exists raw') %}

    {% do run_query("""
      create table if not exists raw.customers as
      select
          id,
          concat('Customer ', id) as name,
          concat('Customer', id, '@Example.com') as email,
          element_at(array('Rotterdam', 'Gdansk', 'Lyon', 'Porto'),
                     cast(1 + pmod(xxhash64(id, 'city'), 4) as int)) as city,
          timestamp_seconds(""" ~ today ~ """ - 90 * 86400) as updated_at
      from range(1, 2001)
    """) %}

    {# An order every 194 seconds. Those of the last four days have not arrived yet. #}
    {% do run_query("""
      create table if not exists raw.orders as
      select
          id,
          1 + pmod(xxhash64(id, 'customer'), 2000) as customer_id,
          cast(1 + pmod(xxhash64(id, 'store'), 4) as int) as store_id,
          case when id > 38000 then 'placed'
               when pmod(xxhash64(id, 'back'), 20) = 0 then 'returned'
               else 'shipped' end as status,
          timestamp_seconds(""" ~ today ~ """ - 90 * 86400 + 194 * id) as ordered_at,
          ordered_at as updated_at
      from range(1, 40001)
    """) %}

    {% do run_query("""
      create table if not exists raw.order_items as
      with prices as (
          select row_number() over (order by sku) - 1 as n, sku, unit_price
          from values
              ('TEA-01', 8.50), ('TEA-02', 9.20), ('TEA-03', 6.80), ('COF-01', 12.40),
              ('COF-02', 11.10), ('COF-03', 12.90), ('CUP-01', 14.00), ('CUP-02', 9.50),
              ('POT-01', 32.00), ('POT-02', 28.00) as p (sku, unit_price)
      )
      select
          o.id as order_id,
          p.sku,
          cast(1 + pmod(xxhash64(o.id, l.id), 3) as int) as quantity,
          p.unit_price
      from raw.orders as o
      cross join range(1, 4) as l
      join prices as p on p.n = (pmod(xxhash64(o.id, 'line', l.id div 2), 10) + l.id) % 10
      where l.id = 1 or pmod(xxhash64(o.id, 'more', l.id), 2) = 0
    """) %}

    {% do run_query("""
      create table if not exists raw.page_views as
      select
          id,
          concat('visitor ', pmod(xxhash64(id, 'who'), 9000)) as visitor,
          element_at(array('/', '/tea/sencha', '/tea/rooibos', '/coffee/decaf', '/ware/teapot',
                           '/cart'), cast(1 + pmod(xxhash64(id, 'page'), 6) as int)) as page,
          timestamp_seconds(""" ~ today ~ """ - 5 * 86400 + 8 * id) as viewed_at
      from range(0, 54000)
    """) %}
  {% endif %}
{% endmacro %}
