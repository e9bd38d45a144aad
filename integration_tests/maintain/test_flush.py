"""flush_inlined_data: what the catalog held is in files, and every snapshot as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from ducklake_spark.maintain import FlushedTable, flush_inlined_data, merge_adjacent_files
from ducklake_spark.session import Session
from support.compactions import done_as_foretold
from support.lakes import LakeAddress
from support.oracle import Oracle, duck_runs
from support.unharmed import unharmed
from support.values import VALUES, value_rows

TABLE = "CREATE TABLE t (k INTEGER, s VARCHAR)"
# Spark cannot write the first three; files hold 128-bit integers as doubles.
NOT_KEPT = ("TIMESTAMP_NS", "TIMETZ", "INTERVAL", "HUGEINT")

flushed = partial(done_as_foretold, flush_inlined_data)


def inlined(lake: LakeAddress) -> dict[str, int]:
    """The tables of inlined rows and deletes, with how many each has."""
    return {
        name: len(rows)
        for name, rows in lake.dump().items()
        if name.startswith("ducklake_inlined_") and name != "ducklake_inlined_data_tables"
    }


def test_rows_and_deletes_become_files(lake: LakeAddress, session: Session) -> None:
    duck_runs(
        lake,
        TABLE,
        "INSERT INTO t SELECT i, 'f' FROM range(100) r(i)",
        "INSERT INTO t VALUES (200, 'it''s'), (201, NULL), (202, 'c')",
        "UPDATE t SET s = 'u' WHERE k = 200",
        "UPDATE t SET s = 'v' WHERE k = 200",
        "DELETE FROM t WHERE k IN (3, 201)",
        "DELETE FROM t WHERE k = 4",
        "INSERT INTO t VALUES (203, 'd')",
    )
    with unharmed(lake):
        assert flushed(lake, session) == [FlushedTable("main", "t", 6)]
    assert set(inlined(lake).values()) <= {0}
    assert flushed(lake, session) == []
    with Oracle(lake) as duck:
        duck.run(
            "INSERT INTO t VALUES (300, 'n')",
            "DELETE FROM t WHERE k IN (5, 202)",
            "UPDATE t SET s = 'w' WHERE k = 203",
        )
    with unharmed(lake, by_duckdb=True), Oracle(lake) as duck:
        duck.run(
            "CALL ducklake_flush_inlined_data('lake')",
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
            "CALL ducklake_merge_adjacent_files('lake')",
        )
    with Oracle(lake) as duck:
        rows = duck.rows("SELECT k, s FROM t WHERE k > 97 ORDER BY k")
        assert duck.value("SELECT count(*) FROM t") == 100
    assert rows == [(98, "f"), (99, "f"), (200, "v"), (203, "w"), (300, "n")]


def test_deletes_join_those_that_are_in_a_file(local: LakeAddress, session: Session) -> None:
    duck_runs(
        local,
        TABLE,
        "INSERT INTO t SELECT i, 'f' FROM range(100) r(i)",
        "DELETE FROM t WHERE k < 30",
        "DELETE FROM t WHERE k = 50",
        "DELETE FROM t WHERE k = 51",
    )
    with unharmed(local):
        assert flushed(local, session) == [FlushedTable("main", "t", 0)]
    with local.open() as catalog:
        reader = catalog.at()
        (file,) = reader.files(reader.table("t"))
        assert file.delete_file is not None
        assert (file.delete_file.delete_count, file.further_deletes) == (32, ())


def test_deletes_from_a_file_that_was_rewritten_since(local: LakeAddress, session: Session) -> None:
    duck_runs(
        local,
        TABLE,
        "INSERT INTO t SELECT i, 'f' FROM range(100) r(i)",
        "DELETE FROM t WHERE k < 30",
        "DELETE FROM t WHERE k = 50",
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
        "DELETE FROM t WHERE k = 51",
    )
    with unharmed(local):
        flushed(local, session)
    assert set(inlined(local).values()) <= {0}


def test_rows_of_older_columns(local: LakeAddress, session: Session) -> None:
    duck_runs(
        local,
        TABLE,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "ALTER TABLE t ADD COLUMN n DOUBLE DEFAULT 0.5",
        "INSERT INTO t VALUES (3, 'c', 'nan')",
        "ALTER TABLE t DROP COLUMN s",
        "ALTER TABLE t ALTER k TYPE BIGINT",
        "INSERT INTO t VALUES (4, 1)",
    )
    with unharmed(local):
        assert flushed(local, session) == [FlushedTable("main", "t", 4)]
    (name,) = inlined(local)  # DuckDB goes on with the newest alone
    with Oracle(local) as duck:
        duck.run("INSERT INTO t VALUES (5, 2)")
        assert duck.rows("SELECT k FROM t WHERE n > 0.7 ORDER BY k") == [(3,), (4,), (5,)]
    assert inlined(local) == {name: 1}


@pytest.mark.parametrize("key", ["s", "bucket(3, k)", "year(d)"])
def test_rows_go_to_their_partitions(local: LakeAddress, session: Session, key: str) -> None:
    duck_runs(
        local,
        "CREATE TABLE t (k INTEGER, s VARCHAR, d DATE)",
        "INSERT INTO t VALUES (1, 'a', '2024-01-01'), (2, NULL, NULL)",
        f"ALTER TABLE t SET PARTITIONED BY ({key})",
        "ALTER TABLE t SET SORTED BY (k DESC)",
        "INSERT INTO t VALUES (3, 'a', '2024-01-01'), (4, 'b c', '2025-01-01'), (5, '', NULL)",
        "DELETE FROM t WHERE k IN (1, 4)",
    )
    with unharmed(local):
        flushed(local, session)
    with Oracle(local) as duck:
        duck.run("INSERT INTO t SELECT i, 'a', '2024-01-01' FROM range(20, 40) r(i)")
        assert duck.rows("SELECT k FROM t WHERE s = 'a' AND k < 20") == [(3,)]
    with unharmed(local, by_duckdb=True), Oracle(local) as duck:
        duck.run("CALL ducklake_merge_adjacent_files('lake')")


def test_values_of_every_type(
    local: LakeAddress, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the catalog first, then in a file of each, then in one file."""
    # Spark has no 24:00, and of milliseconds it knows no infinity.
    monkeypatch.setitem(VALUES, "TIME", ["'00:00:00'", "'23:59:59.999999'"])
    monkeypatch.setitem(VALUES, "TIMESTAMP_MS", ["'1969-12-31 23:59:59.999'"])
    kinds = tuple(kind for kind in VALUES if kind not in NOT_KEPT)
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    rows = ", ".join(value_rows(kinds))
    duck_runs(
        local,
        "CALL lake.set_option('data_inlining_row_limit', 100)",
        f"CREATE TABLE t ({columns})",
        f"INSERT INTO t VALUES {rows}",
    )
    with unharmed(local):
        flushed(local, session)
    duck_runs(
        local,
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        f"INSERT INTO t VALUES {rows}",
    )
    with unharmed(local), local.open() as catalog:
        assert len(merge_adjacent_files(catalog, session)) == 1


