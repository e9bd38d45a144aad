"""Measures maintenance: many small files merged. `expire.py` forgets many snapshots.

    python bench/maintenance.py [--files 2000] [--rows 1000]

The merge stands beside what plain Spark needs to read the same files and write their rows, to as
many files as the merge makes and to as many as Spark likes. Exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "integration_tests")]

from lakes import working_folder  # noqa: E402 - the path comes first
from timing import clocked, machine  # noqa: E402

from ducklake_spark.maintain import merge_adjacent_files  # noqa: E402
from ducklake_spark.session import Session, SparkSettings  # noqa: E402
from support.lakes import LakeAddress, file_lake  # noqa: E402
from support.oracle import Oracle  # noqa: E402

_MERGE_BAR = 1.5
_COLUMNS = (
    "i AS id, i % 97 AS customer, 'product ' || (i % 1013) AS product, "
    "(i % 10007)::DECIMAL(12, 2) / 7 AS amount, TIMESTAMP '2026-01-01' + to_seconds(i) AS at"
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--rows", type=int, default=1_000, help="rows of a file")
    parser.add_argument("--master", default="local[*]")
    options = parser.parse_args()
    with working_folder() as folder:
        for fact in machine(folder):
            print(fact)
        with Session.open(SparkSettings(master=options.master)) as session:
            missed = _merge(session, folder, options.files, options.rows)
        print("\n".join(machine(folder)[-2:]))
    return int(missed)


def _merge(session: Session, folder: Path, files: int, rows: int) -> bool:
    """Merge one lake's small files, and have Spark copy those of a twin."""
    for name in ("ours", "warm"):
        (folder / name).mkdir()
    lake, warm = file_lake("sqlite", folder / "ours"), file_lake("sqlite", folder / "warm")
    _fill(lake, files, rows)
    _fill(warm, 50, rows)
    with warm.open() as catalog:
        merge_adjacent_files(catalog, session)
    paths = sorted(str(path) for path in (folder / "ours").rglob("*.parquet"))

    def copy(to: str, into: int | None) -> float:
        frame = session.spark.read.parquet(*paths)
        frame = frame if into is None else frame.repartition(into)
        return clocked(lambda: frame.write.parquet(str(folder / to)))

    copy("once", None)
    reading = clocked(lambda: session.spark.read.parquet(*paths))
    to_one, to_many = copy("one", 1), copy("many", None)
    with lake.open() as catalog:
        ours = clocked(lambda: merge_adjacent_files(catalog, session))
        assert len(catalog.at().files(catalog.at().table("t"))) == 1
    best = reading + min(to_one, to_many)
    print(f"merge of {files:,} files of {rows:,} rows: {ours / 1000:.2f} s")
    print(f"Spark lists them and copies their rows to one file: {(reading + to_one) / 1000:.2f} s")
    print(f"... and to as many as it likes: {(reading + to_many) / 1000:.2f} s")
    print(f"ratio to the faster copy: {ours / best:.2f}, bar {_MERGE_BAR}")
    return ours / best > _MERGE_BAR


def _fill(lake: LakeAddress, files: int, rows: int) -> None:
    """A table of small files, each of a snapshot of its own."""
    with Oracle(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            f"CREATE TABLE t AS SELECT {_COLUMNS} FROM range(0) r(i)",
        )
        for at in range(0, files * rows, rows):
            duck.run(f"INSERT INTO t SELECT {_COLUMNS} FROM range({at}, {at + rows}) r(i)")


if __name__ == "__main__":
    raise SystemExit(main())
