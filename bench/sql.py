"""What Lake.sql costs on top of Spark for a small query, and what pruning saves.

    python bench/sql.py [--days 200] [--rows 2000] [--times 15]

DuckDB writes a lake of a file per day. bench/README.md says what the lines mean.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "integration_tests")]

from timing import machine, timed  # noqa: E402

from ducklake_spark.session import Session, SparkSettings  # noqa: E402
from support.sql_lakes import SqlLake, sql_lake  # noqa: E402

SMALL = "SELECT kind, count(*) AS n FROM {t} WHERE kind = 'k1' GROUP BY kind"
NARROW = "SELECT sum(amount) AS s FROM {t} WHERE day = '2024-03-01'"


def fill(lake: SqlLake, days: int, rows: int) -> None:
    lake.duck_runs(
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        "CREATE TABLE small AS SELECT 'k' || i % 3 AS kind, i FROM range(1000) r(i)",
        "CREATE TABLE big (day DATE, amount DOUBLE, note VARCHAR)",
        *(
            f"INSERT INTO big SELECT DATE '2024-01-01' + {day}, random(), 'n' || i "
            f"FROM range({rows}) r(i)"
            for day in range(days)
        ),
    )


def report(name: str, action: Callable[[], object], times: int) -> float:
    timing = timed(action, times, warm_up=5)
    print(f"{name:<60} {timing.median:9.1f} ms  (p90 {timing.p90:.1f})")
    return timing.median


def measure(lake: SqlLake, times: int) -> None:
    spark = lake.lake.session.spark
    ((file,),) = lake.rows("SELECT data_file FROM lake.list_files('small')")
    spark.read.parquet(file).createOrReplaceTempView("plain")
    plain, ours = SMALL.format(t="plain"), SMALL.format(t="lake.main.small")
    bare = report("a small query, Spark alone, analysed", lambda: spark.sql(plain), times)
    more = report("the same, Lake.sql", lambda: lake.lake.sql(ours), times)
    print(f"{'overhead of Lake.sql':<60} {more - bare:9.1f} ms")
    report("a small query, Spark alone, collected", lambda: spark.sql(plain).collect(), times)
    report("the same, Lake.sql", lambda: lake.lake.sql(ours).collect(), times)
    one_day = NARROW.format(t="lake.main.big")
    print(lake.rows(f"EXPLAIN {one_day}")[0][0].splitlines()[0])
    report("one day of many, pruned", lambda: lake.lake.sql(one_day).collect(), times)
    with lake.without_pruning():
        report("the same, not pruned", lambda: lake.lake.sql(one_day).collect(), times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=200)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--times", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("\n".join(machine(folder)))
        settings = SparkSettings(config={"spark.sql.shuffle.partitions": "2"})
        with Session.open(settings) as session, sql_lake(session, folder) as lake:
            fill(lake, given.days, given.rows)
            measure(lake, given.times)


if __name__ == "__main__":
    main()
