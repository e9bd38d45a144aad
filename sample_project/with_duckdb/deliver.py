"""What the shop's systems deliver, written into the lake's schema `raw` by DuckDB.

python with_duckdb/deliver.py first    what happened in the ninety days before today
python with_duckdb/deliver.py today    what happened since
"""

from __future__ import annotations

import sys
from pathlib import Path

from attach import attached


def main() -> None:
    if sys.argv[1:] not in (["first"], ["today"]):
        sys.exit(__doc__)
    script = Path(__file__).with_name(f"{sys.argv[1]}.sql").read_text(encoding="utf-8")
    with attached() as duck:
        # One transaction is one snapshot, here as in dbt.
        duck.execute(f"BEGIN; {script}; COMMIT")
        for table in ("customers", "orders", "order_items", "page_views"):
            counted = duck.sql(f"SELECT count(*) FROM lake.raw.{table}").fetchone()
            print(f"  raw.{table:<12} {counted[0] if counted else 0:>8,} rows")


if __name__ == "__main__":
    main()
