"""Snapshots are forgotten, their files deleted, and nothing else changes for anybody."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.errors import (
    CommitConflictError,
    ConfigError,
    DuckLakeError,
    NotFoundError,
    RefusedError,
)
from ducklake_spark.maintain import cleanup_old_files, delete_orphaned_files, expire_snapshots
from support.budget import FULL
from support.histories import History, play
from support.lakes import LakeAddress
from support.parquet import append
from support.shared_duck import SharedDuck
from support.states import LakeState, assert_read_alike

MakeLake = Callable[[str], LakeAddress]

_SEEDS = 20 if FULL else 4
_LAKES = [
    *(("sqlite", seed) for seed in range(3000, 3000 + _SEEDS)),
    *(("postgres", seed) for seed in range(3100, 3100 + _SEEDS // 2)),
    *(("duckdb", seed) for seed in range(3200, 3200 + _SEEDS // 2)),
]


def _files(lake: LakeAddress) -> set[str]:
    return {str(path) for path in Path(lake.data_path).rglob("*.parquet")}


def _assert_unchanged(before: dict[int, LakeState], after: dict[int, LakeState]) -> None:
    for version, state in after.items():
        assert state == before[version], f"snapshot {version}"


@pytest.mark.parametrize(("kind", "seed"), _LAKES)
def test_the_snapshots_that_are_left_stay_as_they_were(
    make_lake: MakeLake, kind: str, seed: int
) -> None:
    lake = make_lake(kind)
    play(lake, History(seed), 14)
    before = assert_read_alike(lake)
    chance = random.Random(seed)
    *older, _ = before
    doomed = chance.sample(older, chance.randint(1, len(older)))
    with lake.open() as catalog:
        planned = expire_snapshots(catalog, versions=doomed, dry_run=True)
        assert assert_read_alike(lake) == before
        assert expire_snapshots(catalog, versions=doomed) == planned
        assert [row.snapshot_id for row in planned] == sorted(doomed)
        _assert_only_what_is_needed(lake, catalog)
    after = assert_read_alike(lake)
    assert set(after) == set(before) - set(doomed), f"seed {seed}"
    _assert_unchanged(before, after)
    with SharedDuck(lake) as duck:
        name = min(name for _, name in after[max(after)].tables)
        duck.run(f"INSERT INTO {name} (k) VALUES (77)", f"DELETE FROM {name} WHERE k < 3")
        duck.run("CALL ducklake_merge_adjacent_files('lake')")
        duck.run("CALL ducklake_expire_snapshots('lake', older_than => now())")
        duck.run("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert_read_alike(lake)


def _assert_only_what_is_needed(lake: LakeAddress, catalog: Catalog) -> None:
    """What is on the disk afterwards is what the catalog names, and no row is left without use."""
    cleanup_old_files(catalog, cleanup_all=True)
    assert _files(lake) == {path for path in catalog.named_files() if path.endswith(".parquet")}
    orphans = delete_orphaned_files(catalog, cleanup_all=True)
    assert [row for row in orphans if not row.path.endswith("/")] == []  # folders may be empty
    assert catalog.scheduled_files() == []
    rows = lake.dump()
    files = {row["data_file_id"] for row in rows["ducklake_data_file"]}
    for table in ("file_column_stats", "file_partition_value", "file_variant_stats", "delete_file"):
        assert {row["data_file_id"] for row in rows[f"ducklake_{table}"]} <= files, table
    tables = {row["table_id"] for row in rows["ducklake_table"]}
    for table in ("column", "table_stats", "schema_versions", "partition_info", "column_mapping"):
        assert {row["table_id"] for row in rows[f"ducklake_{table}"]} <= tables, table


def test_what_duckdb_expires_is_what_we_expire(make_lake: MakeLake) -> None:
    """The same rows stay, but for ended rows of live objects, which DuckDB keeps."""
    ours, theirs = (make_lake("sqlite") for _ in range(2))
    for lake in (ours, theirs):
        play(lake, History(3300), 14)
    with ours.open() as catalog:
        expire_snapshots(catalog, older_than="0 seconds")
    with SharedDuck(theirs) as duck:
        duck.run("CALL ducklake_expire_snapshots('lake', older_than => now())")
    mine, known = ours.dump(), theirs.dump()
    assert set(mine) == set(known)
    for table in set(mine) - {"ducklake_snapshot_changes"}:
        kept = [row for row in known[table] if row.get("end_snapshot") is None]
        left = [row for row in mine[table] if row.get("end_snapshot") is None]
        assert len(left) == len(kept), table


def test_dropped_tables_leave_no_trace(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE SCHEMA s",
            "CREATE TABLE s.t (a INTEGER, b VARCHAR)",
            "ALTER TABLE s.t SET PARTITIONED BY (a)",
            "ALTER TABLE s.t SET SORTED BY (b)",
            "COMMENT ON COLUMN s.t.a IS 'x'",
            "CALL lake.set_option('target_file_size', '1MB', schema => 's', table_name => 't')",
            "INSERT INTO s.t VALUES (1, 'x')",
            "INSERT INTO s.t SELECT range, 'y' FROM range(30)",
            "DELETE FROM s.t WHERE a = 7",
            "CREATE VIEW s.v AS SELECT 1 AS x",
            "CREATE MACRO s.plus(a, b) AS a + b",
            "DROP SCHEMA s CASCADE",
        )
    with lake.open() as catalog:
        expire_snapshots(catalog, older_than="0s")
        cleanup_old_files(catalog, cleanup_all=True)
    rows = {table: found for table, found in lake.dump().items() if found}
    facts = {"version", "created_by", "data_path", "encrypted"}
    assert {row["key"] for row in rows.pop("ducklake_metadata")} == facts
    assert {table: len(found) for table, found in rows.items()} == {
        "ducklake_snapshot": 1,
        "ducklake_snapshot_changes": 1,
        "ducklake_schema": 1,
    }
    assert not [table for table in lake.tables() if "inlined_d" in table and table[-1].isdigit()]
    assert _files(lake) == set()


def test_a_file_that_two_tables_share_stays(lake: LakeAddress, tmp_path: Path) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            f"COPY (SELECT 1 AS a) TO '{tmp_path}/shared.parquet'",
            "CREATE TABLE t (a INTEGER)",
            "CREATE TABLE u (a INTEGER)",
            f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/shared.parquet')",
            f"CALL ducklake_add_data_files('lake', 'u', '{tmp_path}/shared.parquet')",
            "DROP TABLE t",
        )
    with lake.open() as catalog:
        expire_snapshots(catalog, older_than="0s")
        assert catalog.scheduled_files() == []
    with SharedDuck(lake) as duck:
        assert duck.rows("FROM u") == [(1,)]


def test_a_file_of_a_dropped_table_that_another_was_given_stays(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t AS SELECT 1 AS a",
            "CREATE TABLE u (a INTEGER)",
        )
        ((path,),) = duck.rows("SELECT data_file FROM ducklake_list_files('lake', 't')")
        odd = path.replace("/main/", "//main/./")
        duck.run(f"CALL ducklake_add_data_files('lake', 'u', '{odd}')", "DROP TABLE t")
    with lake.open() as catalog:
        expire_snapshots(catalog, older_than="0s")
        assert catalog.scheduled_files() == []


def _three(lake: LakeAddress) -> Catalog:
    catalog = lake.open()
    with catalog.transaction() as tx:
        tx.create_table("t", [Field("id", "int32")])
    for number in range(2):
        with catalog.transaction() as tx:
            append(tx, "t", [{"id": number}])
    return catalog


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, RefusedError, "all but one"),
        ({"versions": [3]}, RefusedError, "the newest"),
        ({"versions": [1, 9]}, NotFoundError, "Snapshot 9"),
        ({"versions": [1], "older_than": "1 day"}, ConfigError, "not by both"),
        ({"older_than": "a while"}, ConfigError, "7 days"),
    ],
)
def test_what_is_refused(
    make_lake: MakeLake,
    arguments: dict[str, object],
    error: type[DuckLakeError],
    message: str,
) -> None:
    with _three(make_lake("sqlite")) as catalog:
        with pytest.raises(error, match=message):
            expire_snapshots(catalog, **arguments)  # type: ignore[arg-type]
        assert len(catalog.commits()) == 4


def test_snapshots_expire_by_their_times_where_clocks_differ(make_lake: MakeLake) -> None:
    lake = make_lake("duckdb")
    _three(lake).close()
    for snapshot_id, minute in enumerate([0, 30, 10, 20]):
        lake.sql(
            f"UPDATE ducklake_snapshot SET snapshot_time = '2026-01-01 00:{minute:02}:00+00' "
            f"WHERE snapshot_id = {snapshot_id}"
        )
    limits = [datetime.datetime(2026, 1, 1, 0, at, tzinfo=datetime.UTC) for at in (5, 15, 25, 35)]
    with SharedDuck(lake) as duck:
        theirs = [
            [
                row[0]
                for row in duck.rows(
                    "CALL ducklake_expire_snapshots('lake', dry_run => true, "
                    f"older_than => TIMESTAMPTZ '{limit}')"
                )
            ]
            for limit in limits
        ]
    with lake.open() as catalog:
        ours = [expire_snapshots(catalog, older_than=limit, dry_run=True) for limit in limits]
    assert [[row.snapshot_id for row in rows] for rows in ours] == theirs
    assert theirs == [[0], [0, 2], [0, 2], [0, 1, 2]]


def test_the_option_says_how_old(make_lake: MakeLake) -> None:
    with _three(make_lake("sqlite")) as catalog:
        with catalog.transaction() as tx:
            tx.set_option("expire_older_than", "1 week")
        assert expire_snapshots(catalog) == []
        nothing = datetime.timedelta(0)
        assert len(expire_snapshots(catalog, older_than=nothing, dry_run=True)) == 3
        with catalog.transaction() as tx:
            tx.set_option("expire_older_than", "0 days")
        assert [row.snapshot_id for row in expire_snapshots(catalog)] == [0, 1, 2]


def test_an_option_that_is_no_age_is_named(make_lake: MakeLake) -> None:
    lake = make_lake("sqlite")
    _three(lake).close()
    with SharedDuck(lake) as duck:
        duck.run("CALL lake.set_option('expire_older_than', '-7 days')")
    with lake.open() as catalog, pytest.raises(ConfigError, match="expire_older_than of the lake"):
        expire_snapshots(catalog)


def test_a_transaction_over_an_expired_snapshot_conflicts(lake: LakeAddress) -> None:
    """What it would have been in conflict with may be among what is forgotten."""
    with _three(lake) as catalog:
        slow = catalog.transaction()
        slow.truncate("t")
        for number in (7, 8):
            with catalog.transaction() as tx:
                append(tx, "t", [{"id": number}])
        expire_snapshots(catalog, versions=[3, 4])
        with pytest.raises(CommitConflictError, match="was expired before the commit"):
            slow.commit()
        with catalog.transaction() as tx:
            append(tx, "t", [{"id": 9}])
