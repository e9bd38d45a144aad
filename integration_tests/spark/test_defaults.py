"""Rows from before a column or a field show its default, also inside structs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ducklake_spark.scan import read_table
from ducklake_spark.session import Session
from ducklake_spark.write import append
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle
from support.reader import duck_rows
from support.spark_rows import spark_rows


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
