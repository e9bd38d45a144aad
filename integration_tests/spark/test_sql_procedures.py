"""CALL: what its arguments may be, and how it goes with an open transaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ducklake_spark.errors import AfterCommitError, DuckLakeError, ReadOnlyError
from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake


@pytest.fixture
def on(session: Session, tmp_path: Path) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path) as opened:
        opened.run("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
        yield opened


def _snapshots(on: SqlLake) -> list[int]:
    return [commit.snapshot.id for commit in on.lake.catalog().commits()]


def test_it_waits_for_the_commit_of_what_was_changed(on: SqlLake) -> None:
    on.lake.begin()
    on.run("INSERT INTO t VALUES (3)")
    call = "CALL lake.expire_snapshots(older_than => INTERVAL 0 SECONDS)"
    assert on.rows(call) == [("expire_snapshots", "after the COMMIT of the open transaction")]
    assert len(on.rows("CALL lake.expire_snapshots(older_than => '0 days', dry_run => true)")) == 3
    assert _snapshots(on) == [0, 1, 2, 3]
    on.lake.commit()
    assert _snapshots(on) == [4]
    assert on.same("SELECT a FROM t") == [(1,), (2,), (3,)]


def test_a_rollback_forgets_it(on: SqlLake) -> None:
    on.lake.begin()
    on.run("INSERT INTO t VALUES (3)")
    on.rows("CALL lake.expire_snapshots(versions => 1)")
    on.lake.rollback()
    on.lake.begin()
    on.lake.commit()
    assert _snapshots(on) == [0, 1, 2, 3]


def test_without_a_change_it_does_not_wait(on: SqlLake) -> None:
    """And what follows in the transaction sees what it did."""
    on.lake.begin()
    assert on.rows("SELECT a FROM t") == [(1,), (2,)]
    (row,) = on.rows("CALL lake.rollback(snapshot_version => 2, table_name => 't')")
    assert row[3] == "restore rows"
    assert on.rows("SELECT a FROM t") == [(1,)]
    on.run("INSERT INTO t VALUES (9)")
    on.lake.commit()
    assert on.same("SELECT a FROM t") == [(1,), (9,)]


def test_one_that_fails_then_says_that_the_commit_stays(on: SqlLake) -> None:
    on.lake.begin()
    on.run("INSERT INTO t VALUES (3)")
    on.rows("CALL lake.expire_snapshots(versions => array(99))")
    with pytest.raises(AfterCommitError, match=r"committed as snapshot 4, .* Snapshot 99"):
        on.lake.commit()
    assert not on.lake.in_transaction
    assert on.same("SELECT a FROM t") == [(1,), (2,), (3,)]


def test_nonsense_is_refused_at_once(on: SqlLake) -> None:
    on.lake.begin()
    on.run("INSERT INTO t VALUES (3)")
    with pytest.raises(DuckLakeError, match="cannot take 'many' for versions"):
        on.rows("CALL lake.expire_snapshots(versions => 'many')")
    on.lake.commit()


def test_files_are_added_in_the_transaction(on: SqlLake, tmp_path: Path) -> None:
    on.duck_runs(f"COPY (SELECT 7 AS a, 'x' AS b) TO '{tmp_path}/new.parquet'")
    path = f"{tmp_path}/new.parquet"
    with pytest.raises(DuckLakeError, match="'b'"):
        on.rows(f"CALL lake.add_data_files('t', '{path}')")
    given = f"'{path}', ignore_extra_columns => true"
    assert on.rows(f"CALL lake.add_data_files('t', {given}, dry_run => true)") == [(path, 1)]
    assert _snapshots(on) == [0, 1, 2, 3]
    on.lake.begin()
    assert on.rows(f"CALL lake.add_data_files('t', array({given[: len(path) + 2]}), "
                   "ignore_extra_columns => true)") == [(path, 1)]  # fmt: skip
    assert on.rows("SELECT a FROM t") == [(1,), (2,), (7,)]
    on.lake.commit()
    assert on.same("SELECT a FROM t") == [(1,), (2,), (7,)]


def test_a_lake_that_is_read_only(on: SqlLake) -> None:
    on.lake.attach("other", on.address.catalog, read_only=True)
    assert len(on.rows("CALL other.snapshots()")) == 4
    with pytest.raises(ReadOnlyError, match="other"):
        on.rows("CALL other.expire_snapshots(older_than => '0 days')")


def test_what_changes_a_lake_is_no_table(on: SqlLake) -> None:
    with pytest.raises(DuckLakeError, match=r"CALL lake\.merge_adjacent_files\('t'\)"):
        on.rows("SELECT * FROM lake.merge_adjacent_files('t')")
