"""Upkeep changes nothing that anybody can see: rows of every snapshot, and the change feed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from ducklake_spark.spec.changes import ChangeKind
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.reader import read_rows_with_ids

Rows = list[str]


@dataclass(frozen=True)
class Sight:
    """A table at every snapshot that has it: rows with their ids; and what each of them changed."""

    rows: dict[int, Rows]
    changes: dict[int, Rows]


def seen_by_duckdb(lake: LakeAddress, table: str = "t", *, feed: bool = True) -> Sight:
    """What DuckDB shows of a table.

    The change feed leaves out what moves rows: DuckDB shows a rewrite as updates of all rows.
    """
    with lake.open(read_only=True) as catalog:
        commits = catalog.commits()
    moving = {
        commit.snapshot.id
        for commit in commits
        if any(change.kind is ChangeKind.REWRITE_DELETE for change in commit.changes)
    }
    rows, changes = {}, {}
    with Oracle(lake) as duck:
        for commit in commits:
            at = commit.snapshot.id
            try:
                found = duck.rows(f"SELECT rowid, * FROM {table} AT (VERSION => {at})")
            except duckdb.CatalogException:
                continue  # it is not there yet, or no more
            rows[at] = _texts(found)
            if feed and at not in moving:
                query = f"FROM ducklake_table_changes('lake', 'main', '{table}', {at}, {at})"
                changes[at] = _texts(duck.rows(query))
    return Sight(rows, changes)


def seen_by_us(lake: LakeAddress, table: str = "t") -> dict[int, Rows]:
    """What our client's small and slow reader shows of a table."""
    rows = {}
    with lake.open(read_only=True) as catalog:
        for commit in catalog.commits():
            reader = catalog.at(commit.snapshot)
            found = reader.find_table(table)
            if found is not None:
                rows[commit.snapshot.id] = _texts(read_rows_with_ids(reader, found))
    return rows


def _texts(rows: list[tuple[object, ...]]) -> Rows:
    return sorted(map(repr, rows))


@contextmanager
def unharmed(lake: LakeAddress, table: str = "t", *, feed: bool = True) -> Iterator[None]:
    """Every snapshot that is there before and after the block shows what it showed."""
    before, ours = seen_by_duckdb(lake, table, feed=feed), seen_by_us(lake, table)
    yield
    after, our_after = seen_by_duckdb(lake, table, feed=feed), seen_by_us(lake, table)
    _assert_kept(before.rows, after.rows)
    _assert_kept(ours, our_after)
    _assert_kept(before.changes, after.changes)


def _assert_kept(before: dict[int, Rows], after: dict[int, Rows]) -> None:
    shared = before.keys() & after.keys()
    harmed = {at: (before[at], after[at]) for at in sorted(shared) if before[at] != after[at]}
    assert not harmed, f"before and after at {list(harmed)}"
