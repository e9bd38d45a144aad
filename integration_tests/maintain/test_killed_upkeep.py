"""Upkeep that is killed at any of its steps has done nothing, or can simply be run again."""

from __future__ import annotations

import os
import signal
from typing import cast

import pytest

from ducklake_spark.catalog import Catalog
from ducklake_spark.maintain import (
    cleanup,
    cleanup_old_files,
    delete_orphaned_files,
    expire_snapshots,
    rollback,
    set_option,
)
from ducklake_spark.session import Session
from ducklake_spark.spec.file_names import marked_uuid
from support.kills import Operation, dies_at, steps_survived
from support.lakes import LakeAddress
from support.shared_duck import SharedDuck

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


def _sets_options(catalog: Catalog) -> None:
    with catalog.transaction() as tx:
        set_option(tx, option="expire_older_than", value="7 days")
        set_option(tx, option="auto_compact", value=False, schema="main", table_name="t")


_OPERATIONS: dict[str, Operation] = {
    "expire": lambda catalog: expire_snapshots(catalog, older_than="0s"),
    "rollback": lambda catalog: rollback(catalog, _NO_SPARK, snapshot_version=6, table_name="t"),
    "set_option": _sets_options,
}
_NEVER = -1  # at no step of the catalog's


def _told(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(*_STORY)


@pytest.mark.parametrize("name", _OPERATIONS)
def test_killed_before_its_commit_it_has_done_nothing(shared_lake: LakeAddress, name: str) -> None:
    _told(shared_lake)
    before = shared_lake.dump()
    assert steps_survived(shared_lake, _OPERATIONS[name]) >= 3
    assert shared_lake.dump() != before
    with SharedDuck(shared_lake) as duck:
        assert duck.rows("SELECT count(*), sum(a) FROM t WHERE a < 200") == [(13, 328)]
        duck.run("INSERT INTO t (a, b) VALUES (7, 'later')")


def test_a_clean_up_that_is_killed_goes_on_the_next_time(shared_lake: LakeAddress) -> None:
    _told(shared_lake)
    with shared_lake.open() as catalog:
        expire_snapshots(catalog, older_than="0s")
        with SharedDuck(shared_lake) as duck:
            before = duck.rows("FROM t ORDER BY ALL")
        scheduled = len(catalog.scheduled_files())
    steps = 0
    while dies_at(shared_lake, lambda c: cleanup_old_files(c, cleanup_all=True), steps):
        with SharedDuck(shared_lake) as duck:
            assert duck.rows("FROM t ORDER BY ALL") == before
        steps += 1
    assert scheduled
    assert steps >= 2
    with shared_lake.open() as catalog:
        assert catalog.scheduled_files() == []


@pytest.fixture
def killed_after_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def remove(path: str) -> None:
        os.unlink(path)  # noqa: PTH108 - what it would have done
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(cleanup, "remove_file", remove)


def test_a_clean_up_that_is_killed_between_two_files(
    shared_lake: LakeAddress, killed_after_one_file: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _told(shared_lake)
    with shared_lake.open() as catalog:
        expire_snapshots(catalog, older_than="0s")
        planned = cleanup_old_files(catalog, cleanup_all=True, dry_run=True)
    assert dies_at(shared_lake, lambda c: cleanup_old_files(c, cleanup_all=True), _NEVER)
    monkeypatch.undo()
    with shared_lake.open() as catalog:
        assert len(catalog.scheduled_files()) == len(planned)
        assert cleanup_old_files(catalog, cleanup_all=True) == planned
        assert catalog.scheduled_files() == []
    with SharedDuck(shared_lake) as duck:
        duck.rows("FROM t")


def test_a_removal_of_orphans_that_is_killed_between_two_files(
    shared_lake: LakeAddress, killed_after_one_file: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _told(shared_lake)
    before = shared_lake.dump()
    with shared_lake.open() as catalog:
        mark = catalog.at().table("t").mark
    folder = shared_lake.data_folder / "main/t"
    lost = [folder / f"ducklake-{marked_uuid(mark)}.parquet" for _ in range(20)]
    for path in lost:
        path.write_bytes(b"PAR1")
    assert dies_at(shared_lake, lambda c: delete_orphaned_files(c, cleanup_all=True), _NEVER)
    monkeypatch.undo()
    left = sorted(str(path) for path in lost if path.exists())
    assert 0 < len(left) < len(lost)
    with shared_lake.open() as catalog:
        removed = delete_orphaned_files(catalog, cleanup_all=True)
    assert sorted(file.path for file in removed) == left
    assert shared_lake.dump() == before
    with SharedDuck(shared_lake) as duck:
        duck.rows("FROM t")