def test_the_tables_statistics_become_those_that_duckdbs_flush_makes(
    shared_lake: LakeAddress, make_lake: Callable[[str], LakeAddress], session: Session
) -> None:
    """A list or map without items is a NULL in a file, and none to DuckDB's inlined rows."""
    theirs = make_lake(shared_lake.kind)
    for lake in (shared_lake, theirs):
        duck_runs(
            lake,
            "CREATE TABLE t (k INTEGER, m MAP(VARCHAR, INTEGER), s STRUCT(l VARCHAR[], n INTEGER))",
            "INSERT INTO t VALUES (1, MAP {'a': 1}, {'l': ['x'], 'n': 1})",
            "INSERT INTO t VALUES (2, MAP {}, {'l': [], 'n': NULL}), (3, NULL, NULL)",
            "INSERT INTO t VALUES (4, MAP {'b': NULL}, {'l': ['y', NULL], 'n': NULL})",
        )
    with unharmed(shared_lake):
        flushed(shared_lake, session)
    duck_runs(theirs, "CALL ducklake_flush_inlined_data('lake')")
    statistics = [lake.dump()["ducklake_table_column_stats"] for lake in (shared_lake, theirs)]
    assert statistics[0] == statistics[1]


def test_one_table_or_the_tables_of_a_schema(local: LakeAddress, session: Session) -> None:
    duck_runs(
        local,
        "CREATE SCHEMA other",
        *(f"CREATE TABLE {name} AS SELECT 1 AS k" for name in ("t", "other.t", "other.u")),
        "CALL lake.set_option('auto_compact', false, schema => 'other', table_name => 'u')",
    )
    assert flushed(local, session, schema_name="other") == [FlushedTable("other", "t", 1)]
    named = flushed(local, session, schema_name="other", table_name="u")
    assert named == [FlushedTable("other", "u", 1)]
    assert flushed(local, session) == [FlushedTable("main", "t", 1)]
