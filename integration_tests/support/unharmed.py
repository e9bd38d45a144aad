"""Upkeep changes nothing that anybody can see: rows of every snapshot, and the change feed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from ducklake_spark.maintain import verify
from ducklake_spark.spec.changes import ChangeKind
from support.lakes import LakeAddress
from support.reader import read_rows_with_ids
from support.shared_duck import SharedDuck

Rows = list[str]


@dataclass(frozen=True)
class Sight:
    """A table at every snapshot that has it: rows with their ids; and what each of them changed."""

    rows: dict[int, Rows]
    changes: dict[int, Rows]


def seen_by_duckdb(
    lake: LakeAddress, table: str = "t", *, feed: bool = True, row_ids: bool = True
) -> Sight:
    """What DuckDB shows of a table.

    The change feed leaves out what DuckDB shows otherwise than it was: rewrites, as updates of all
    rows, and deletes from a merged file, at the snapshot of the insert.
    """
    with lake.open(read_only=True) as catalog:
        commits = catalog.commits()
    moving = {
        commit.snapshot.id
        for commit in commits
        if any(change.kind is ChangeKind.REWRITE_DELETE for change in commit.changes)
    }
    rows, changes = {}, {}
    what = "rowid, *" if row_ids else "*"
    with SharedDuck(lake) as duck:
        for commit in commits:
            at = commit.snapshot.id
            try:
                found = duck.rows(f"SELECT {what} FROM {table} AT (VERSION => {at})")
            except duckdb.CatalogException:
                continue  # it is not there yet, or no more
            rows[at] = _texts(found)
            if feed and at not in moving:
                query = f"FROM ducklake_table_changes('lake', 'main', '{table}', {at}, {at})"
                changed = duck.rows(query)
                if all(row[0] == at for row in changed):
                    changes[at] = _texts(changed)
    return Sight(rows, changes)


def seen_by_us(lake: LakeAddress, table: str = "t", *, row_ids: bool = True) -> dict[int, Rows]:
    """What our client's small and slow reader shows of a table."""
    rows = {}
    with lake.open(read_only=True) as catalog:
        for commit in catalog.commits():
            reader = catalog.at(commit.snapshot)
            found = reader.find_table(table)
            if found is not None:
                known = read_rows_with_ids(reader, found)
                rows[commit.snapshot.id] = _texts(known if row_ids else [row for _, row in known])
    return rows


def _texts(rows: Iterable[object]) -> Rows:
    return sorted(map(repr, rows))


@contextmanager
def unharmed(
    lake: LakeAddress, table: str = "t", *, by_duckdb: bool = False, feed: bool = True
) -> Iterator[None]:
    """Every snapshot that is there before and after the block shows what it showed.

    Without `feed`, what each changed does not count: with the snapshots before it go the rows that
    it deleted. DuckDB's own upkeep changes what its feed shows, and loses the ids of updated rows:
    its merge takes files for adjacent that hold ids of their own. Ours leaves no fault that was not
    there.
    """
    precise = not by_duckdb
    feed = feed and precise
    faults = _faults(lake)
    before = seen_by_duckdb(lake, table, feed=feed, row_ids=precise)
    ours = seen_by_us(lake, table, row_ids=precise)
    yield
    after = seen_by_duckdb(lake, table, feed=feed, row_ids=precise)
    _assert_kept(before.rows, after.rows)
    _assert_kept(ours, seen_by_us(lake, table, row_ids=precise))
    _assert_kept(before.changes, after.changes)
    new = _faults(lake) - faults
    assert by_duckdb or not new, f"faults: {new}"


def _faults(lake: LakeAddress) -> set[str]:
    with lake.open(read_only=True) as catalog:
        return {fault.fault for fault in verify(catalog)}


def _assert_kept(before: dict[int, Rows], after: dict[int, Rows]) -> None:
    shared = before.keys() & after.keys()
    harmed = {at: (before[at], after[at]) for at in sorted(shared) if before[at] != after[at]}
    assert not harmed, f"before and after at {list(harmed)}"
