"""The change feed: what DuckDB tells, and with it every snapshot leads to the next."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ducklake_spark.catalog import Catalog
from ducklake_spark.errors import NotFoundError
from ducklake_spark.scan import table_changes, table_deletions, table_insertions
from ducklake_spark.session import Session
from ducklake_spark.write import Clause, append, delete, merge, update
from support.budget import seeds
from support.histories import History
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle
from support.reader import read_rows_with_ids
from support.spark_rows import spark_rows

FEEDS: dict[str, Callable[..., Any]] = {
    "table_changes": table_changes,
    "table_insertions": table_insertions,
    "table_deletions": table_deletions,
}
LEADING = {"table_changes": "snapshot_id, rowid, change_type"}


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


BUSY = (
    "CREATE TABLE t (id INTEGER, name VARCHAR, tags VARCHAR[])",
    "INSERT INTO t SELECT i, 'n' || i, ['a' || i] FROM range(40) r(i)",
    "INSERT INTO t VALUES (100, 'inlined', []), (101, 'too', NULL), (102, 'goes', NULL)",
    "DELETE FROM t WHERE id IN (3, 102)",  # positions in the catalog
    "DELETE FROM t WHERE id % 2 = 0 AND id < 40",  # a delete file
    "DELETE FROM t WHERE id BETWEEN 15 AND 30 AND id < 40",  # the same one, with snapshots
    "UPDATE t SET name = 'changed' WHERE id < 10 OR id = 101",
    "ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 7",
    "INSERT INTO t SELECT i, 'm' || i, NULL, i FROM range(200, 220) r(i)",
    "INSERT INTO t SELECT i, 'm' || i, NULL, i FROM range(220, 240) r(i)",
    "ALTER TABLE t RENAME COLUMN name TO label",
    "INSERT INTO t VALUES (300, 'in', NULL, 1), (301, 'in', NULL, 2)",
    "UPDATE t SET label = 'again' WHERE id >= 300",
    "MERGE INTO t USING (SELECT i AS id FROM range(298, 302) r(i)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET extra = 0 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    "ALTER TABLE t DROP COLUMN tags",
    "TRUNCATE t",
    "INSERT INTO t SELECT i, 'new', i FROM range(30) r(i)",
)
# Compaction comes last: of a row that goes from such a file, DuckDB says it went when it came.
COMPACTED = (
    "INSERT INTO t SELECT i, 'm' || i, i FROM range(20) r(i)",
    "INSERT INTO t VALUES (300, 'in', 1), (301, 'in', 2)",
    "INSERT INTO t SELECT i, 'm' || i, i FROM range(20, 40) r(i)",
    "CALL ducklake_merge_adjacent_files('lake')",
)


def test_the_feed_is_duckdbs_at_random_ranges(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        duck.run(*BUSY)
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            update(session, tx, "t", {"label": "'ours'"}, "id < 5")
        with catalog.transaction() as tx:
            delete(session, tx, "t", "id = 7")
        with catalog.transaction() as tx:
            source = session.spark.sql("SELECT 8 AS id UNION ALL SELECT 1000")
            clauses = [
                Clause("matched", "update", None, {"extra": "80"}),
                Clause("not matched", "insert", None, {"id": "source.id"}),
            ]
            merge(session, tx, "t", source, "target.id = source.id", clauses)
        with Oracle(lake) as duck:
            duck.run(*COMPACTED)
        with catalog.transaction() as tx:
            append(tx, "t", session.spark.sql("SELECT 2 AS id, 'more' AS label"))
        newest = catalog.snapshot().id
        rng = random.Random(newest)
        ranges = [(1, newest), *(sorted(rng.choices(range(1, newest + 1), k=2)) for _ in range(6))]
        with Oracle(lake) as duck:
            for start, end in ranges:
                for name, feed in FEEDS.items():
                    assert_alike(catalog, session, duck, name, feed, start, end)


def assert_alike(
    catalog: Catalog,
    session: Session,
    duck: Oracle,
    name: str,
    feed: Callable[..., Any],
    start: int,
    end: int,
) -> None:
    columns = catalog.at(end).table("t").columns
    listed = ", ".join([LEADING.get(name, "snapshot_id, rowid"), *(c.name for c in columns)])
    arguments = f"('lake', 'main', 't', {start}, {end})"
    theirs = duck.rows(f"SELECT {listed} FROM ducklake_{name}{arguments}")
    frame = feed(session, catalog, "t", start, end)
    assert ", ".join(frame.columns) == listed
    ours = [tuple(row) for row in frame.collect()]
    assert sorted(ours, key=repr) == sorted(theirs, key=repr), f"{name} {start} to {end}"


@pytest.mark.parametrize("seed", seeds(4))
def test_each_snapshot_leads_to_the_next(lake: LakeAddress, session: Session, seed: int) -> None:
    """In random histories with compaction, about which DuckDB's own feed is wrong."""
    done = play(lake, History(seed))
    story = "\n".join(done)
    with lake.open() as catalog:
        newest = catalog.at()
        for entry in newest.tables("main"):
            table = newest.table(entry.name)
            versions = [c.snapshot.id for c in catalog.commits()]
            first = max(table.begin_snapshot or 0, versions[0])
            for start in range(first + 1, newest.snapshot.id + 1):  # behind the last expired one
                if start not in versions:
                    first = start + 1
            known = {v: state_at(catalog, table.id, v) for v in versions if v >= first}
            if len(known) < 2:
                continue
            frame = table_changes(session, catalog, entry.name, first + 1, newest.snapshot.id)
            found = spark_rows(frame.select("snapshot_id", "rowid", "change_type", "k", "v"), [], 5)
            for version in list(known)[1:]:
                mine = [row[1:] for row in found if row[0] == version]
                context = f"seed {seed}, {entry.name} at {version} after\n{story}"
                assert_leads(known[version - 1], mine, known[version], context)


