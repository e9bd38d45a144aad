"""Values are converted to the types of their columns as spark.sql.storeAssignmentPolicy says."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.errors import DuckLakeError, InvalidDefinitionError
from ducklake_spark.session import Session
from ducklake_spark.write import append
from support.lakes import file_lake
from support.oracle import Oracle
from support.sql_lakes import SqlLake, sql_lake

POLICY = "spark.sql.storeAssignmentPolicy"
COLUMNS = """i int, b bigint, f float, d double, m decimal(10, 2), dt date, at timestamp_ntz,
    tz timestamp, bo boolean, s string, bi binary, st struct<x: int, at: timestamp_ntz>,
    l array<int>, mp map<int, decimal(4, 1)>"""


@pytest.fixture(scope="module")
def shared(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("assign")) as opened:
        opened.run(f"CREATE TABLE e ({COLUMNS})", "CREATE TABLE k (id int, ts timestamp_ntz)")
        opened.duck_runs("CREATE TABLE u (u8 UTINYINT, u64 UBIGINT, h HUGEINT)")
        yield opened


@pytest.fixture
def on(shared: SqlLake) -> Iterator[SqlLake]:
    """Empty tables and the default policy for each test."""
    for table in ("e", "k", "u"):
        shared.run(f"TRUNCATE TABLE {table}")
    shared.lake.sql("SET TIME ZONE 'Europe/Berlin'")
    yield shared
    shared.lake.session.spark.conf.unset(POLICY)


CONVERTED = [
    ("at", "'2026-01-01'", "2026-01-01 00:00:00"),
    ("at", "' 2026-01-01T10:20:30.5 '", "2026-01-01 10:20:30.5"),
    ("tz", "'2026-01-01T00:00:00+02:00'", "2025-12-31 22:00:00+00"),
    ("tz", "timestamp_ntz'2026-07-01 12:00:00'", "2026-07-01 10:00:00+00"),
    ("dt", "'2026-02-28'", "2026-02-28"),
    ("dt", "timestamp_ntz'2026-01-01 23:59:59'", "2026-01-01"),
    ("i", "' -12 '", "-12"),
    ("i", "1.50 + 0.50", "2"),
    ("i", "-7e0", "-7"),
    ("b", "-9223372036854775808d", "-9223372036854775808"),
    ("b", "CAST(9223372036854775807 AS decimal(38, 18))", "9223372036854775807"),
    ("f", "double('inf')", "inf"),
    ("d", "'-Infinity'", "-inf"),
    ("d", "'nan'", "nan"),
    ("m", "'12.345'", "12.35"),
    ("m", "1.005d", "1.01"),
    ("bo", "'yes'", "true"),
    ("s", "1.5", "1.5"),
    ("bi", "'ab'", "ab"),
    ("st", "named_struct('AT', '2026-01-01', 'x', '7')", "{'x': 7, 'at': '2026-01-01 00:00:00'}"),
    ("l", "array('1', NULL)", "[1, NULL]"),
    ("mp", "map('1', '2.5')", "{1=2.5}"),
]


def test_values_that_fit_are_converted(on: SqlLake) -> None:
    columns = dict.fromkeys(column for column, _, _ in CONVERTED)
    of = {c: [(value, text) for name, value, text in CONVERTED if name == c] for c in columns}
    for at in range(max(map(len, of.values()))):
        given = {c: values[at][0] for c, values in of.items() if len(values) > at}
        on.run(f"INSERT INTO e ({', '.join(given)}) SELECT {', '.join(given.values())}")
    on.run("INSERT INTO e (at) VALUES ('1999-01-01')")
    of["at"].append(("", "1999-01-01 00:00:00"))
    with Oracle(on.address) as duck:
        for column, values in of.items():
            found = duck.rows(f'SELECT "{column}"::VARCHAR FROM e WHERE "{column}" IS NOT NULL')
            assert sorted(found) == sorted((text,) for _, text in values), column


FRACTION = "the value has a fractional part"
RANGE = "the value is out of range"
INVALID = "it is not a valid"
REJECTED = [
    ("e", "i", "1.5", "1.5", FRACTION),
    ("e", "i", "-0.1d", "-0.1", FRACTION),
    ("e", "b", "0.000000000000000000000000000001", "0.000000000000000000000000000001", FRACTION),
    ("e", "b", "4611686018427387903.5", "4611686018427387903.5", FRACTION),
    ("e", "i", "3000000000", "3000000000", RANGE),
    ("e", "i", "2147483648f", "2.14748365E9", RANGE),
    ("e", "i", "double('nan')", "NaN", RANGE),
    ("e", "i", "float('-inf')", "-Infinity", RANGE),
    ("e", "b", "1e20d", "1.0E20", RANGE),
    ("e", "b", "9999999999999999999", "9999999999999999999", RANGE),
    ("e", "b", "9223372036854775808d", "9.223372036854776E18", RANGE),
    ("e", "f", "1e300d", "1.0E300", RANGE),
    ("e", "m", "123456789.1", "123456789.1", RANGE),
    ("e", "m", "double('nan')", "NaN", RANGE),
    ("e", "i", "'1.5'", "'1.5'", INVALID),
    ("e", "i", "''", "''", INVALID),
    ("e", "d", "'1e999'", "'1e999'", INVALID),
    ("e", "m", "'12,5'", "'12,5'", INVALID),
    ("e", "at", "'2026-02-30'", "'2026-02-30'", INVALID),
    ("e", "bo", "'maybe'", "'maybe'", INVALID),
    ("e", "st", "named_struct('x', 1.5)", "1.5 to column 'st.x'", FRACTION),
    ("e", "l", "array(1.0, 2.5)", "2.5 to column 'l.element'", FRACTION),
    ("e", "mp", "map(1, 1000.0)", "1000.0 to column 'mp.value'", RANGE),
    ("e", "mp", "map('x', 1)", "'x' to column 'mp.key'", INVALID),
    ("u", "u8", "256", "256", RANGE),
    ("u", "u8", "-1", "-1", RANGE),
    ("u", "u8", "0.5", "0.5", FRACTION),
    ("u", "u64", "-1e0", "-1", RANGE),
    ("u", "h", "1.5", "1.5", FRACTION),
    ("u", "h", "1.5d", "1.5", FRACTION),
    ("u", "h", "'1.5'", "'1.5'", INVALID),
    ("u", "h", "1e39d", "1.0E39", RANGE),
]  # fmt: skip


@pytest.mark.parametrize(("table", "column", "value", "shown", "reason"), REJECTED)
def test_values_that_do_not_fit_are_rejected_by_name(
    on: SqlLake, table: str, column: str, value: str, shown: str, reason: str
) -> None:
    before = on.newest
    with pytest.raises(DuckLakeError) as caught:
        on.run(f"INSERT INTO {table} ({column}) SELECT {value}")
    message = caught.value.message
    assert message.startswith(f"Cannot write {shown}")
    assert f" to column '{column}" in message
    assert reason in message
    assert on.newest == before


CHANGES = [
    "INSERT INTO k SELECT 9, {value}",
    "INSERT INTO k BY NAME SELECT {value} AS ts",
    "INSERT OVERWRITE k SELECT 9, {value}",
    "INSERT INTO k REPLACE WHERE id = 1 SELECT 1, {value}",
    "INSERT INTO k REPLACE ONLY WHERE id = 1 SELECT 1, {value}",
    "UPDATE k SET ts = {value} WHERE id = 1",
    "MERGE INTO k USING (SELECT 1 AS id, {value} AS ts) s ON k.id = s.id "
    "WHEN MATCHED THEN UPDATE SET *",
    "MERGE INTO k USING (SELECT 9 AS id, {value} AS ts) s ON k.id = s.id "
    "WHEN NOT MATCHED THEN INSERT *",
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_statement_honours_the_policy(on: SqlLake, change: str) -> None:
    on.run("INSERT INTO k VALUES (1, '2020-01-01')")
    before = on.newest, on.same("SELECT * FROM k")
    with pytest.raises(DuckLakeError, match=r"'soon' to column 'ts'.*not a valid timestamp"):
        on.run(change.format(value="'soon'"))
    on.lake.sql(f"SET {POLICY} = strict")
    with pytest.raises(InvalidDefinitionError, match=r"'ts'.*string.*STRICT"):
        on.run(change.format(value="'2026-01-01'"))
    assert (on.newest, on.same("SELECT * FROM k")) == before
    on.lake.sql(f"SET {POLICY} = LEGACY")
    on.run(change.format(value="'soon'"))
    assert on.duck("SELECT count(*) FROM k WHERE ts IS NULL") == [(1,)]
    on.lake.sql(f"SET {POLICY} = ANSI")
    on.run(change.format(value="'2026-01-01'").replace("9", "8"))  # not matched again
    assert on.same("SELECT count(*) FROM k WHERE ts = '2026-01-01'") == [(1,)]


def test_strict_allows_what_spark_calls_safe(on: SqlLake) -> None:
    on.lake.sql(f"SET {POLICY} = STRICT")
    for column, value in [("b", "1"), ("d", "1.5f"), ("m", "1Y"), ("at", "date'2026-01-01'"),
                          ("s", "true"), ("tz", "timestamp_ntz'2026-01-01 00:00:00'"),
                          ("b", "CAST(1 AS decimal(18, 0))"), ("l", "array(1S)")]:  # fmt: skip
        on.run(f"INSERT INTO e ({column}) SELECT {value}")
    for column, value in [("i", "1L"), ("f", "1d"), ("m", "1"), ("d", "1.5"), ("i", "1.5"),
                          ("dt", "timestamp'2026-01-01 00:00:00'"), ("i", "'1'"),
                          ("l", "array(1L)"),
                          ("st", "named_struct('x', 1L)"), ("mp", "map(1L, 1Y)")]:  # fmt: skip
        with pytest.raises(InvalidDefinitionError, match="STRICT"):
            on.run(f"INSERT INTO e ({column}) SELECT {value}")


def test_legacy_writes_null_and_cuts_fractions(on: SqlLake) -> None:
    on.lake.sql(f"SET {POLICY} = LEGACY")
    on.run("INSERT INTO e (i, b, bo, st) SELECT -1.9, 1e20d, 1, named_struct('x', 'no')")
    assert on.same("SELECT i, b, bo, st.x FROM e") == [(-1, None, True, None)]


def test_a_literal_in_a_partition_clause_is_converted(on: SqlLake) -> None:
    on.run(
        "CREATE OR REPLACE TABLE p (id int, d date) PARTITIONED BY (d)",
        "INSERT INTO p PARTITION (d = '2026-01-01') SELECT 1",
        "INSERT OVERWRITE p PARTITION (d = '2026-01-01') SELECT 2",
    )
    assert on.same("SELECT id, CAST(d AS string) FROM p") == [(2, "2026-01-01")]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_frames_are_checked_whatever_the_ansi_mode(
    session: Session, tmp_path: Path, ansi: str
) -> None:
    spark = session.sibling().spark
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    good: list[tuple[Any, ...]] = [("1", Decimal("2.00"), 3.0), (None, None, None)]
    schema = "i string, b decimal(10, 2), h double"
    bad = [("x", None, None), (None, Decimal("2.01"), None), (None, None, float("nan"))]
    address = file_lake("sqlite", tmp_path)
    with address.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("i", "int32"), Field("b", "int64"), Field("h", "int128")])
        with catalog.transaction() as tx:
            append(tx, "t", spark.createDataFrame(good, schema))
        newest = catalog.snapshot().id
        for row in bad:
            with (
                pytest.raises(Exception, match=r"Cannot write .* to column '[ibh]'"),
                catalog.transaction() as tx,
            ):
                append(tx, "t", spark.createDataFrame([*good, row], schema))
        assert catalog.snapshot().id == newest
    with Oracle(address) as duck:
        assert duck.rows("FROM t") == [(1, 2, 3), (None, None, None)]


def test_times_are_rounded_to_the_digits_of_their_columns(on: SqlLake) -> None:
    values = [
        *("2024-01-01 23:59:59.9", "2024-01-01 00:00:00.5", "2024-01-01 00:00:00.4999"),
        *("2024-03-31 02:30:00.0015", "2024-01-01 00:00:00.001499", "1960-01-01 23:59:59.5"),
        *("1960-01-01 23:59:59.500001", "1960-01-01 00:00:00.0005", "1960-01-01 00:00:00.000501"),
    ]
    on.duck_runs(
        "CREATE OR REPLACE TABLE w (id INT, s TIMESTAMP_S, ms TIMESTAMP_MS, l TIMESTAMP_S[])"
    )
    listed = ", ".join(
        f"({at}, {time}, {time}, array({time}))"
        for at, time in enumerate(f"timestamp_ntz'{value}'" for value in values)
    )
    on.run(f"INSERT INTO w VALUES {listed}")
    found = on.same("SELECT id, s, ms, l FROM w")
    listed = ", ".join(f"({at}, TIMESTAMP '{value}')" for at, value in enumerate(values))
    wanted = f"SELECT id, v::TIMESTAMP_S, v::TIMESTAMP_MS, [v::TIMESTAMP_S] FROM (VALUES {listed})"
    assert found == on.duck(f"{wanted} t(id, v)")
    assert on.same("SELECT id FROM w WHERE s = TIMESTAMP '2024-01-02 00:00:00'") == [(0,)]
    on.run("UPDATE w SET s = timestamp_ntz'2024-01-01 00:00:01.5' WHERE id = 0")
    assert on.same("SELECT CAST(s AS STRING) FROM w WHERE id = 0") == [("2024-01-01 00:00:02",)]
