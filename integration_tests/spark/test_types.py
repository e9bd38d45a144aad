"""Every type of DuckLake, as DuckDB writes it to files and to the catalog, and as Spark does."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ducklake_spark import Lake
from ducklake_spark.catalog import Field
from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.scan import read_table
from ducklake_spark.session import Session
from ducklake_spark.sql.failures import SPARK_ERRORS
from ducklake_spark.write import append, at_hand
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle, duck_runs
from support.reader import duck_rows
from support.spark_rows import spark_rows
from support.sql_lakes import SqlLake
from support.values import VALUES, value_rows

# Spark shows these and cannot write them.
READ_ONLY = ("TIMESTAMP_NS", "TIMETZ", "INTERVAL")
# Spark ends at microseconds, and refuses more.
WITHOUT = {"TIMESTAMP_NS": ["'1969-12-31 23:59:59.999999'", "'infinity'", "'-infinity'"]}
# Where clocks differ from UTC by no whole hours, and change in summer.
ZONES = ["UTC", "America/St_Johns"]
KINDS = tuple(VALUES)
WRITABLE = tuple(kind for kind in KINDS if kind not in READ_ONLY)


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


def create(duck: Oracle, kinds: tuple[str, ...], inlined: bool) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    duck.run(f"CALL lake.set_option('data_inlining_row_limit', {100 if inlined else 0})")
    duck.run(f"CREATE TABLE t ({columns})")
    duck.run(f"INSERT INTO t VALUES {', '.join(value_rows(kinds))}")


@pytest.fixture(autouse=True)
def values_that_spark_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, values in WITHOUT.items():
        monkeypatch.setitem(VALUES, kind, values)


def read_both(lake: LakeAddress, session: Session, name: str) -> tuple[list[Any], list[Any]]:
    with lake.open() as catalog, Oracle(lake) as duck:
        reader = catalog.at()
        table = reader.table(name)
        ours = spark_rows(read_table(session, reader, table), table.columns)
        theirs = [list(row.values()) for row in duck_rows(duck, table, name)]
        return sorted(map(repr, ours)), sorted(map(repr, theirs))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("inlined", [False, True])
def test_spark_reads_what_duckdb_writes(
    lake: LakeAddress, session: Session, inlined: bool, zone: str
) -> None:
    with Oracle(lake) as duck:
        create(duck, KINDS, inlined)
    session = session.sibling()
    session.spark.conf.set("spark.sql.session.timeZone", zone)
    ours, theirs = read_both(lake, session, "t")
    assert ours == theirs


@pytest.mark.parametrize("by", ["a job", "this process"])
def test_duckdb_reads_what_is_written(
    lake: LakeAddress, session: Session, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_hand, "_is_of_literals", lambda _: by == "this process")
    # What Spark writes for a time is a moment of a day, which ends before that.
    monkeypatch.setitem(VALUES, "TIME", [v for v in VALUES["TIME"] if "24" not in v])
    with Oracle(lake) as duck:
        create(duck, WRITABLE, False)
        duck.run("CREATE TABLE copy AS FROM t LIMIT 0")
    with lake.open() as catalog, catalog.transaction() as tx:
        append(tx, "copy", read_table(session, tx, tx.table("t")).limit(100))
    with lake.open() as catalog, Oracle(lake) as duck:
        table = catalog.at().table("copy")
        written = [list(row.values()) for row in duck_rows(duck, table, "copy")]
        original = [list(row.values()) for row in duck_rows(duck, table, "t")]
        assert sorted(map(repr, written)) == sorted(map(repr, original))
    ours, theirs = read_both(lake, session, "copy")
    assert ours == theirs


def test_types_of_text_are_shown_as_duckdb_shows_them(lake: LakeAddress, session: Session) -> None:
    columns = "iv INTERVAL, tz TIMETZ, tm TIME, u UUID"
    rows = """
        ('14 months 3 days 01:02:03.004', '10:00:01.5+02', '24:00:00', uuid()),
        ('400 days 25:00:00', '00:00:00+00', '23:59:59.000001', NULL),
        ('1 year 1 day', '10:00:00-05:30', '00:00:00.5', NULL),
        ('0 days', NULL, NULL, NULL), (NULL, NULL, NULL, NULL)
    """
    with Oracle(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")
        duck.run(f"CREATE TABLE t ({columns})", f"INSERT INTO t VALUES {rows}")
        expected = duck.rows("SELECT iv::VARCHAR, tz::VARCHAR, tm::VARCHAR, u::VARCHAR FROM t")
    with lake.open() as catalog:
        reader = catalog.at()
        found = read_table(session, reader, reader.table("t")).collect()
    assert sorted(map(repr, map(tuple, found))) == sorted(map(repr, expected))


HUGE = 1180591620717411303424  # 2^70: many digits, and a double of its own


def test_integers_of_128_bits_keep_all_digits(lake: LakeAddress, session: Session) -> None:
    odd = 2**53 + 1  # no double
    with Oracle(lake) as duck:
        duck.run(
            "CREATE TABLE t (id INTEGER, h HUGEINT, u UHUGEINT)",
            f"INSERT INTO t VALUES (1, {odd}, {HUGE}), (2, -{10**38 - 1}, NULL)",  # in the catalog
        )
    rows = [(1, Decimal(odd), Decimal(HUGE)), (2, Decimal(1 - 10**38), None)]
    assert shown(lake, session) == rows
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            query = f"SELECT 3 AS id, -{HUGE} AS h, CAST({HUGE} AS DECIMAL(38, 0)) AS u"
            append(tx, "t", session.spark.sql(query))
        for value, message in [
            (f"{odd} AS h", f"none of these is exactly {odd}"),
            ("-1 AS u", r"Cannot write -1 to column 'u' \(uint128\) of main.t: the value is out"),
        ]:
            with pytest.raises(Exception, match=message), catalog.transaction() as tx:
                append(tx, "t", session.spark.sql(f"SELECT 4 AS id, {value}"))
    assert shown(lake, session) == [*rows, (3, Decimal(-HUGE), Decimal(HUGE))]
    with Oracle(lake) as duck:
        assert duck.rows("SELECT h, u FROM t WHERE id = 3") == [(-HUGE, HUGE)]


@pytest.mark.parametrize(
    ("inlined", "message"),
    [(True, f"'h' holds the int128 {10**38}"), (False, "more than the 38 digits .* 1.5E38")],
)
def test_integers_of_39_digits_are_refused(
    lake: LakeAddress, session: Session, inlined: bool, message: str
) -> None:
    with Oracle(lake) as duck:
        duck.run(
            f"CALL lake.set_option('data_inlining_row_limit', {10 if inlined else 0})",
            f"CREATE TABLE t AS SELECT 1 AS id, {10**38 if inlined else 15 * 10**37}::HUGEINT AS h",
        )
    with pytest.raises(Exception, match=message):
        shown(lake, session)


def test_defaults_of_128_bits(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t AS SELECT 1 AS id",
            f"ALTER TABLE t ADD COLUMN h HUGEINT DEFAULT {HUGE}",
        )
    assert shown(lake, session) == [(1, Decimal(HUGE))]
    with Oracle(lake) as duck:
        duck.run(f"ALTER TABLE t ADD COLUMN i HUGEINT DEFAULT {2**53 + 1}")
    with pytest.raises(UnsupportedFeatureError, match=f"'i' have its default, {2**53 + 1}"):
        shown(lake, session)


@pytest.mark.parametrize(
    "text",
    ["", " ", "not json", "{'a': 1}", '{"a": 1', '{"a": 1} x', "1 2", "1, 2", "1], [2", "1}", "01",
     '"a\tb"', '{"a" 1}', "[1", "]", "nul"],
)  # fmt: skip
def test_what_duckdb_could_not_read_as_json_is_refused(
    lake: LakeAddress, session: Session, text: str
) -> None:
    with Oracle(lake) as duck, suppress(duckdb.ConversionException):
        assert duck.connection.execute("SELECT CAST($1 AS JSON)", [text]).fetchall() == []
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("j", "json[]")])
        frame = session.spark.createDataFrame([([text],)], "j array<string>")
        with (
            pytest.raises(Exception, match=r"'j\.element' \(json\).* not a valid json"),
            catalog.transaction() as tx,
        ):
            append(tx, "t", frame)


def test_json_of_all_kinds(lake: LakeAddress, session: Session) -> None:
    texts = [
        "null",
        " 1.5e3 ",
        '"a\\tb"',
        '{"a": {"a": [1, {}]}, "a": 2}',
        '[\n  true,\n\t"ü"\n]',
        None,
    ]
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("j", "json")])
        with catalog.transaction() as tx:
            append(tx, "t", session.spark.createDataFrame([(x,) for x in texts], "j string"))
    with Oracle(lake) as duck:
        assert sorted(map(repr, duck.rows("FROM t"))) == sorted(repr((x,)) for x in texts)


def shown(lake: LakeAddress, session: Session) -> list[tuple[Any, ...]]:
    with lake.open() as catalog:
        reader = catalog.at()
        return sorted(map(tuple, read_table(session, reader, reader.table("t")).collect()))


def test_variants_and_geometries_are_read(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        duck.run(
            "CREATE TABLE v (id INTEGER, v VARIANT)",
            "INSERT INTO v VALUES (1, 42::VARIANT), (2, {'a': [1, 2], 'b': 'x'}::VARIANT),"
            " (3, NULL)",
            "CREATE TABLE g (id INTEGER, g GEOMETRY)",
            "INSERT INTO g VALUES (1, 'POINT(1 2)'::GEOMETRY), (2, NULL)",
            "CREATE TABLE none (v VARIANT, g GEOMETRY, ns TIME_NS)",
        )
    with lake.open() as catalog:
        reader = catalog.at()
        variants = read_table(session, reader, reader.table("v")).selectExpr("id", "to_json(v)")
        assert sorted(map(tuple, variants.collect())) == [
            (1, "42"),
            (2, '{"a":[1,2],"b":"x"}'),
            (3, None),
        ]
        geometries = read_table(session, reader, reader.table("g"))
        point = bytes.fromhex("0101000000000000000000f03f0000000000000040")
        assert sorted(map(tuple, geometries.collect())) == [(1, point), (2, None)]
        assert read_table(session, reader, reader.table("none")).collect() == []


@pytest.mark.parametrize(
    "kind", ["TIMESTAMP_NS", "TIMETZ", "INTERVAL", "TIME_NS", "VARIANT", "GEOMETRY"]
)
def test_what_spark_cannot_write_is_refused_by_name(
    lake: LakeAddress, session: Session, kind: str
) -> None:
    with Oracle(lake) as duck:
        duck.run(f"CREATE TABLE t (id INTEGER, odd {kind})")
    with (
        lake.open() as catalog,
        pytest.raises(UnsupportedFeatureError, match="'odd'"),
        catalog.transaction() as tx,
    ):
        append(tx, "t", session.spark.sql("SELECT 1 AS id"))


@pytest.mark.parametrize(
    "kind",
    ["INTERVAL", "TIMETZ", "TIME_NS", "TIMESTAMP_NS", "VARIANT", "GEOMETRY", "ARRAY<TIMESTAMP_NS>"],
)
def test_types_that_spark_cannot_write_are_rejected_in_definitions(on: SqlLake, kind: str) -> None:
    on.run("CREATE TABLE t (id INT, s STRUCT<a: INT>)")
    theirs = kind.replace("ARRAY<", "").replace(">", "[]")
    on.duck_runs(f"CREATE TABLE theirs (id INT, odd {theirs})")
    before = on.address.dump()
    for statement in (
        f"CREATE TABLE u (id INT, odd {kind})",
        f"CREATE OR REPLACE TABLE t (id INT, odd STRUCT<a: {kind}>)",
        "CREATE TABLE u LIKE theirs",
        f"ALTER TABLE t ADD COLUMN odd {kind}",
        f"ALTER TABLE t ADD COLUMN s.odd {kind}",
    ):
        with pytest.raises(UnsupportedFeatureError, match=r"holds \w+, which Spark cannot write"):
            on.lake.sql(statement)
    assert on.address.dump() == before
    on.run("CREATE TABLE u (id INT)")


def test_inlined_values_that_spark_cannot_hold_harm_no_other_column(
    session: Session, tmp_path: Path
) -> None:
    address = file_lake("duckdb", tmp_path)
    duck_runs(
        address,
        "CREATE TABLE t (id INT, v VARIANT, w STRUCT(a VARIANT), big UHUGEINT, ns TIMESTAMP_NS)",
        "INSERT INTO t VALUES (1, {'a': 1}::VARIANT, {'a': 5::VARIANT}, "
        "340282366920938463463374607431768211455, '2024-01-02 03:04:05.123456789'), "
        "(2, NULL, NULL, NULL, NULL)",
    )
    with Lake.open(address.catalog, address.data_path, session.spark) as lake:
        assert lake.sql("SELECT id FROM lake.main.t ORDER BY id").collect() == [(1,), (2,)]
        assert lake.sql("SELECT count(*) FROM lake.main.t").collect() == [(2,)]
        for column in ("v", "w", "big", "ns"):
            with pytest.raises(SPARK_ERRORS, match="DL304"):
                lake.sql(f"SELECT {column} FROM lake.main.t").collect()
