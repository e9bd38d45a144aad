"""Our client reads the history DuckDB keeps, compacts and expires."""

from __future__ import annotations

import datetime

import duckdb
import pytest

from ducklake_spark.catalog import Catalog
from ducklake_spark.errors import ConfigError, NotFoundError
from support.lakes import LakeAddress
from support.reader import read_rows
from support.shared_duck import SharedDuck
from support.states import assert_read_alike, row_counts

_T = ("main", "t")


def _no_inlining(duck: SharedDuck) -> None:
    duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")


def test_merged_files_show_every_snapshot_its_own_rows(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            "CREATE TABLE t (k INTEGER, v VARCHAR)",
            "INSERT INTO t SELECT range, 'a' FROM range(5)",
            "INSERT INTO t SELECT range, 'b' FROM range(10, 15)",
            "INSERT INTO t SELECT range, 'c' FROM range(20, 25)",
            "CALL ducklake_merge_adjacent_files('lake')",
            "DELETE FROM t WHERE k IN (1, 11)",
            "UPDATE t SET v = 'u' WHERE k IN (2, 21)",
            "INSERT INTO t VALUES (30, 'd')",
            "CALL ducklake_merge_adjacent_files('lake', 't')",
            "DELETE FROM t WHERE k IN (30, 21, 3)",
            "ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 1",
            "INSERT INTO t VALUES (40, 'e', 2)",
            "INSERT INTO t VALUES (41, 'e', 3)",
            "CALL ducklake_merge_adjacent_files('lake')",
        )
    states = assert_read_alike(lake)
    assert row_counts(states) == [0, 0, 5, 10, 15, 15, 13, 13, 14, 14, 11, 11, 12, 13, 13]
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        assert any(file.partial_max is not None for file in reader.files(reader.table("t")))


def test_rewritten_files_leave_older_snapshots_alone(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            "CREATE TABLE t AS SELECT range AS k, 'v' AS v FROM range(40)",
            "DELETE FROM t WHERE k < 30",
            "INSERT INTO t SELECT range, 'w' FROM range(100, 110)",
            "DELETE FROM t WHERE k IN (30, 101)",
            "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.05)",
            "DELETE FROM t WHERE k = 31",
            "UPDATE t SET v = 'x' WHERE k = 32",
            "CALL ducklake_merge_adjacent_files('lake')",
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
            "DELETE FROM t",
            "CALL ducklake_rewrite_data_files('lake')",
        )
    states = assert_read_alike(lake)
    assert row_counts(states)[:6] == [0, 40, 10, 20, 18, 18]
    assert row_counts(states)[-1] == 0


def test_everything_is_compacted_together(lake: LakeAddress) -> None:
    """Inlined rows and deletes, partitions and lineage pass through all maintenance."""
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (k INTEGER, p VARCHAR)",
            "ALTER TABLE t SET PARTITIONED BY (p)",
            "INSERT INTO t SELECT range, 'p' || range % 2 FROM range(30)",
            "INSERT INTO t VALUES (100, 'p0'), (101, 'p1'), (102, NULL)",
            "DELETE FROM t WHERE k IN (1, 2, 100)",
            "CALL ducklake_flush_inlined_data('lake')",
            "INSERT INTO t SELECT range, 'p' || range % 3 FROM range(200, 230)",
            "UPDATE t SET p = 'p0' WHERE k % 5 = 0",
            "DELETE FROM t WHERE k IN (5, 201)",
            "CALL ducklake_merge_adjacent_files('lake')",
            "DELETE FROM t WHERE k IN (10, 202)",
            "CALL ducklake_flush_inlined_data('lake')",
            "CALL ducklake_merge_adjacent_files('lake')",
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
            "INSERT INTO t VALUES (300, 'p9')",
            "CHECKPOINT",
        )
    states = assert_read_alike(lake)
    assert row_counts(states)[-1] == 57


def test_expired_snapshots_are_gone_and_the_others_stay_whole(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            "CREATE TABLE gone AS SELECT 1 AS a",
            "CREATE TABLE t (k INTEGER, v VARCHAR)",
            "INSERT INTO t SELECT range, 'a' FROM range(20)",
            "DROP TABLE gone",
            "ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 4",
            "DELETE FROM t WHERE k < 5",
            "UPDATE t SET v = 'u' WHERE k = 6",
            "INSERT INTO t SELECT range, 'b', 5 FROM range(30, 40)",
            "CALL ducklake_merge_adjacent_files('lake')",
            "CREATE VIEW old AS SELECT 1 AS x",
            "DROP VIEW old",
            "CALL ducklake_expire_snapshots('lake', versions => [1, 2, 3, 5, 7])",
            "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
            "INSERT INTO t VALUES (50, 'c', 6)",
        )
    states = assert_read_alike(lake)
    assert list(states) == [0, 4, 6, 8, 9, 10, 11, 12]
    with SharedDuck(lake) as duck:
        duck.run(
            "CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL '1 day')",
            "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
            "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)",
        )
    states = assert_read_alike(lake)
    assert list(states) == [12]
    with lake.open(read_only=True) as catalog:
        with pytest.raises(NotFoundError, match="Snapshot 11, in a lake with snapshots 12 to 12"):
            catalog.at(11)
        with pytest.raises(NotFoundError):
            catalog.at(timestamp=datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC))


