"""Views that DuckDB wrote return the same rows in Spark, with the same column names."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from ducklake_spark.session import Session
from support.oracle import Oracle
from support.sql_lakes import SqlLake, sql_lake

pytestmark = pytest.mark.xdist_group("views_of_duckdb")

TABLE = """CREATE TABLE t AS SELECT * FROM (VALUES
(1, 10::BIGINT, 1.5::DOUBLE, 12.50::DECIMAL(9,2), 'a,b,c', DATE '2024-01-31', DATE '2024-02-29',
 TIMESTAMP '2024-03-31 02:30:00', TIMESTAMP '2024-02-29 01:15:30.5',
 TIMESTAMPTZ '2024-10-27 00:30:00+00', 'abc'::BLOB, true, NULL::INT, [1, 2, 3], [1, NULL, 3],
 ['x', 'y'], MAP {'k': 1}, {'a': 1, 'b': 'z'}, 'x'),
(2, -7, 1e20, -0.50, 'Añ_c%', DATE '1969-12-31', DATE '2000-01-01',
 TIMESTAMP '1969-12-31 23:59:59.999', TIMESTAMP '2024-03-31 00:00:00',
 TIMESTAMPTZ '1969-12-31 23:59:59.999+00', '\\x00\\xFF'::BLOB, false, 5, [10, 20, 30, 40], [NULL],
 ['x', NULL], MAP {'z': 9}, {'a': NULL, 'b': 'q'}, 'x'),
(3, 100, -2.5, 100.10, '', DATE '2000-02-29', DATE '2024-02-28', TIMESTAMP '2000-02-29 12:00:00',
 TIMESTAMP '2001-02-28 11:59:59', TIMESTAMPTZ '2000-02-29 12:00:00+00', ''::BLOB, NULL, 0,
 [3, 3, 1, 2], []::INT[], []::VARCHAR[], MAP {}, {'a': 7, 'b': NULL}, 'y'),
(4, 3, 'nan', 0.00, ' Ab aB ', DATE '1900-03-01', DATE '1900-03-01',
 TIMESTAMP '1900-01-01 00:00:00', TIMESTAMP '2024-12-31 23:59:59.123456',
 TIMESTAMPTZ '2024-12-31 23:59:59.123456+00', 'a'::BLOB, true, -3, [0], [2, 2], ['', 'a'],
 MAP {'a': NULL}, {'a': 0, 'b': ''}, 'y'),
(5, 0, 'inf', 2.45, '12', DATE '2024-12-30', DATE '2021-01-03', TIMESTAMP '2024-12-30 00:00:00',
 TIMESTAMP '2021-01-03 10:00:00', TIMESTAMPTZ '2021-01-03 10:00:00+00', 'zz'::BLOB, false, 2,
 NULL, NULL, ['b', 'B'], NULL, NULL, NULL),
(6, -1, '-0.0', -2.45, '-7.5', DATE '2023-01-01', DATE '2024-01-01',
 TIMESTAMP '2023-01-01 05:06:07.000001', TIMESTAMP '2023-01-01 00:00:00',
 TIMESTAMPTZ '2023-01-01 00:00:00+00', NULL, false, 7, [-1, 5], [5], ['q'],
 MAP {'b': 2, 'a': 1}, {'a': 3, 'b': 'c'}, NULL),
(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
 NULL, NULL, 'x'))
