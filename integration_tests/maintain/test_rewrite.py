"""rewrite_data_files: deleted rows go from the files, and older snapshots keep them."""

from __future__ import annotations

from functools import partial

import pytest

from ducklake_spark.errors import ConfigError
from ducklake_spark.maintain import CompactedFile, rewrite_data_files
from ducklake_spark.session import Session
from support.compactions import done_as_foretold
from support.lakes import LakeAddress
from support.oracle import Oracle, duck_runs
from support.unharmed import unharmed

NO_INLINING = "CALL lake.set_option('data_inlining_row_limit', 0)"
TABLE = "CREATE TABLE t (k INTEGER, s VARCHAR)"

rewritten = partial(done_as_foretold, rewrite_data_files)


def inserted(first: int, rows: int = 10) -> str:
    return f"INSERT INTO t SELECT i, 's' || (i % 3) FROM range({first}, {first + rows}) r(i)"


def deleted(lake: LakeAddress) -> tuple[int, int]:
    """The rows that the newest snapshot's files hold, and how many of these are deleted."""
    with lake.open() as catalog:
        reader = catalog.at()
        files = reader.files(reader.table("t"))
        return (
            sum(file.record_count for file in files),
            sum(f.delete_file.delete_count if f.delete_file else 0 for f in files)
            + sum(len(f.inlined_deletes) for f in files),
        )


def test_deleted_rows_go_and_old_snapshots_keep_them(lake: LakeAddress, session: Session) -> None:
    duck_runs(
        lake,
        NO_INLINING,
        TABLE,
        inserted(0),
        inserted(10),
        "DELETE FROM t WHERE k IN (2, 12)",
        "DELETE FROM t WHERE k > 15",
    )
    with unharmed(lake):
        done = rewritten(lake, session, delete_threshold=0.3)
    assert done == [CompactedFile("main", "t", 1, 1)]
    assert deleted(lake) == (15, 1)
    with unharmed(lake, by_duckdb=True), Oracle(lake) as duck:
        duck.run("CALL ducklake_merge_adjacent_files('lake')")
    with Oracle(lake) as duck:
        duck.run("UPDATE t SET s = 'u' WHERE k = 13", "DELETE FROM t WHERE k = 14")
        rows = duck.rows("SELECT k, s FROM t WHERE k > 10 ORDER BY k")
    assert rows == [(11, "s2"), (13, "u"), (15, "s0")]


def test_filters_of_old_snapshots_still_find_their_rows(
    local: LakeAddress, session: Session
) -> None:
    """DuckDB's own rewrite makes the table's statistics too narrow for them."""
    duck_runs(local, NO_INLINING, TABLE, inserted(0, 1000), "DELETE FROM t WHERE k < 990")
    rewritten(local, session)
    with Oracle(local) as duck:
        old = duck.snapshots()[-3]
        assert duck.value(f"SELECT count(*) FROM t AT (VERSION => {old}) WHERE k < 900") == 900
        assert duck.rows("SELECT min(k), max(k), count(*) FROM t") == [(990, 999, 10)]


def test_the_threshold_may_be_an_option(local: LakeAddress, session: Session) -> None:
    duck_runs(local, NO_INLINING, TABLE, inserted(0), "DELETE FROM t WHERE k < 4")
    assert rewritten(local, session) == []
    assert rewritten(local, session, delete_threshold=0.5) == []
    duck_runs(local, "CALL lake.set_option('rewrite_delete_threshold', 0.4, table_name => 't')")
    assert len(rewritten(local, session)) == 1
    with local.open() as catalog, pytest.raises(ConfigError, match="from 0 to 1"):
        rewrite_data_files(catalog, session, delete_threshold=2.0)


def test_deletes_in_the_catalog_count(local: LakeAddress, session: Session) -> None:
    duck_runs(
        local,
        TABLE,
        inserted(0, 20),
        "DELETE FROM t WHERE k IN (3, 4)",
        "DELETE FROM t WHERE k = 7",
    )
    with unharmed(local):
        assert rewritten(local, session, delete_threshold=0.1) == [CompactedFile("main", "t", 1, 1)]
    assert deleted(local) == (17, 0)
    with unharmed(local, by_duckdb=True), Oracle(local) as duck:
        duck.run("CALL ducklake_flush_inlined_data('lake')")


def test_a_file_without_rows_left_goes_without_another(
    local: LakeAddress, session: Session
) -> None:
    everything = "DELETE FROM t WHERE k >= 0"
    duck_runs(
        local, TABLE, inserted(0, 20), "DELETE FROM t WHERE k < 5", "DELETE FROM t WHERE k < 12"
    )
    duck_runs(local, "DELETE FROM t WHERE k < 16", everything)
    with unharmed(local):
        done = rewritten(local, session)
    assert [row.files_created for row in done] in ([0], [])
    assert deleted(local) == (0, 0)


def test_new_files_have_todays_columns(local: LakeAddress, session: Session) -> None:
    duck_runs(
        local,
        NO_INLINING,
        TABLE,
        inserted(0),
        "ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 7",
        "ALTER TABLE t ADD COLUMN b BLOB DEFAULT 'xy'",
        "ALTER TABLE t DROP COLUMN s",
        "DELETE FROM t WHERE k < 5",
        "ALTER TABLE t RENAME k TO key",
    )
    with unharmed(local):
        rewritten(local, session, delete_threshold=0)
    with Oracle(local) as duck:
        assert duck.rows("SELECT DISTINCT n, b FROM t WHERE key > 5") == [(7, b"xy")]


def test_partitions_and_merged_files(local: LakeAddress, session: Session) -> None:
    duck_runs(
        local,
        NO_INLINING,
        TABLE,
        "ALTER TABLE t SET PARTITIONED BY (s)",
        inserted(0, 30),
        inserted(30, 30),
        "CALL ducklake_merge_adjacent_files('lake')",
        "DELETE FROM t WHERE k % 2 = 0",
    )
    with unharmed(local):
        assert len(rewritten(local, session, delete_threshold=0.2)) == 3
    with unharmed(local, by_duckdb=True), Oracle(local) as duck:
        duck.run(inserted(60, 30), "CALL ducklake_merge_adjacent_files('lake')")
