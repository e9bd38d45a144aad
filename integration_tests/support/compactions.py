"""Compactions, and tables that have something to do for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ducklake_spark.catalog import Catalog
from ducklake_spark.maintain import flush_inlined_data, merge_adjacent_files, rewrite_data_files
from ducklake_spark.session import Session
from support.lakes import LakeAddress
from support.oracle import Oracle

COMPACTIONS: dict[str, Callable[[Catalog, Session], list[Any]]] = {
    "merge": merge_adjacent_files,
    "rewrite": lambda catalog, session: rewrite_data_files(catalog, session, delete_threshold=0),
    "flush": flush_inlined_data,
}


def done_as_foretold(
    operation: Callable[..., list[Any]], lake: LakeAddress, session: Session, **options: object
) -> list[Any]:
    """Carry an operation out: first as a dry run, which must tell what is done then."""
    with lake.open() as catalog:
        before = lake.dump()
        told = operation(catalog, session, dry_run=True, **options)
        assert lake.dump() == before
        done = operation(catalog, session, **options)
    assert done == told
    return done


def make_compactable(lake: LakeAddress, rows: int = 20) -> None:
    """A table t with something to do for each compaction; its files have so many rows."""
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (k INTEGER, s VARCHAR)")
        for first in (0, rows):
            duck.run(f"INSERT INTO t SELECT i, 'f' FROM range({first}, {first + rows}) r(i)")
        for first in (3 * rows, 4 * rows):
            duck.run(f"INSERT INTO t SELECT i, 'g' FROM range({first}, {first + rows - 5}) r(i)")
        inlined = rows * 5 // 2
        duck.run(
            f"INSERT INTO t VALUES ({inlined}, 'i'), ({inlined + 1}, 'i')",
            f"DELETE FROM t WHERE k BETWEEN 3 AND {rows - 5}",
            f"DELETE FROM t WHERE k = {rows + 10}",
        )


def parquet_files(lake: LakeAddress) -> set[str]:
    """The names of the files that are there."""
    return {path.name for path in lake.data_folder.rglob("*.parquet")}


def known_files(lake: LakeAddress) -> set[str]:
    """The names of the files that the catalog knows."""
    dump = lake.dump()
    tables = ("data_file", "delete_file", "files_scheduled_for_deletion")
    return {Path(row["path"]).name for name in tables for row in dump[f"ducklake_{name}"]}
