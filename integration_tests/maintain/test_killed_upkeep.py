"""Upkeep that is killed at any of its steps has done nothing, or can simply be run again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any, cast

import pytest
from sqlalchemy import event

from ducklake_spark.catalog import Catalog
from ducklake_spark.maintain import cleanup, cleanup_old_files, expire_snapshots, rollback
from ducklake_spark.session import Session
from support.lakes import LakeAddress
from support.shared_duck import SharedDuck

Step = Callable[[str], None]
Operation = Callable[[Catalog], Any]

_NO_SPARK = cast(Session, None)  # where no row has to be written
_STORY = (
    "CREATE TABLE t (a INTEGER, b VARCHAR)",
    "INSERT INTO t SELECT range, 'x' FROM range(30)",
    "INSERT INTO t VALUES (100, 'inlined')",
    "DELETE FROM t WHERE a BETWEEN 3 AND 20",
    "CREATE TABLE gone AS SELECT range AS a FROM range(40)",
    "ALTER TABLE t ADD COLUMN c INTEGER",
    "DROP TABLE gone",
    "INSERT INTO t SELECT range, 'y', 1 FROM range(200, 230)",
    "COMMENT ON TABLE t IS 'late'",
)
_OPERATIONS: dict[str, Operation] = {
    "expire": lambda catalog: expire_snapshots(catalog, older_than="0s"),
    "rollback": lambda catalog: rollback(catalog, _NO_SPARK, snapshot_version=6, table_name="t"),
}


def _died(lake: LakeAddress, operation: Operation, step: int) -> bool:
    """Run an operation in a process that is killed at a step; whether it has so many."""
    child = os.fork()
    if child == 0:
        count = 0

        def die(_: str) -> None:
            nonlocal count
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

        try:
            with lake.open() as catalog:
                _watch(catalog, die)
                operation(catalog)
            os._exit(7)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 7
    return os.WIFSIGNALED(status)


def _watch(catalog: Catalog, at_step: Step) -> None:
    """Tell each statement that changes something, and each COMMIT, before it happens."""
    engine = catalog._store.engine

    def statement(*arguments: Any) -> None:
        if not arguments[2].lstrip().upper().startswith("SELECT"):
            at_step(arguments[2])

    event.listen(engine, "before_cursor_execute", statement)
    event.listen(engine, "commit", lambda _: at_step("COMMIT"))


def _told(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(*_STORY)


@pytest.mark.parametrize("name", _OPERATIONS)
def test_killed_before_its_commit_it_has_done_nothing(shared_lake: LakeAddress, name: str) -> None:
    _told(shared_lake)
    before, steps = shared_lake.dump(), 0
    while _died(shared_lake, _OPERATIONS[name], steps):
        assert shared_lake.dump() == before, f"killed at step {steps}"
        steps += 1
    assert steps >= 5
    assert shared_lake.dump() != before
    with SharedDuck(shared_lake) as duck:
        assert duck.rows("SELECT count(*), sum(a) FROM t WHERE a < 200") == [(13, 328)]
        duck.run("INSERT INTO t (a, b) VALUES (7, 'later')")


def test_a_clean_up_that_is_killed_goes_on_the_next_time(
    shared_lake: LakeAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    _told(shared_lake)
    with shared_lake.open() as catalog:
        expire_snapshots(catalog, older_than="0s")
        with SharedDuck(shared_lake) as duck:
            before = duck.rows("FROM t ORDER BY ALL")
        scheduled = len(catalog.scheduled_files())
    steps = 0
    while _died(shared_lake, lambda c: cleanup_old_files(c, cleanup_all=True), steps):
        with SharedDuck(shared_lake) as duck:
            assert duck.rows("FROM t ORDER BY ALL") == before
        steps += 1
    assert scheduled
    assert steps >= 2
    with shared_lake.open() as catalog:
        assert catalog.scheduled_files() == []


def test_a_clean_up_that_is_killed_between_two_files(
    shared_lake: LakeAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    _told(shared_lake)
    with shared_lake.open() as catalog:
        expire_snapshots(catalog, older_than="0s")
        planned = cleanup_old_files(catalog, cleanup_all=True, dry_run=True)

    def killed_after_one(path: str) -> None:
        os.unlink(path)  # noqa: PTH108 - what it would have done
        os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(cleanup, "remove_file", killed_after_one)
        assert _died(shared_lake, lambda c: cleanup_old_files(c, cleanup_all=True), -1)
    with shared_lake.open() as catalog:
        assert len(catalog.scheduled_files()) == len(planned)
        assert cleanup_old_files(catalog, cleanup_all=True) == planned
        assert catalog.scheduled_files() == []
    with SharedDuck(shared_lake) as duck:
        duck.rows("FROM t")