State = dict[int, tuple[Any, Any]]


def state_at(catalog: Catalog, table_id: int, version: int) -> State:
    reader = catalog.at(version)
    names = [entry.name for entry in reader.tables("main") if entry.id == table_id]
    rows = read_rows_with_ids(reader, reader.table(names[0])) if names else []
    return {row_id: (row["k"], row["v"]) for row_id, row in rows}


def assert_leads(before: State, changes: list[list[Any]], after: State, context: str) -> None:
    state = dict(before)
    for row_id, change, *values in changes:
        if change in ("delete", "update_preimage"):
            assert state.pop(row_id, None) == tuple(values), f"{row_id} {change}, {context}"
    for row_id, change, *values in changes:
        if change in ("insert", "update_postimage"):
            assert (row_id in before) == (change == "update_postimage"), f"{row_id}, {context}"
            assert row_id not in state, f"{row_id} {change}, {context}"
            state[row_id] = (values[0], values[1])
    assert state == after, context


def play(lake: LakeAddress, history: History) -> list[str]:
    done = []
    with Oracle(lake) as duck:
        duck.run(*history.first())
        for _ in range(14):
            statements = history.next()
            try:
                duck.run("BEGIN", *statements, "COMMIT")
            except duckdb.Error:
                history.undo()
                duck.run("ROLLBACK")
            else:
                done += statements
    return done


def test_a_range_that_has_begun_to_vanish_is_an_error_and_an_empty_one_is_not(
    lake: LakeAddress, session: Session
) -> None:
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1)", "DELETE FROM t")
        duck.run("CALL ducklake_expire_snapshots('lake', versions => [1])")
    with lake.open() as catalog:
        with pytest.raises(NotFoundError, match="Snapshot 1"):
            table_changes(session, catalog, "t", 1, 3)
        with pytest.raises(NotFoundError, match="Snapshot 4"):
            table_changes(session, catalog, "t", 2, 4)
        assert table_changes(session, catalog, "t", 4, 3).count() == 0
        assert table_changes(session, catalog, "t", 2, 3).count() == 2
