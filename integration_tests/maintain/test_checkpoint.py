"""checkpoint, and the other operations as CALL: DuckDB's names and its order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ducklake_spark.errors import PartlyDoneError
from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake
from support.unharmed import seen_by_duckdb, unharmed


@pytest.fixture
def on(session: Session, tmp_path: Path) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path) as opened:
        yield opened


def prepare(on: SqlLake) -> None:
    on.duck_runs(
        "CREATE TABLE t (k INTEGER, s VARCHAR)",
        *(
            f"INSERT INTO t SELECT i, 'f' FROM range({at}, {at + 20}) r(i)"
            for at in range(0, 80, 20)
        ),
        "INSERT INTO t VALUES (100, 'i'), (101, 'j')",
        "DELETE FROM t WHERE k < 39",
        "DELETE FROM t WHERE k = 50",
    )


def called(on: SqlLake, call: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in on.lake.sql(f"CALL lake.{call}").collect()]


def test_operations_take_duckdbs_arguments(on: SqlLake) -> None:
    prepare(on)
    with unharmed(on.address):
        assert called(on, "flush_inlined_data(table_name => 't')") == [("main", "t", 2, None)]
        # What the flush found deleted is in files now; all of one file is gone since the DELETE.
        rewritten = called(on, "rewrite_data_files('t', delete_threshold => 0.9)")
        assert rewritten == [("main", "t", 1, 1, None)]
        assert called(on, "merge_adjacent_files('t', schema => 'main', dry_run => true)") == [
            ("main", "t", 3, 1, None)
        ]
        assert called(on, "merge_adjacent_files('t', max_compacted_files => 1)") == [
            ("main", "t", 3, 1, None)
        ]


def test_arguments_that_arrow_does_not_know(on: SqlLake) -> None:
    assert called(on, "expire_snapshots(versions => array())") == []
    assert called(on, "expire_snapshots(older_than => INTERVAL '1' MONTH)") == []
    for value, stored in (("'2' MONTH", "2 months"), ("'36' HOUR", "1 day 12:00:00")):
        called(on, f"set_option('expire_older_than', INTERVAL {value})")
        assert ("expire_older_than", stored) in on.duck(
            "SELECT option_name, value FROM ducklake_options('lake')"
        )
        assert on.duck("SELECT count(*) FROM ducklake_expire_snapshots('lake')") == [(0,)]


def test_a_checkpoint_does_it_all_and_harms_nothing(on: SqlLake) -> None:
    prepare(on)
    told = called(on, "checkpoint(dry_run => true)")
    assert [row[0] for row in told] == [
        "flush_inlined_data",
        "merge_adjacent_files",
        "rewrite_data_files",
        "cleanup_old_files",
        "delete_orphaned_files",
    ]
    with unharmed(on.address):
        done = called(on, "checkpoint()")
    assert done[0] == ("flush_inlined_data", 2, "rows", None)
    with unharmed(on.address, by_duckdb=True):
        on.duck_runs("CHECKPOINT")


def test_a_checkpoint_expires_as_the_options_say(on: SqlLake) -> None:
    prepare(on)
    before = seen_by_duckdb(on.address)
    on.lake.sql("CALL lake.set_option('expire_older_than', '0 seconds')")
    on.lake.sql("CALL lake.set_option('delete_older_than', '0 seconds')")
    steps = {row[0]: row[1] for row in called(on, "checkpoint()")}
    # All there were, the first one without the table among them; the flush made another.
    assert steps["expire_snapshots"] == len(before.rows) + 1
    newest = max(before.rows)
    assert list(seen_by_duckdb(on.address, feed=False).rows.values())[-1] == before.rows[newest]


def test_a_checkpoint_says_which_tables_it_leaves_alone(on: SqlLake) -> None:
    on.duck_runs(
        "CREATE TABLE odd AS SELECT INTERVAL 1 DAY AS i FROM range(20)",
        "INSERT INTO odd SELECT i FROM odd",
        "INSERT INTO odd VALUES (NULL)",
    )
    steps = {row[0]: row[1:] for row in called(on, "checkpoint()")}
    said = "Column 'i' of main.odd holds interval, which Spark cannot write."
    assert steps["flush_inlined_data"] == (0, "rows", said)
    assert steps["merge_adjacent_files"] == (0, "files", said)
    assert steps["rewrite_data_files"] == (0, "files", None)


def test_a_checkpoint_goes_on_after_a_table_that_cannot_be_compacted(on: SqlLake) -> None:
    prepare(on)
    on.duck_runs(
        "CREATE TABLE lost AS SELECT range AS k FROM range(20)",
        "INSERT INTO lost SELECT range FROM range(20)",
    )
    with on.address.open() as catalog:
        reader = catalog.at()
        Path(reader.files(reader.table("lost"))[0].path).unlink()
    on.lake.sql("CALL lake.set_option('delete_older_than', '0 seconds')")
    with pytest.raises(PartlyDoneError, match=r"failed for merge_.* failed for main\.lost, and"):
        called(on, "checkpoint()")
    did = [change for row in called(on, "snapshots()") for change in row[3]]
    assert {"flushed_inlined", "merge_adjacent", "rewrite_delete"} <= set(did)
    assert on.address.dump()["ducklake_files_scheduled_for_deletion"] == []
