"""The lake, or a table, becomes what it was, and its history stays what it is."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ducklake_spark.errors import ConfigError, DuckLakeError, NotFoundError, RefusedError
from ducklake_spark.maintain import (
    cleanup_old_files,
    expire_snapshots,
    rollback,
    verify,
)
from ducklake_spark.session import Session
from support.budget import FULL
from support.compactions import done_as_foretold
from support.faults import interrupted
from support.histories import History, play
from support.lakes import LakeAddress
from support.shared_duck import SharedDuck
from support.states import LakeState, assert_read_alike, assert_same

MakeLake = Callable[[str], LakeAddress]

_SEEDS = 20 if FULL else 3
_LAKES = [
    *(("sqlite", seed) for seed in range(4000, 4000 + _SEEDS)),
    ("postgres", 4100),
    ("duckdb", 4200),
]


def _shown(state: LakeState) -> dict[str, Any]:
    """What must be as it was; files and the ids of rows may be others."""
    rows = {name: sorted((row for _, row in found), key=repr) for name, found in state.rows.items()}
    return {"schemas": state.schemas, "tables": state.tables, "views": state.views, "rows": rows}


_rolled_back = partial(done_as_foretold, rollback)


@pytest.mark.parametrize(("kind", "seed"), _LAKES)
def test_a_lake_goes_back_and_forth(
    make_lake: MakeLake, session: Session, kind: str, seed: int
) -> None:
    lake = make_lake(kind)
    play(lake, History(seed), 14)
    before = assert_read_alike(lake)
    newest = max(before)
    version = random.Random(seed).randint(2, newest - 1)
    for to in (version, newest):
        _rolled_back(lake, session, snapshot_version=to)
        after = assert_read_alike(lake)
        for snapshot, state in before.items():
            assert_same(f"seed {seed}, snapshot {snapshot}", after[snapshot], state)
        assert_same(f"seed {seed}, back to {to}", _shown(after[max(after)]), _shown(before[to]))
    with lake.open() as catalog:
        assert verify(catalog) == []
        expire_snapshots(catalog, older_than="0s")
        cleanup_old_files(catalog, cleanup_all=True)
    (left,) = assert_read_alike(lake).values()
    assert_same(f"seed {seed}, expired", _shown(left), _shown(before[newest]))
    with SharedDuck(lake) as duck:
        name = min(name for _, name in left.tables)
        duck.run(f"INSERT INTO {name} (k) VALUES (77)", f"DELETE FROM {name} WHERE k < 3")
        duck.run("CALL ducklake_merge_adjacent_files('lake')")
    assert_read_alike(lake)


_STORY = (
    "CALL lake.set_option('data_inlining_row_limit', 0)",
    "CREATE TABLE t (a INTEGER, b VARCHAR)",
    "INSERT INTO t SELECT range, 'x' FROM range(10)",
    "INSERT INTO t SELECT range, 'y' FROM range(10, 20)",  # snapshot 3
    "DELETE FROM t WHERE a = 12",
    "INSERT INTO t VALUES (99, 'z')",
    "CREATE TABLE u AS SELECT 1 AS a",
    "DROP TABLE u",
    "CREATE VIEW v AS SELECT a FROM t",  # snapshot 8
)


def test_what_did_not_change_stays_where_it_is(local: LakeAddress, session: Session) -> None:
    with SharedDuck(local) as duck:
        duck.run(*_STORY)
    rows = _rolled_back(local, session, snapshot_version=3, table_name="t")
    assert [(r.kind, r.name, r.action, r.files_removed, r.files_restored) for r in rows] == [
        ("table", "t", "restore rows", 2, 1)
    ]
    with SharedDuck(local) as duck:
        assert duck.rows("SELECT count(*), max(a), count(DISTINCT rowid) FROM t") == [(20, 19, 20)]
        assert duck.rows("SELECT rowid FROM t WHERE a = 12") == [(12,)]
        assert duck.rows("SELECT count(*) FROM v") == [(20,)]
        assert duck.rows("SELECT count(*) FROM t AT (VERSION => 8)") == [(20,)]
        assert duck.rows("SELECT max(a) FROM t AT (VERSION => 8)") == [(99,)]
        (commit,) = duck.rows("SELECT commit_message FROM lake.snapshots() WHERE snapshot_id = 9")
        assert commit == ("roll back to snapshot 3",)


def test_one_that_is_interrupted_once_its_commit_landed_keeps_its_files(
    local: LakeAddress, session: Session
) -> None:
    with SharedDuck(local) as duck:
        duck.run(*_STORY)
    with local.open() as catalog, interrupted(catalog):
        rollback(catalog, session, snapshot_version=3, table_name="t")
    with SharedDuck(local) as duck:
        assert duck.rows("SELECT count(*), max(a), count(DISTINCT rowid) FROM t") == [(20, 19, 20)]


def test_a_schema_alone_is_refused(local: LakeAddress, session: Session) -> None:
    with local.open() as catalog, pytest.raises(ConfigError, match="not of the schema 'main'"):
        rollback(catalog, session, snapshot_version=0, schema="main")


def test_a_dropped_table_comes_back_alone(local: LakeAddress, session: Session) -> None:
    with SharedDuck(local) as duck:
        duck.run(*_STORY)
    (row,) = _rolled_back(local, session, snapshot_version=6, table_name="u")
    assert (row.name, row.action, row.files_restored) == ("u", "create again", 1)
    with SharedDuck(local) as duck:
        assert duck.rows("FROM u") == [(1,)]
        assert duck.rows("SELECT count(*) FROM t") == [(20,)]


def test_definitions_go_back(local: LakeAddress, session: Session) -> None:
    with SharedDuck(local) as duck:
        duck.run(
            "CREATE TABLE t (a INTEGER, b VARCHAR, c INTEGER NOT NULL DEFAULT 5)",
            "ALTER TABLE t SET PARTITIONED BY (a)",
            "COMMENT ON TABLE t IS 'first'",
            "COMMENT ON COLUMN t.b IS 'bee'",
            "INSERT INTO t SELECT range % 2, 'x', range FROM range(40)",  # snapshot 5
            "ALTER TABLE t RENAME COLUMN b TO bb",
            "ALTER TABLE t ALTER c TYPE BIGINT",
            "INSERT INTO t VALUES (7, 'big', 5000000000)",
            "ALTER TABLE t DROP COLUMN bb",
            "ALTER TABLE t ALTER c DROP NOT NULL",
            "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 3",
            "ALTER TABLE t RESET PARTITIONED BY",
            "ALTER TABLE t SET SORTED BY (c)",
            "COMMENT ON TABLE t IS 'second'",
            "ALTER TABLE t RENAME TO later",
            "INSERT INTO later VALUES (8, NULL, 1)",
        )
    before = assert_read_alike(local)
    _rolled_back(local, session, snapshot_version=5)
    after = assert_read_alike(local)
    assert_same("back to 5", _shown(after[max(after)]), _shown(before[5]))
    with SharedDuck(local) as duck:
        duck.run("INSERT INTO t VALUES (9, 'new', 41)")
        assert duck.rows("SELECT min(c), max(c), count(b) FROM t") == [(0, 41, 41)]
        assert duck.rows("SELECT max(c) FROM later AT (VERSION => 15)") == [(5_000_000_000,)]
        with pytest.raises(Exception, match="NOT NULL"):
            duck.run("INSERT INTO t VALUES (9, 'new', NULL)")
    with local.open() as catalog:
        assert catalog.at().table("t").partition_fields
        assert verify(catalog) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ConfigError, "either"),
        ({"snapshot_version": 1, "snapshot_time": "1 day"}, ConfigError, "either"),
        ({"snapshot_version": 99}, NotFoundError, "snapshots 0 to 8"),
        ({"snapshot_time": "3 weeks"}, NotFoundError, "snapshots 0 to 8"),
        ({"snapshot_time": "then"}, ConfigError, "7 days"),
        ({"snapshot_version": 3, "table_name": "nope"}, NotFoundError, "nope"),
        ({"snapshot_version": 3, "table_name": "u"}, NotFoundError, "u at snapshot 3"),
    ],
)
def test_what_is_refused(
    local: LakeAddress,
    session: Session,
    arguments: dict[str, Any],
    error: type[DuckLakeError],
    message: str,
) -> None:
    with SharedDuck(local) as duck:
        duck.run(*_STORY)
    with local.open() as catalog, pytest.raises(error, match=message):
        rollback(catalog, session, **arguments)


def test_files_that_are_gone_are_missed_before_anything_is_changed(
    local: LakeAddress, session: Session
) -> None:
    with SharedDuck(local) as duck:
        duck.run(*_STORY)
    with local.open() as catalog:
        then = catalog.at(6)
        (file,) = then.files(then.table("u"))
        Path(file.path).unlink()
        before = local.dump()
        with pytest.raises(RefusedError, match="1 files that snapshot 6 needs are gone"):
            rollback(catalog, session, snapshot_version=6)
        assert local.dump() == before
        assert len(rollback(catalog, session, snapshot_version=6, table_name="t")) == 0
