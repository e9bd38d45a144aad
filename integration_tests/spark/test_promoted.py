"""Columns whose type DuckDB changed: files hold the old type, and rows show the new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.scan import read_table
from ducklake_spark.session import Session
from ducklake_spark.write import append, update
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle
from support.reader import duck_rows
from support.spark_rows import spark_rows

_WHOLE = ["SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL(38,1)"]
_UNSIGNED = ["USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"]
# All that DuckDB takes for a wider type, but JSON, with values at the edges of the old one.
PROMOTIONS = {
    "BOOLEAN": (["true", "false"], [*_WHOLE[:4], *_UNSIGNED]),
    "TINYINT": (["-128", "127"], _WHOLE),
    "SMALLINT": (["-32768", "32767"], _WHOLE[1:]),
    "INTEGER": (["-2147483648", "2147483647"], _WHOLE[2:]),
    "BIGINT": (["-9223372036854775808", "9223372036854775807"], _WHOLE[3:]),
    "HUGEINT": (["-12345", "1180591620717411303424"], ["FLOAT", "DOUBLE", "DECIMAL(38,1)"]),
    "UTINYINT": (["0", "255"], [*_WHOLE, *_UNSIGNED]),
    "USMALLINT": (["0", "65535"], [*_WHOLE[1:], *_UNSIGNED[1:]]),
    "UINTEGER": (["0", "4294967295"], [*_WHOLE[2:], *_UNSIGNED[2:]]),
    "UBIGINT": (["0", "18446744073709551615"], [*_WHOLE[3:], "UHUGEINT"]),
    "FLOAT": (["0.1", "'nan'", "'-inf'"], ["DOUBLE"]),
    "DECIMAL(4,1)": (["-999.9", "0.5"], ["FLOAT", "DOUBLE", "DECIMAL(38,1)"]),
    "DATE": (
        ["'2024-02-29'", "'1969-12-31'", "'infinity'", "'-infinity'"],
        ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"],
    ),
    "TIMESTAMP": (
        ["'2024-02-29 10:11:12.123456'", "'infinity'"],
        ["TIMESTAMP_NS", "TIMESTAMPTZ"],
    ),
    "TIMESTAMP_S": (["'1969-12-31 23:59:59'"], ["TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP_NS"]),
    "TIMESTAMP_MS": (["'1969-12-31 23:59:59.999'"], ["TIMESTAMP", "TIMESTAMP_NS"]),
}
PAIRS = [(old, new) for old, (_, wider) in PROMOTIONS.items() for new in wider]


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


def create(duck: Oracle, pairs: list[tuple[str, str]]) -> None:
    """A table t with a column for each pair."""
    duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")
    columns = ", ".join(f"c{at} {old}" for at, (old, _) in enumerate(pairs))
    duck.run(f"CREATE TABLE t ({columns})")
    for row in range(max(len(PROMOTIONS[old][0]) for old, _ in pairs) + 1):
        cells = (_cell(old, row) for old, _ in pairs)
        duck.run(f"INSERT INTO t VALUES ({', '.join(cells)})")


def _cell(kind: str, row: int) -> str:
    values = PROMOTIONS[kind][0]
    return f"CAST({values[row] if row < len(values) else 'NULL'} AS {kind})"


def promote(duck: Oracle, pairs: list[tuple[str, str]]) -> None:
    duck.run(*(f"ALTER TABLE t ALTER c{at} TYPE {new}" for at, (_, new) in enumerate(pairs)))


def assert_same(lake: LakeAddress, session: Session, snapshot: int) -> None:
    with lake.open() as catalog, Oracle(lake) as duck:
        reader = catalog.at(snapshot)
        table = reader.table("t")
        ours = spark_rows(read_table(session, reader, table), table.columns)
        theirs = duck_rows(duck, table, f"t AT (VERSION => {snapshot})")
        for at, column in enumerate(table.columns):
            found = sorted(repr(row[at]) for row in ours)
            assert found == sorted(repr(row[column.name]) for row in theirs), PAIRS[at]


def test_values_are_those_that_duckdb_shows(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        create(duck, PAIRS)
        before = duck.snapshots()[-1]
        promote(duck, PAIRS)
        duck.run("INSERT INTO t FROM t LIMIT 2")
        after = duck.snapshots()[-1]
    assert_same(lake, session, before)
    assert_same(lake, session, after)


def test_spark_changes_such_tables(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (id INTEGER, u UINTEGER, b INTEGER)",
            "INSERT INTO t VALUES (1, 4294967295, -5), (2, 7, 6)",
            "ALTER TABLE t ALTER u TYPE DOUBLE",
            "ALTER TABLE t ALTER b TYPE HUGEINT",
        )
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            assert update(session, tx, "t", {"b": "b * 1000"}, "u > 10").updated == 1
        with catalog.transaction() as tx:
            query = "SELECT 3 AS id, 0.5D AS u, 1180591620717411303424 AS b"
            append(tx, "t", session.spark.sql(query))
            tx.set_column_type("t", "id", "float64")  # rows of before are read as what they are
            rows = read_table(session, tx, tx.table("t"), columns=["id"]).collect()
            assert sorted(row.id for row in rows) == [1.0, 2.0, 3.0]
    with Oracle(lake) as duck:
        assert duck.rows("SELECT id, u, b FROM t ORDER BY id") == [
            (1.0, 4294967295.0, -5000),
            (2.0, 7.0, 6),
            (3.0, 0.5, 1180591620717411303424),
        ]


def test_fields_of_structs(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (s STRUCT(u UINTEGER, d DATE)[], m MAP(VARCHAR, STRUCT(u UINTEGER)))",
            "INSERT INTO t SELECT [{'u': 4294967295, 'd': '2024-02-29'::DATE}, NULL], "
            "MAP {'k': {'u': 3000000000}}",
        )
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.set_column_type("t", "s.element.u", "float64")
            tx.set_column_type("t", "s.element.d", "timestamp")
            tx.set_column_type("t", "m.value.u", "int64")
            tx.add_column("t", Field("x", "int32", default=5), parent="s.element")
        reader = catalog.at()
        table = reader.table("t")
        ours = spark_rows(read_table(session, reader, table), table.columns)
        with Oracle(lake) as duck:
            theirs = [list(row.values()) for row in duck_rows(duck, table, "t")]
    assert ours == theirs


def test_what_cannot_be_converted_is_refused_by_name(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        create(duck, [("INTEGER", "JSON")])
        promote(duck, [("INTEGER", "JSON")])
    with lake.open() as catalog:
        reader = catalog.at()
        with pytest.raises(UnsupportedFeatureError, match="'c0' is json, and files hold it as int"):
            read_table(session, reader, reader.table("t"))
