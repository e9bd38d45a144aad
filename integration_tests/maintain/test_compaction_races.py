"""Compactions beside writers: who comes late loses or starts again, and nobody's work is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from ducklake_spark.catalog import Catalog, Compaction, SnapshotReader
from ducklake_spark.errors import CommitConflictError
from ducklake_spark.maintain import (
    compacting,
    flush_inlined_data,
    merge_adjacent_files,
    rewrite_data_files,
)
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Table
from support.budget import sampled
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.unharmed import seen_by_duckdb, unharmed

Operation = Callable[[Catalog, Session], Sequence[Any]]
OPERATIONS: dict[str, Operation] = {
    "merge": merge_adjacent_files,
    "rewrite": lambda catalog, session: rewrite_data_files(catalog, session, delete_threshold=0),
    "flush": flush_inlined_data,
}
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


def prepared(lake: LakeAddress) -> None:
    """A table with something to do for each operation."""
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (k INTEGER, s VARCHAR)")
        for first in (0, 20):
            duck.run(f"INSERT INTO t SELECT i, 'f' FROM range({first}, {first + 20}) r(i)")
        for first in (60, 80):
            duck.run(f"INSERT INTO t SELECT i, 'g' FROM range({first}, {first + 15}) r(i)")
        duck.run(
            "INSERT INTO t VALUES (50, 'i'), (51, 'i')", "DELETE FROM t WHERE k BETWEEN 3 AND 15"
        )
        duck.run("DELETE FROM t WHERE k = 30")


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


def parquet_files(lake: LakeAddress) -> set[Path]:
    return set(Path(lake.data_path).rglob("*.parquet"))


def files_of_lake(lake: LakeAddress) -> set[str]:
    """The files that the catalog knows, by name."""
    dump = lake.dump()
    tables = ("data_file", "delete_file", "files_scheduled_for_deletion")
    return {Path(row["path"]).name for name in tables for row in dump[f"ducklake_{name}"]}


@pytest.mark.parametrize(
    ("operation", "statement"), sampled(list(product(OPERATIONS, STATEMENTS)), 12)
)
def test_a_writer_that_comes_in_between_keeps_its_work(
    make_lake: Callable[[str], LakeAddress],
    session: Session,
    before_commit: Callable[[Callable[[], None]], None],
    operation: str,
    statement: str,
) -> None:
    lake = make_lake("sqlite")
    prepared(lake)
    after: list[dict[int, list[str]]] = []

    def write() -> None:
        with Oracle(lake) as duck:
            duck.run(STATEMENTS[statement])
        after.append(seen_by_duckdb(lake, name, feed=False).rows)

    name = "t2" if statement == "rename" else "t"
    before_commit(write)
    with lake.open() as catalog:
        OPERATIONS[operation](catalog, session)
    rows = seen_by_duckdb(lake, name, feed=False).rows
    assert {at: rows[at] for at in after[0]} == after[0]
    assert {path.name for path in parquet_files(lake)} == files_of_lake(lake)


def test_a_table_that_is_dropped_meanwhile(
    make_lake: Callable[[str], LakeAddress],
    session: Session,
    before_commit: Callable[[Callable[[], None]], None],
) -> None:
    lake = make_lake("sqlite")
    prepared(lake)

    def drop() -> None:
        with Oracle(lake) as duck:
            duck.run("DROP TABLE t")

    before_commit(drop)
    with lake.open() as catalog:
        assert merge_adjacent_files(catalog, session) == []
    assert {path.name for path in parquet_files(lake)} == files_of_lake(lake)


def test_who_always_comes_late_gets_an_error_that_names_the_other(
    make_lake: Callable[[str], LakeAddress], session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake("sqlite")
    prepared(lake)
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
    assert {path.name for path in parquet_files(lake)} == files_of_lake(lake)


# --- killed ---


@pytest.mark.parametrize("operation", OPERATIONS)
def test_one_that_is_killed_during_its_commit_has_done_nothing(
    shared_lake: LakeAddress,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
) -> None:
    """At every statement of the commit; what it wrote is left as files that nobody knows."""
    prepared(shared_lake)
    planned: list[tuple[Table, Sequence[Compaction]]] = []

    def commit(
        _: Catalog, reader: SnapshotReader, table: Table, compactions: Any, message: str
    ) -> None:
        planned.append((table, compactions))

    monkeypatch.setattr(f"ducklake_spark.maintain.{operation}.commit", commit)
    with shared_lake.open() as catalog:
        OPERATIONS[operation](catalog, session)
    (plan,) = planned
    before, steps = shared_lake.dump(), 0
    while _dies_at(shared_lake, plan, steps):
        assert shared_lake.dump() == before, f"killed at step {steps}"
        steps += 1
    assert steps > 5
    assert shared_lake.dump() == before
    with unharmed(shared_lake):
        _carry_out(shared_lake, plan)
    assert shared_lake.dump() != before


def _carry_out(
    lake: LakeAddress,
    plan: tuple[Table, Sequence[Compaction]],
    at_step: Callable[[str], None] | None = None,
) -> None:
    table, compactions = plan
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.compact(table.name, compactions)
        if at_step is not None:
            engine = catalog._store.engine
            event.listen(engine, "before_cursor_execute", lambda *args: at_step(args[2]))
            event.listen(engine, "commit", lambda _: at_step("COMMIT"))
        tx.commit()


def _dies_at(lake: LakeAddress, plan: tuple[Table, Sequence[Compaction]], step: int) -> bool:
    """Carry the plan out in a process that dies at a step; whether it has so many."""
    child = os.fork()
    if child == 0:
        count = 0

        def die(what: str) -> None:
            nonlocal count
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            if what == "COMMIT":
                os._exit(7)  # before the last step happens
            count += 1

        try:
            _carry_out(lake, plan, die)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 7
    return False
