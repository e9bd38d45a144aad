"""Measures the many small statements of a package's hooks, in Spark and in DuckDB.

    python bench/hooks.py [--tables 8] [--rows 40] [--times 3]

A package that logs each run, as elementary and dbt_artifacts do, does this for each of its tables
at the end of a build: it creates an empty table, inserts rows as VALUES, replaces the rows of the
last run in the table that stays, and drops the first. bench/README.md says what the lines mean.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "integration_tests")]

from timing import Timing, clocked, machine  # noqa: E402

from ducklake_spark.session import Session, SparkSettings  # noqa: E402
from support.lakes import file_lake  # noqa: E402
from support.oracle import Oracle  # noqa: E402
from support.sql_lakes import SqlLake, sql_lake  # noqa: E402

_COLUMNS = [f"c{at}" for at in range(20)]
_TYPES = ", ".join(["unique_id string", "seen timestamp", *(f"{name} string" for name in _COLUMNS)])
_ASKED = "SELECT count(*), max(seen) FROM lake.main.{t}"


def hook(table: str, rows: int, run: int) -> Iterator[tuple[str, str]]:
    """The statements for one table, each with the name of its line."""
    name, fresh = f"lake.main.{table}", f"lake.main.{table}__tmp"
    values = ", ".join(
        f"('model.shop.{row}', TIMESTAMP '2026-01-{run % 28 + 1:02} 12:00:00', "
        + ", ".join(f"'{column} of {row}'" for column in _COLUMNS)
        + ")"
        for row in range(rows)
    )
    yield "CREATE TABLE AS, no rows", f"CREATE TABLE {fresh} AS SELECT * FROM {name} WHERE 1 = 0"
    yield "INSERT … VALUES", f"INSERT INTO {fresh} VALUES {values}"
    yield "SELECT", _ASKED.format(t=table)
    yield (
        "DELETE",
        f"DELETE FROM {name} WHERE unique_id IN (SELECT unique_id FROM {fresh})",
    )
    yield "INSERT … SELECT", f"INSERT INTO {name} SELECT * FROM {fresh}"
    yield "DROP TABLE", f"DROP TABLE {fresh}"


def measure(run: Callable[[str], object], tables: int, rows: int, times: int) -> dict[str, Timing]:
    """The times of each kind of statement, in milliseconds, after a first round."""
    for table in range(tables):
        run(f"CREATE TABLE lake.main.t{table} ({_TYPES})")
    seen: dict[str, list[float]] = defaultdict(list)
    for at in range(times + 1):
        for table in range(tables):
            for kind, text in hook(f"t{table}", rows, at):
                taken = clocked(lambda text=text: run(text))  # type: ignore[misc]
                if at:
                    seen[kind].append(taken)
    return {kind: Timing(tuple(samples)) for kind, samples in seen.items()}


def _in_spark(lake: SqlLake) -> Callable[[str], object]:
    """As dbt runs a statement: rows are fetched as Arrow, and what a change did needs no Spark."""

    def run(text: str) -> None:
        rows = lake.lake.execute(text).rows
        if rows is not None:
            rows.toArrow()

    return run


def report(ours: dict[str, Timing], ducks: dict[str, Timing]) -> None:
    print(f"{'medians in ms':<30} {'here':>9} {'DuckDB':>9}")
    for kind, timing in ours.items():
        print(f"{kind:<30} {timing.median:>9.1f} {ducks[kind].median:>9.1f}")
    here, there = (sum(timing.median for timing in times.values()) for times in (ours, ducks))
    print(f"{'a table':<30} {here:>9.1f} {there:>9.1f}   {here / there:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    sizes = (given.tables, given.rows, given.times)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("\n".join(machine(folder)))
        for part in ("here", "duckdb"):
            (folder / part).mkdir()
        settings = SparkSettings(config={"spark.sql.shuffle.partitions": "2"})
        with Session.open(settings) as session, sql_lake(session, folder / "here") as lake:
            ours = measure(_in_spark(lake), *sizes)
        with Oracle(file_lake("sqlite", folder / "duckdb")) as duck:
            ducks = measure(duck.rows, *sizes)
        report(ours, ducks)


if __name__ == "__main__":
    main()
