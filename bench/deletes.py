"""Measures large deletes: time, and the peak memory of Python, with the default heap.

    python bench/deletes.py [--positions 10 24] [--joined]

For each number of millions of positions, a table with one file is made, 60 % of its rows are
deleted, read, deleted from once more, and read again. DuckDB checks the results. Exits with 1 if
Python's memory grows by more than 32 bytes for each position.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "integration_tests")]

from lakes import working_folder  # noqa: E402 - the path comes first
from timing import clocked, machine  # noqa: E402

from ducklake_spark.scan import deletes, read_table  # noqa: E402
from ducklake_spark.session import Session, SparkSettings  # noqa: E402
from ducklake_spark.write import delete  # noqa: E402
from support.lakes import LakeAddress, file_lake  # noqa: E402
from support.memory import peak_memory, resident_memory  # noqa: E402
from support.oracle import Oracle  # noqa: E402

_BYTES_PER_POSITION = 32
_DELETES = ("id % 5 < 3", "id % 50 = 4")
_SUMMARY = ("count(*) AS n", "sum(id) AS total")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--positions", type=int, nargs="+", default=[10, 24], help="millions that are deleted first"
    )
    parser.add_argument(
        "--joined", action="store_true", help="read as tables of more than 250 million rows are"
    )
    options = parser.parse_args()
    if options.joined:
        deletes._MARKED_UP_TO = 0
    missed = False
    with working_folder() as folder, Session.open(SparkSettings(master="local[*]")) as session:
        print("\n".join(machine(folder)))
        _measure(session, folder / "warm", 100_000)
        before = resident_memory()
        print("| positions | step | time | Python's memory grew by | bytes per position |")
        print("|--:|---|--:|--:|--:|")
        for millions in options.positions:
            count = millions * 1_000_000
            for step, seconds, peak in _measure(session, folder / str(millions), count):
                grown = peak - before
                print(
                    f"| {millions} M | {step} | {seconds:.1f} s | {grown / 1e6:.0f} MB | "
                    f"{grown / count:.0f} |",
                    flush=True,
                )
                missed |= grown > _BYTES_PER_POSITION * count
        print("\n".join(machine(folder)[-2:]))
    return int(missed)


def _measure(session: Session, folder: Path, count: int) -> list[tuple[str, float, int]]:
    """The steps on a fresh table, of which the first deletes so many rows."""
    folder.mkdir()
    lake = file_lake("sqlite", folder)
    rows = count * 5 // 3
    with Oracle(lake) as duck:
        duck.run(f"CREATE TABLE t AS SELECT i AS id, i % 7 AS v FROM range({rows}) r(i)")
    found = []
    for condition in _DELETES:
        found.append(_step(f"DELETE {condition}", lambda c=condition: _delete(session, lake, c)))
        read: list[object] = []
        found.append(_step("SELECT", lambda read=read: read.extend(_read(session, lake))))
        with Oracle(lake) as duck:
            assert duck.rows(f"SELECT {', '.join(_SUMMARY)} FROM t") == read
    return found


def _delete(session: Session, lake: LakeAddress, condition: str) -> None:
    with lake.open() as catalog, catalog.transaction() as tx:
        delete(session, tx, "t", condition)


def _read(session: Session, lake: LakeAddress) -> list[object]:
    with lake.open() as catalog:
        frame = read_table(session, catalog.at(), catalog.at().table("t"))
        return [tuple(row) for row in frame.selectExpr(*_SUMMARY).collect()]


def _step(name: str, action: Callable[[], object]) -> tuple[str, float, int]:
    """Its name, its seconds, and the most memory that this process had meanwhile."""
    with peak_memory() as peak:
        seconds = clocked(action) / 1000
    return name, seconds, peak.total


if __name__ == "__main__":
    raise SystemExit(main())
