"""Rows from before a column or a field show its default, also inside structs."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from ducklake_spark.errors import DuckLakeError, InvalidDefinitionError
from ducklake_spark.scan import read_table
from ducklake_spark.session import Session
from ducklake_spark.write import append
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle
from support.reader import duck_rows
from support.spark_rows import spark_rows
from support.sql_lakes import SqlLake


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


ADDED = (
    "st.b INTEGER DEFAULT 5",
    "l.element.b VARCHAR DEFAULT 'it''s \\'",
    "st.u UUID DEFAULT 'ffffffff-ffff-4fff-bfff-ffffffffffff'",
    "st.n INTEGER",
    "u UUID DEFAULT '00000000-ffff-4fff-bfff-ffffffffffff'",
    "bl BLOB DEFAULT '\\x00ab'",
    "tm TIME DEFAULT '01:02:03.5'",
    "d DATE DEFAULT 'infinity'",
    "bc DATE DEFAULT '0044-03-15 (BC)'",
    "ts TIMESTAMP DEFAULT '-infinity'",
    "far TIMESTAMP DEFAULT '12345-06-07 00:00:00.1'",
    "tz TIMESTAMPTZ DEFAULT '2024-02-29 23:30:00-02:30'",
    "tms TIMESTAMP_MS DEFAULT '1969-12-31 23:59:59.999'",
    "f DOUBLE DEFAULT 'nan'",
    "dec DECIMAL(9,2) DEFAULT -1.5",
    "j JSON DEFAULT '{\"a\": 1}'",
    "u64 UBIGINT DEFAULT 18446744073709551615",
)


def test_old_rows_show_the_defaults_that_duckdb_shows(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        duck.run(
            "CREATE TABLE t (id INTEGER, st STRUCT(a INTEGER), l STRUCT(a INTEGER)[])",
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "INSERT INTO t SELECT i, {'a': i}, [{'a': i}, NULL] FROM range(3) r(i)",
            "INSERT INTO t VALUES (10, NULL, NULL)",
        )
    with lake.open() as catalog, catalog.transaction() as tx:  # with a name mapping
        query = "SELECT 20 AS id, named_struct('a', 2) AS st, array(named_struct('a', 3)) AS l"
        append(tx, "t", session.spark.sql(query))
    with Oracle(lake) as duck:
        duck.run(*(f"ALTER TABLE t ADD COLUMN {column}" for column in ADDED))
        duck.run(
            "INSERT INTO t (id, st) VALUES (30, {'a': 1, 'b': NULL, 'u': NULL, 'n': NULL})",
            "UPDATE t SET st = {'a': 9, 'b': NULL, 'u': NULL, 'n': 1} WHERE id = 1",
        )
    with lake.open() as catalog, Oracle(lake) as duck:
        reader = catalog.at()
        table = reader.table("t")
        session.spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
        ours = spark_rows(read_table(session, reader, table), table.columns)
        session.spark.conf.set("spark.sql.session.timeZone", "UTC")
        theirs = [list(row.values()) for row in duck_rows(duck, table, "t")]
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs))


# What DuckDB makes of a default, whatever Spark would make of its text.
NEW = (
    "b BLOB DEFAULT '\\x00ab'",
    "d DATE DEFAULT 'infinity'",
    "bc DATE DEFAULT '0044-03-15 (BC)'",
    "ts TIMESTAMP DEFAULT '-infinity'",
    "tz TIMESTAMPTZ DEFAULT '2024-02-29 23:30:00-02:30'",
    "tm TIME DEFAULT '01:02:03.5'",
    "u UUID DEFAULT '00000000-FFFF-4FFF-BFFF-FFFFFFFFFFFF'",
    "f DOUBLE DEFAULT 'nan'",
    "v VARCHAR DEFAULT 'it''s \\'",
    "u64 UBIGINT DEFAULT 18446744073709551615",
    "j JSON DEFAULT '{\"a\": 1}'",
    "ed DATE DEFAULT DATE '2024-01-15'",
    "ei INTEGER DEFAULT (length('four') + 1)",
    "eb BLOB DEFAULT '\\xAB\\x00z'::BLOB",
)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t (i) VALUES (1)",
        f"INSERT INTO t VALUES (1{', DEFAULT' * len(NEW)})",
        "INSERT INTO t BY NAME SELECT 1 AS i",
        "MERGE INTO t USING (SELECT 1 AS i) AS s ON t.i = s.i "
        "WHEN NOT MATCHED THEN INSERT (i) VALUES (s.i)",
    ],
)
def test_new_rows_get_the_defaults_that_duckdb_gives(on: SqlLake, statement: str) -> None:
    on.duck_runs(f"CREATE TABLE t (i INTEGER, {', '.join(NEW)})")
    on.run(statement)
    on.duck_runs("INSERT INTO t (i) VALUES (1)")
    names = [column.split()[0] for column in NEW]
    shown = ", ".join(f"{name}::VARCHAR" for name in names)
    ours, theirs = on.duck(f"SELECT {shown} FROM t")
    assert dict(zip(names, ours, strict=True)) == dict(zip(names, theirs, strict=True))


def test_a_row_is_set_back_to_the_defaults_of_duckdb(on: SqlLake) -> None:
    on.duck_runs("CREATE TABLE t (b BLOB DEFAULT '\\x00ab', d DATE DEFAULT DATE '2024-01-15')")
    on.duck_runs("INSERT INTO t VALUES ('b', '2000-01-01')")
    on.run("UPDATE t SET b = DEFAULT, d = DEFAULT")
    assert on.duck("SELECT hex(b), d::VARCHAR FROM t") == [("006162", "2024-01-15")]


@pytest.mark.parametrize(
    "statement", ["INSERT INTO t (i) VALUES (1)", "INSERT INTO t VALUES (1, DEFAULT)"]
)
def test_a_default_that_spark_cannot_compute_is_told(on: SqlLake, statement: str) -> None:
    on.duck_runs("CREATE TABLE t (i INTEGER, h VARCHAR DEFAULT format_bytes(1000))")
    with pytest.raises(
        InvalidDefinitionError, match=r"column 'h' of main\.t.* format_bytes .*Give the column"
    ):
        on.run(statement)
    on.run("INSERT INTO t VALUES (1, 'given')")


def test_a_default_that_casts_computed_text_to_blob_is_rejected(on: SqlLake) -> None:
    on.duck_runs("CREATE TABLE t (i INTEGER, b BLOB DEFAULT (('\\xA' || 'B')::BLOB))")
    with pytest.raises(InvalidDefinitionError, match=r"column 'b' of main\.t.*cast to BLOB"):
        on.run("INSERT INTO t (i) VALUES (1)")
    on.run("INSERT INTO t VALUES (1, X'00')")


def test_a_computed_default_means_the_same_in_duckdb(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE t (i INT, d DATE DEFAULT date_add(DATE'2024-02-28', 2), "
        "w INT DEFAULT dayofweek(DATE'2024-02-29'))",
        "ALTER TABLE t ADD COLUMN s STRING",
        "ALTER TABLE t ALTER COLUMN s SET DEFAULT substring('ducklake', 0, 4)",
        "INSERT INTO t (i) VALUES (1)",
    )
    on.duck_runs("INSERT INTO t (i) VALUES (2)")
    row = (datetime.date(2024, 3, 1), 5, "duck")
    assert on.same("SELECT d, w, s FROM t") == [row, row]
    ((text,),) = on.rows("SHOW CREATE TABLE t")
    on.run("DROP TABLE t", text, "INSERT INTO t (i) VALUES (3)")
    assert on.same("SELECT d, w, s FROM t") == [row]


@pytest.mark.parametrize(
    ("default", "says"),
    [("nope(1)", "nope"), ("i + 1", "`i` cannot be resolved"), ("stack(1, 2)", "")],
)
def test_a_default_that_nobody_can_compute_is_refused(on: SqlLake, default: str, says: str) -> None:
    with pytest.raises(DuckLakeError, match=says):
        on.run(f"CREATE TABLE t (i INT, d INT DEFAULT {default})")
