"""Let DuckDB write into the lake what the shop's systems deliver after the first `dbt build`.

It needs `pip install "dbt-ducklake[duckdb]"`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from attach import LAKE, attached

TABLES = ("customers", "orders", "order_items", "page_views")


def main() -> None:
    if not (LAKE / "catalog.sqlite").exists():
        sys.exit("This folder has no lake. Run `dbt build` in sample_project first.")
    script = Path(__file__).with_name("delivery.sql").read_text(encoding="utf-8")
    with attached() as duck:
        newest = duck.sql("SELECT max(id) FROM lake.raw.orders").fetchone()
        if newest is not None and newest[0] > 40_000:
            sys.exit("This delivery is in the lake already.")
        # One transaction is one snapshot, here as in dbt.
        duck.execute(f"BEGIN; {script}; COMMIT")
        for table in TABLES:
            counted = duck.sql(f"SELECT count(*) FROM lake.raw.{table}").fetchone()
            print(f"  raw.{table:<12} {counted[0] if counted else 0:>8,} rows")


if __name__ == "__main__":
    main()