def test_what_commits_say_is_read_back(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "BEGIN",
            "CREATE TABLE t (a INTEGER)",
            "CALL lake.set_commit_message('Ann', 'it''s the first', extra_info => '{\"k\": 1}')",
            "COMMIT",
            "INSERT INTO t VALUES (1)",
            "CALL lake.set_option('require_commit_message', true)",
            "BEGIN",
            "INSERT INTO t VALUES (2)",
            "CALL lake.set_commit_message('Bob', '')",
            "COMMIT",
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        said = [(c.author, c.message, c.extra_info) for c in catalog.commits(after=0)]
        assert said == [
            ("Ann", "it's the first", '{"k": 1}'),
            (None, None, None),
            ("Bob", "", None),
        ]
        assert [c.snapshot.id for c in catalog.commits(after=1, up_to=2)] == [2]
        assert catalog.at().options()["require_commit_message"] == "true"


def test_a_moment_shows_the_newest_snapshot_made_by_then(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run("CREATE TABLE t (a INTEGER)")
        for value in range(4):
            duck.run(f"INSERT INTO t VALUES ({value})")
        times = [row[0] for row in duck.rows("SELECT snapshot_time FROM lake.snapshots()")]
        moments = sorted({*times, *(time + datetime.timedelta(microseconds=1) for time in times)})
        moments = [moment for moment in moments if moment >= times[1]]
        seen = [
            len(duck.rows(f"FROM t AT (TIMESTAMP => TIMESTAMPTZ '{moment}')")) for moment in moments
        ]
    with lake.open(read_only=True) as catalog:
        ours = []
        for moment in moments:
            reader = catalog.at(timestamp=moment)
            ours.append(len(read_rows(reader, reader.table("t"))))
        assert ours == seen
        assert seen[0] == 0
        assert seen[-1] == 4
        with pytest.raises(NotFoundError):
            catalog.snapshot(timestamp=times[0] - datetime.timedelta(microseconds=1))
        with pytest.raises(ConfigError, match="not by both"):
            catalog.snapshot(1, timestamp=moments[0])


def test_every_kind_of_change_is_told_apart(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            'CREATE SCHEMA "we,ird ""s"',
            'CREATE TABLE "we,ird ""s"."t:1,""x""" (a INTEGER)',
            'INSERT INTO "we,ird ""s"."t:1,""x""" VALUES (1)',
            'CREATE VIEW "we,ird ""s"."v." AS SELECT 1 AS x',
            'COMMENT ON VIEW "we,ird ""s"."v." IS \'x\'',
            'CREATE MACRO "we,ird ""s"."m,"(a) AS a',
            'CREATE MACRO "we,ird ""s"."tm"(a) AS TABLE SELECT a',
            'DROP MACRO "we,ird ""s"."m,"',
            'DROP MACRO TABLE "we,ird ""s"."tm"',
            'CREATE OR REPLACE VIEW "we,ird ""s"."v." AS SELECT 2 AS x',
            'CREATE OR REPLACE TABLE "we,ird ""s"."t:1,""x""" AS SELECT 2 AS y FROM range(20)',
            'UPDATE "we,ird ""s"."t:1,""x""" SET y = 3',
            'DROP SCHEMA "we,ird ""s" CASCADE',
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        kinds = [[str(c.kind) for c in commit.changes] for commit in catalog.commits(after=0)]
        assert kinds == [
            ["created_schema"],
            ["created_table"],
            ["inlined_insert"],
            ["created_view"],
            ["altered_view"],
            ["created_scalar_macro"],
            ["created_table_macro"],
            ["dropped_scalar_macro"],
            ["dropped_table_macro"],
            ["dropped_view", "created_view"],
            ["dropped_table", "created_table", "inserted_into_table"],
            ["inserted_into_table", "deleted_from_table"],
            ["dropped_schema", "dropped_table", "dropped_view"],
        ]


SKEWED = [  # minutes, by snapshot
    [0, 5, 30, 10, 20, 15],
    [0, 5, 20, 20, 20, 10],
    [0, 50, 10, 20, 30, 40],
    [20, 5, 40, 30, 20, 10],
]


@pytest.mark.parametrize("minutes", SKEWED, ids=str)
def test_a_moment_shows_what_duckdb_shows_where_clocks_differ(
    lake: LakeAddress, minutes: list[int]
) -> None:
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    with SharedDuck(lake) as duck:
        duck.run("CREATE TABLE t (a INTEGER)")
        for value in range(4):
            duck.run(f"INSERT INTO t VALUES ({value})")
    for snapshot_id, minute in enumerate(minutes):
        lake.sql(
            f"UPDATE ducklake_snapshot SET snapshot_time = '2026-01-01 00:{minute:02}:00+00' "
            f"WHERE snapshot_id = {snapshot_id}"
        )
    moments = [start + datetime.timedelta(minutes=minute) for minute in range(0, 60, 5)]
    with SharedDuck(lake) as duck:
        seen = [_known_by_duckdb(duck, moment) for moment in moments]
    with lake.open(read_only=True) as catalog:
        assert [_known_by_us(catalog, moment) for moment in moments] == seen
        firsts = [catalog.first_snapshot_since(moment).id for moment in moments[:3]]
    by_time = sorted((minute, snapshot_id) for snapshot_id, minute in enumerate(minutes))
    assert firsts == [next(i for m, i in by_time if m >= first) for first in (0, 5, 10)]


def _known_by_duckdb(duck: SharedDuck, moment: datetime.datetime) -> int:
    """The snapshot that DuckDB finds: the table came with the first, and a row with each other."""
    try:
        return len(duck.rows(f"FROM t AT (TIMESTAMP => TIMESTAMPTZ '{moment}')")) + 1
    except duckdb.Error:
        return 0


def _known_by_us(catalog: Catalog, moment: datetime.datetime) -> int:
    try:
        return catalog.snapshot(timestamp=moment).id
    except NotFoundError:
        return 0
