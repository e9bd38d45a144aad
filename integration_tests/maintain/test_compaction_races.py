"""Compactions beside writers: who comes late loses or starts again, and nobody's work is lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from ducklake_spark.catalog import Field, Rewrite
from ducklake_spark.errors import CommitConflictError, RefusedError
from ducklake_spark.maintain import compacting, merge_adjacent_files
from ducklake_spark.session import Session
from support.budget import sampled
from support.compactions import COMPACTIONS, known_files, make_compactable, parquet_files
from support.faults import interrupted
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import append
from support.unharmed import seen_by_duckdb

STATEMENTS = {
    "insert": "INSERT INTO t SELECT i, 'n' FROM range(100, 120) r(i)",
    "inlined insert": "INSERT INTO t VALUES (99, 'n')",
    "delete": "DELETE FROM t WHERE k < 25 AND k % 2 = 0",
    "inlined delete": "DELETE FROM t WHERE k IN (1, 21, 51)",
    "update": "UPDATE t SET s = 'u' WHERE k IN (2, 22, 50)",
    "alter": "ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 3",
    "merge": "CALL ducklake_merge_adjacent_files('lake')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "flush": "CALL ducklake_flush_inlined_data('lake')",
    "rename": "ALTER TABLE t RENAME TO t2",
}


@pytest.fixture
def before_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Has something done once, when files are written and the commit is not."""

    def install(act: Callable[[], None]) -> None:
        waiting = [act]
        original = compacting.commit

        def commit(*args: Any) -> Any:
            if waiting:
                waiting.pop()()
            return original(*args)

        for module in ("merge", "rewrite", "flush"):
            monkeypatch.setattr(f"ducklake_spark.maintain.{module}.commit", commit)

    return install


@pytest.mark.parametrize(
    ("operation", "statement"), sampled(list(product(COMPACTIONS, STATEMENTS)), 12)
)
def test_a_writer_that_comes_in_between_keeps_its_work(
    make_lake: Callable[[str], LakeAddress],
    session: Session,
    before_commit: Callable[[Callable[[], None]], None],
    operation: str,
    statement: str,
) -> None:
    lake = make_lake("sqlite")
    make_compactable(lake)
    after: list[dict[int, list[str]]] = []

    def write() -> None:
        with Oracle(lake) as duck:
            duck.run(STATEMENTS[statement])
        after.append(seen_by_duckdb(lake, name, feed=False).rows)

    name = "t2" if statement == "rename" else "t"
    before_commit(write)
    with lake.open() as catalog:
        COMPACTIONS[operation](catalog, session)
    rows = seen_by_duckdb(lake, name, feed=False).rows
    assert {at: rows[at] for at in after[0]} == after[0]
    assert parquet_files(lake) == known_files(lake)


def test_a_table_that_is_dropped_meanwhile(
    make_lake: Callable[[str], LakeAddress],
    session: Session,
    before_commit: Callable[[Callable[[], None]], None],
) -> None:
    lake = make_lake("sqlite")
    make_compactable(lake)

    def drop() -> None:
        with Oracle(lake) as duck:
            duck.run("DROP TABLE t")

    before_commit(drop)
    with lake.open() as catalog:
        assert merge_adjacent_files(catalog, session) == []
    assert parquet_files(lake) == known_files(lake)


@pytest.mark.parametrize("first", ["compact", "append"])
def test_nothing_else_goes_into_the_commit_of_a_compaction(local: LakeAddress, first: str) -> None:
    with local.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
            append(tx, "t", [{"id": 1}])
        tx = catalog.transaction()
        rewrite = Rewrite(tuple(tx.files(tx.table("t"))), None)
        if first == "compact":
            tx.compact("t", [rewrite])
            append(tx, "t", [{"id": 2}])
            with pytest.raises(RefusedError, match="a commit of its own"):
                tx.commit()
        else:
            append(tx, "t", [{"id": 2}])
            with pytest.raises(RefusedError, match="a commit of its own"):
                tx.compact("t", [rewrite])
        assert catalog.snapshot().id == 1


@pytest.mark.parametrize("operation", COMPACTIONS)
def test_one_that_is_interrupted_once_its_commit_landed_keeps_its_files(
    make_lake: Callable[[str], LakeAddress], session: Session, operation: str
) -> None:
    lake = make_lake("sqlite")
    make_compactable(lake)
    before = seen_by_duckdb(lake, "t", feed=False).rows
    with lake.open() as catalog:
        newest = catalog.snapshot().id
        with interrupted(catalog):
            COMPACTIONS[operation](catalog, session)
        assert catalog.snapshot().id == newest + 1
    rows = seen_by_duckdb(lake, "t", feed=False).rows
    assert {at: rows[at] for at in before} == before
    assert parquet_files(lake) == known_files(lake)


def test_who_always_comes_late_gets_an_error_that_names_the_other(
    make_lake: Callable[[str], LakeAddress], session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake("sqlite")
    make_compactable(lake)
    more = range(200, 320, 20)
    with Oracle(lake) as duck:
        for first in more:
            duck.run(f"INSERT INTO t SELECT i, 'h' FROM range({first}, {first + 20}) r(i)")
    original, from_another_file = compacting.commit, iter(more)

    def commit(*args: Any) -> Any:
        with Oracle(lake) as duck:
            duck.run(f"DELETE FROM t WHERE k = {next(from_another_file)}")
        return original(*args)

    monkeypatch.setattr("ducklake_spark.maintain.merge.commit", commit)
    with lake.open() as catalog, pytest.raises(CommitConflictError, match=r"merge files of table"):
        merge_adjacent_files(catalog, session, table_name="t")
    assert parquet_files(lake) == known_files(lake)