v(id, big, f, dec, s, d, d2, ts, ts2, tz, b, bo, n, arr, arrn, ars, m, st, g)"""
OTHER = "CREATE TABLE u AS SELECT * FROM (VALUES (1, 'one'), (3, 'three'), (3, 'drei'), " \
    "(NULL, 'none')) v(id, w)"  # fmt: skip


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("of_duckdb")) as opened:
        opened.duck_runs(TABLE, OTHER)
        # Has hours that do not exist, and hours that exist twice.
        opened.lake.session.spark.conf.set("spark.sql.session.timeZone", "Europe/Oslo")
        yield opened


def _plain(value: Any) -> Any:
    match value:
        case bool():
            return value
        case float() if math.isnan(value):
            return "nan"
        case int() | float() | Decimal():
            return float(f"{value:.12g}")
        case datetime.datetime() if value.tzinfo is not None:
            return value.astimezone(datetime.UTC)
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
    return value


def _in_both(on: SqlLake, query: str) -> tuple[list[Any], list[Any]]:
    """The names and rows of a view of DuckDB, in Spark and in DuckDB."""
    on.duck_runs(f"CREATE OR REPLACE VIEW v AS {query}")
    table = on.lake.sql("SELECT * FROM v").toArrow()
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    with Oracle(on.address) as duck:
        duck.run("SET TimeZone = 'Europe/Oslo'")
        cursor = duck.connection.execute("SELECT * FROM v")
        names = [column[0] for column in cursor.description]
        theirs = cursor.fetchall()
    ours = sorted(([_plain(value) for value in row] for row in rows), key=repr)
    wanted = sorted(([_plain(value) for value in row] for row in theirs), key=repr)
    return [table.column_names, *ours], [names, *wanted]


@pytest.mark.parametrize(
    "expressions",
    [
        # Numbers
        ["(CASE WHEN id IN (1, 3) THEN f END)::INT", "dec::INT", "2.5::INT", "-2.5::INT",
         "2.5::DOUBLE::INT", "dec::DECIMAL(5,1)", "TRY_CAST(f AS INT)",
         "TRY_CAST(300 AS TINYINT)", "bo::INT", "dec / 3", "dec / dec", "id / 0", "f / 0",
         "-f / 0", "id // 2", "id // 0", "n % 0", "n % 3", "1 / 3.0", "dec * dec",
         "round(f, 1)", "round(1.005::DOUBLE, 2)", "round(dec, 1)", "round(-2.5::DOUBLE)",
         "ceil(f)", "floor(f)", "ceil(dec)", "trunc(f)", "sign(f)", "sign(dec)", "isnan(f)",
         "ln(id + 1)", "log(id + 1)", "log2(id + 1)", "sqrt(id)", "f > 1", "greatest(id, n)",
         "abs(dec)", "id ** 2", "bit_count(id)", "id & 2", "xor(id, 2)", "f = 'nan'::DOUBLE"],
        # Texts
        ["position('b' in s)", "strpos(s, 'b')", "s[1:2]", "substring(s from 2 for 3)",
         "substring(s, 0, 2)", "substr(s, -3, 2)", "left(s, 2)", "right(s, 2)",
         "trim(both 'a' from s)", "s LIKE '%\\_%'", "s LIKE '%!_%' ESCAPE '!'", "s LIKE '%\\%'",
         "s ILIKE 'A%'", "s SIMILAR TO 'a.*'", "regexp_matches(s, '[a-c]')",
         "regexp_extract(s, '([a-c]),(.)', 2)", "regexp_replace(s, '([a-c])', '<\\1>', 'g')",
         "concat(s, n)", "concat(s, g, id)", "concat_ws('-', s, g, n)", "s || n", "s || dec",
         "s || d", "s || ts", "s || bo", "id::VARCHAR", "dec::VARCHAR", "ts::VARCHAR", "len(s)",
         "split(s, ',')", "split_part(s, ',', -1)", "lpad(s, 5, 'x')", "repeat(s, -1)",
         "reverse(s)", "upper(s)", "upper('Straße')", "starts_with(s, 'a')", "s > g",
         "md5(s)", "hex(b)",
         "TRY_CAST(g AS INT)", "TRY_CAST(g AS DOUBLE)", "TRY_CAST('1d' AS DOUBLE)"],
        # Bytes
        ["'\\xAB\\x00z'::BLOB", "b = '\\x00\\xFF'", "b IN ('a', '\\x7A\\x7A')", "b > 'a'",
         "coalesce(b, '\\xAA')", "CASE WHEN b = 'a' THEN '\\xAB' ELSE b END", "'\\xAB'",
         "octet_length(b)", "encode(s)", "to_base64(b)", "unhex('AB')"],
        # Days and times
        ["d - DATE '2020-01-01'", "d - d2", "d + 1", "d - n", "ts - ts2", "d + INTERVAL 1 DAY",
         "d + INTERVAL 1 MONTH", "ts + INTERVAL 90 MINUTE", "ts - INTERVAL 1 YEAR",
         "d - INTERVAL '1 month'", "ts + INTERVAL ' -90 Minutes '", "d2 + '2 weeks'::INTERVAL",
         "ts2 - INTERVAL '3 quarters'", "tz + INTERVAL '36 hours'",
         "tz + INTERVAL 36 HOUR", "tz - INTERVAL 1500 MINUTE", "tz - INTERVAL (id * 90000) SECOND",
         "tz + INTERVAL 1 DAY", "tz - INTERVAL (id) WEEK", "tz - INTERVAL 1 MONTH",
         "ts + INTERVAL '5 second'",
         "date_add(d, INTERVAL 2 HOUR)", "date_trunc('month', d)", "date_trunc('hour', ts)",
         "date_trunc('week', ts)", "date_trunc('second', ts2)", "date_trunc('month', tz)",
         "date_diff('day', d, d2)", "date_diff('month', d, d2)", "date_diff('year', ts, ts2)",
         "date_diff('quarter', d, d2)", "date_diff('week', d, d2)", "date_diff('hour', ts, ts2)",
         "date_diff('minute', ts, ts2)", "date_diff('second', ts, ts2)",
         "date_diff('day', d, ts2)", "datediff('day', ts, ts2)", "last_day(d)", "ts = d",
         "extract(dow FROM d)", "extract(isodow FROM d)", "date_part('second', ts2)",
         "date_part('doy', d)", "hour(ts)", "week(d)", "monthname(d)", "dayname(d)",
         "strftime(ts, '%Y-%m-%dT%H:%M:%S.%f')", "strftime(ts, '%Hh%M o''clock, %j %b %-d')",
         "strftime(d, '%A, %d.%m.%y')", "strptime('31.03.2024 02:30', '%d.%m.%Y %H:%M')",
         "make_timestamp(2024, 3, 31, 2, 30, 1.5)", "to_timestamp(big)", "tz::DATE",
         "tz AT TIME ZONE 'Asia/Tokyo'", "TIMESTAMP '2024-03-31 02:30:00'", "year(d)",
         "TRY_CAST('2024-1-2' AS DATE)", "d = '2024-01-31'"],
        # Lists, structs and maps
        ["len(arr)", "arr[1]", "arr[0]", "arr[-1]", "arr[n]", "arr[9]", "arr[1:2]", "arr[2:]",
         "arr[:2]", "list_extract(arr, 2)", "array_slice(arr, 2, 3)", "list_contains(arrn, 1)",
         "list_contains(arrn, n)", "id IN [1, 2]", "[x + 1 for x in arr if x > 1]",
         "list_transform(arr, x -> x % 2)", "list_filter(arrn, lambda x: x > 1)", "[id, n]",
         "list_sort(arrn)", "list_max(arr)", "array_to_string(ars, ',')", "arr || arrn",
         "{'a': id, 'b': n}", "st.a", "st['b']", "st = {'a': 1, 'b': 'z'}", "m['k']",
         "cardinality(m)", "map_keys(m)", "range(3)", "arr = [1, 2, 3]"],
    ],
    ids=["numbers", "texts", "bytes", "times", "lists"],
)  # fmt: skip
def test_expressions(on: SqlLake, expressions: list[str]) -> None:
    named = ", ".join(f"{text} AS c{at}" for at, text in enumerate(expressions))
    ours, theirs = _in_both(on, f"SELECT id, {named} FROM t")
    differences = [
        (text, [row[at] for row in ours], [row[at] for row in theirs])
        for at, text in enumerate(expressions, 1)
        if [row[at] for row in ours] != [row[at] for row in theirs]
    ]
    assert differences == []
    assert len(ours) == 8


AGGREGATES = [
    "arg_max(n, id)", "arg_min(n, id)", "max_by(s, id)", "min_by(g, n)", "arg_max_null(n, id)",
    "max_by(n, id) FILTER (WHERE id < 2)", "avg(dec)", "sum(dec)", "sum(f)",
    "median(id)", "quantile_cont(id, 0.3)", "quantile_cont(f, 0.3)", "quantile_disc(id, 0.5)",
    "quantile(id, 0.25)", "count(n)", "count(*)", "count(DISTINCT g)", "any_value(g)", "max(f)",
    "min(s)", "bool_and(bo)", "count_if(bo)", "stddev(id)", "stddev_samp(n)", "var_pop(id)",
    "bit_xor(id)", "string_agg(s, ',' ORDER BY id)", "max(b)", "max(ts)", "list(g)",
]  # fmt: skip


def test_aggregates(on: SqlLake) -> None:
    named = ", ".join(f"{text} AS c{at}" for at, text in enumerate(AGGREGATES))
    ours, theirs = _in_both(on, f"SELECT g, {named} FROM t GROUP BY g")
    assert ours == theirs


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, g FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY id DESC) = 1",
        "SELECT *, row_number() OVER (PARTITION BY id ORDER BY w) AS rn FROM u QUALIFY rn = 1",
        "WITH q AS MATERIALIZED (SELECT id, w FROM u) "
        "SELECT q.* FROM q QUALIFY count(*) OVER (PARTITION BY id) > 1",
        "SELECT id FROM t WHERE id IN (SELECT id FROM u)",
        "SELECT id FROM t WHERE id NOT IN (SELECT id FROM u WHERE id > 0) AND id > 1",
        "SELECT t.id, x FROM t CROSS JOIN LATERAL (SELECT t.id + 1 AS x)",
        "SELECT t.id, q.n FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.id = t.id) q",
        "SELECT t.id, x FROM t CROSS JOIN unnest(t.arr) AS q(x)",
        "SELECT id, unnest(arr) AS x FROM t",
        "SELECT x FROM generate_series(1, 3) g(x), range(2)",
        "SELECT id, row_number() OVER (ORDER BY n DESC) AS r FROM t WHERE id IN (1, 2, 3)",
        "SELECT id, max_by(n, id) OVER (ORDER BY id) AS a FROM t",
        "SELECT g, count(*) AS n, grouping(g) AS x FROM t GROUP BY GROUPING SETS ((g), ())",
        "SELECT * FROM (SELECT g, id FROM t) PIVOT (sum(id) FOR g IN ('x', 'y'))",
        "SELECT t.id FROM t ANTI JOIN u USING (id)",
        "VALUES (1, NULL), (NULL, 'b')",
        "WITH q AS (SELECT f AS x FROM t WHERE id IN (1, 3)) SELECT x::INT AS y FROM q",
    ],
)
def test_queries(on: SqlLake, query: str) -> None:
    ours, theirs = _in_both(on, query)
    assert ours == theirs


def test_types_are_known_through_views_of_views(on: SqlLake) -> None:
    on.duck_runs("CREATE OR REPLACE VIEW w0 AS SELECT id, f, d FROM t WHERE id IN (1, 3)")
    for at in range(2):
        on.duck_runs(f"CREATE OR REPLACE VIEW w{at + 1} AS SELECT id, f / 1 AS f, d FROM w{at}")
    ours, theirs = _in_both(on, "SELECT f::INT AS i, d - DATE '2000-01-01' AS n FROM w2")
    assert ours == theirs
    assert on.rows("DESCRIBE EXTENDED v")
    ((text,),) = on.rows("SHOW CREATE TABLE v")
    assert "RINT" in text


@pytest.mark.parametrize("guarded", ["TRY_CAST('1.7' AS INT)", "ln(id)", "sqrt(id - 1)"])
def test_a_value_that_spark_reads_in_another_way_is_an_error(on: SqlLake, guarded: str) -> None:
    on.duck_runs(f"CREATE OR REPLACE VIEW v AS SELECT {guarded} AS x FROM t")
    with pytest.raises(Exception, match=r"TRY_CAST of a text|logarithm|square root"):
        on.rows("SELECT * FROM v")
