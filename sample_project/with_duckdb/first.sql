-- Numbers that look random and are the same each time: hash(i, salt) % n.
CREATE SCHEMA lake.raw;

CREATE TABLE lake.raw.customers AS
SELECT
    i AS id,
    'Customer ' || i AS name,
    'Customer' || i || '@Example.com' AS email,
    ['Rotterdam', 'Gdansk', 'Lyon', 'Porto'][1 + (hash(i, 'city') % 4)::INT] AS city,
    (current_date - INTERVAL 90 DAY)::TIMESTAMPTZ AS updated_at
FROM range(1, 2001) AS t(i);

-- An order every 194 seconds; those of the last four days are still on their way.
CREATE TABLE lake.raw.orders AS
SELECT
    i AS id,
    1 + (hash(i, 'customer') % 2000)::BIGINT AS customer_id,
    1 + (hash(i, 'store') % 4)::INT AS store_id,
    CASE WHEN i > 38000 THEN 'placed'
         WHEN hash(i, 'back') % 20 = 0 THEN 'returned'
         ELSE 'shipped' END AS status,
    (current_date - INTERVAL 90 DAY + INTERVAL 194 SECOND * i)::TIMESTAMPTZ AS ordered_at,
    ordered_at AS updated_at
FROM range(1, 40001) AS t(i);

CREATE TABLE lake.raw.order_items AS
WITH prices AS (
    SELECT * FROM (VALUES
        ('TEA-01', 8.50), ('TEA-02', 9.20), ('TEA-03', 6.80), ('COF-01', 12.40), ('COF-02', 11.10),
        ('COF-03', 12.90), ('CUP-01', 14.00), ('CUP-02', 9.50), ('POT-01', 32.00), ('POT-02', 28.00)
    ) AS p(sku, unit_price)
), numbered AS (
    SELECT row_number() OVER (ORDER BY sku) - 1 AS n, * FROM prices
)
SELECT o.id AS order_id, p.sku, 1 + (hash(o.id, line) % 3)::INT AS quantity, p.unit_price
FROM lake.raw.orders AS o
CROSS JOIN range(1, 4) AS l(line)
JOIN numbered AS p ON p.n = (hash(o.id, 'line', line // 2) + line) % 10
WHERE line = 1 OR hash(o.id, 'more', line) % 2 = 0;

CREATE TABLE lake.raw.page_views AS
SELECT
    i AS id,
    'visitor ' || (hash(i, 'who') % 9000) AS visitor,
    ['/', '/tea/sencha', '/tea/rooibos', '/coffee/decaf', '/ware/teapot', '/cart'][1 + (hash(i, 'page') % 6)::INT] AS page,
    (current_date - INTERVAL 5 DAY + INTERVAL 8 SECOND * i)::TIMESTAMPTZ AS viewed_at
FROM range(0, 54000) AS t(i);
