"""Questions to the lake, answered by DuckDB alone."""

from __future__ import annotations

from attach import attached

QUESTIONS = {
    "Revenue of the last days, from the table that Spark made": """
        SELECT day, sum(orders)::BIGINT AS orders, sum(revenue) AS revenue
        FROM lake.main.daily_revenue GROUP BY day ORDER BY day DESC LIMIT 5""",
    "Where the best customers live": """
        SELECT city, count(*) AS customers, sum(revenue) AS revenue
        FROM lake.main.dim_customers WHERE segment = 'best' GROUP BY city ORDER BY city""",
    "A customer's past, from dbt's snapshot": """
        SELECT customer_id, city, dbt_valid_from, dbt_valid_to
        FROM lake.main.customers_history WHERE customer_id = 80 ORDER BY dbt_valid_from""",
    "The newest snapshots that models made, and when": """
        SELECT snapshot_id, snapshot_time, commit_message
        FROM lake.snapshots() WHERE commit_message LIKE 'dbt: %'
        ORDER BY snapshot_id DESC LIMIT 8""",
}


def main() -> None:
    with attached(read_only=True) as duck:
        for question, query in QUESTIONS.items():
            print(f"\n{question}")
            duck.sql(query).show()


if __name__ == "__main__":
    main()
