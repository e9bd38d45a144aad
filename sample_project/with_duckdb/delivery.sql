-- What was on its way has arrived, or comes back.
UPDATE lake.raw.orders
SET status = CASE WHEN hash(id, 'back') % 20 = 0 THEN 'returned' ELSE 'shipped' END,
    updated_at = current_date::TIMESTAMPTZ
WHERE status = 'placed';

-- Some customers have moved, and there are new ones.
UPDATE lake.raw.customers
SET city = 'Tallinn', updated_at = current_date::TIMESTAMPTZ
WHERE id % 80 = 0;

INSERT INTO lake.raw.customers
SELECT i, 'Customer ' || i, 'customer' || i || '@example.com', 'Porto', current_date::TIMESTAMPTZ
FROM range(2001, 2041) AS t(i);

INSERT INTO lake.raw.orders
SELECT
    i,
    1 + (hash(i, 'customer') % 2040)::BIGINT,
    1 + (hash(i, 'store') % 4)::INT,
    'placed',
    (current_date + INTERVAL 1 MINUTE * (i - 40000))::TIMESTAMPTZ AS ordered_at,
    ordered_at
FROM range(40001, 40501) AS t(i);

INSERT INTO lake.raw.order_items
SELECT i, 'TEA-02', 1 + (hash(i) % 3)::INT, 9.20 FROM range(40001, 40501) AS t(i);

INSERT INTO lake.raw.page_views
SELECT
    i,
    'visitor ' || (hash(i, 'who') % 9000),
    '/tea/sencha',
    (current_date + INTERVAL 5 SECOND * (i - 54000))::TIMESTAMPTZ
FROM range(54000, 60000) AS t(i);
