"""What views of Spark's SQL show in Spark and in DuckDB: the same rows, or a line in the log."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.session import Session
from ducklake_spark.spec.names import QualifiedName
from support.oracle import Oracle
from support.sql_lakes import SqlLake, sql_lake

ROWS = """VALUES
(1, 10L, 1.5D, 12.50BD, 'a,b,c', '2024-01-31', DATE'2024-01-31', DATE'2024-02-29',
 TIMESTAMP'2024-01-31 23:30:00Z', TIMESTAMP'2024-02-29 01:15:30.5Z',
 TIMESTAMP_NTZ'2024-01-31 23:30:00.12', X'616263', true, CAST(NULL AS INT), array(1, 2, 3),
 array(1, null, 3), array('x', 'y'), map('k', 1), named_struct('a', 1, 'b', 'z')),
(2, -7L, 1e20D, -0.50BD, 'a_c', '1969-12-31', DATE'1969-12-31', DATE'2000-01-01',
 TIMESTAMP'1969-12-31 23:59:59.999Z', TIMESTAMP'2024-03-31 00:00:00Z',
 TIMESTAMP_NTZ'1900-01-01 00:00:00', X'', false, 5, array(10, 20, 30, 40), array(null),
 array('x', null), map('z', 9), named_struct('a', null, 'b', 'q')),
(3, 100L, -2.7D, 100.10BD, '', '2000-02-29', DATE'2000-02-29', DATE'2024-02-28',
 TIMESTAMP'2000-02-29 12:00:00Z', TIMESTAMP'2001-02-28 11:59:59Z',
 TIMESTAMP_NTZ'2024-02-29 12:00:00', X'ff00', null, 0, array(3, 3, 1, 2),
 CAST(array() AS ARRAY<INT>), CAST(array() AS ARRAY<STRING>), map(),
 named_struct('a', 7, 'b', null)),
(0, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
 null, null)
AS t(id, big, f, dec, s, day_text, d, d2, ts, ts2, tn, b, bo, n, arr, arrn, ars, m, st)"""


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("both")) as opened:
        opened.run(f"CREATE TABLE t AS SELECT * FROM {ROWS}")
        yield opened


def _plain(value: Any) -> Any:
    match value:
        case float() if math.isnan(value):
            return "nan"
        case bool():
            return value
        case int() | float() | Decimal():
            return float(f"{value:.12g}")
        case datetime.datetime() if value.tzinfo is not None:
            return value.astimezone(datetime.UTC).replace(tzinfo=None)
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
    return value


def _dialect(on: SqlLake, view: str) -> str:
    found = on.lake.catalog().at().find_view(QualifiedName("main", view))
    assert found is not None
    return found.dialect


def _in_both(on: SqlLake, query: str) -> tuple[list[str], list[Any], list[str], list[Any]]:
    """The names and rows of a view, of Spark and of DuckDB."""
    ours = on.lake.sql(query).toArrow()
    rows = [[_plain(value) for value in row.values()] for row in ours.to_pylist()]
    with Oracle(on.address) as duck:
        cursor = duck.connection.execute(query)
        names = [column[0] for column in cursor.description]
        theirs = [[_plain(value) for value in row] for row in cursor.fetchall()]
    return ours.column_names, rows, names, theirs


@pytest.mark.parametrize(
    "expressions",
    [
        # Indexes
        ["arr[id]", "arr[id - 1]", "arr[0]", "get(arr, id)", "get(arr, -1)", "element_at(arr, 2)",
         "element_at(arr, -1)", "m['k']", "map('a', 1)['b']", "map(1, 'x')[1]",
         "element_at(m, 'z')", "transform(arr, (x, i) -> arr[i])", "split(s, ',')[0]",
         "array(10, 20, 30, 40)[id]"],
        # Whole units, and zones
        ["datediff(HOUR, ts, ts2)", "datediff(MONTH, d, d2)", "datediff(YEAR, d2, d)",
         "datediff(QUARTER, ts, ts2)", "datediff(DAY, ts, ts2)", "datediff(WEEK, ts2, ts)",
         "datediff(SECOND, ts, ts2)", "datediff(HOUR, d, d2)", "datediff(MONTH, ts2, ts)",
         "timestampdiff(HOUR, ts, ts2)", "timestampdiff(MONTH, ts, ts2)", "datediff(d2, d)",
         "datediff(HOUR, day_text, ts)", "months_between(d2, d)",
         "from_utc_timestamp(ts, 'Asia/Tokyo')", "to_utc_timestamp(ts, 'Asia/Tokyo')",
         "from_utc_timestamp(day_text, 'Asia/Tokyo')"],
        # Casts
        ["CAST(ts AS BIGINT)", "CAST(ts AS DOUBLE)", "CAST(id AS TIMESTAMP)",
         "CAST(big AS TIMESTAMP)", "CAST(ts AS DATE)", "CAST(tn AS TIMESTAMP)",
         "CAST(dec AS INT)", "CAST(floor(dec) AS INT)", "CAST(round(dec) AS INT)",
         "CAST(ts AS STRING)", "string(ts)", "CAST(tn AS STRING)", "CAST(dec AS STRING)",
         "CAST(d AS STRING)", "CAST(bo AS STRING)", "CAST(id AS STRING)", "CAST(s AS BINARY)",
         "try_cast(s AS INT)", "try_cast('1.7' AS INT)", "try_cast(day_text AS INT)"],
        # Texts
        ["concat(s, ts)", "s || ts", "concat_ws('|', id, s, ts, d, dec, bo)",
         "md5(CAST(ts AS STRING))", "md5(concat(CAST(id AS STRING), CAST(ts AS STRING)))",
         "upper(ts)", "length(ts)", "left(s, -1)", "right(s, -1)", "left(s, id - 2)",
         "substring(s, id - 1, 2)", "substring(s, 2, -1)", "replace(s, 'a')", "length(b)",
         "reverse(arr)", "reverse(s)", "s LIKE 'a\\\\_c'", "split(s, ',', -1)",
         "floor(id) || '!'", "base64(s)", "concat('x', 1.50)", "format_string('%s-%d', s, id)"],
        # Patterns
        ["date_format(ts, \"yyyy-MM-dd'T'HH:mm:ss.SSS\")", "date_format(ts, 'yyyy/M/d')",
         "date_format(ts, \"yyyy 'week' MM\")", "date_format(d, 'MMM d, yyyy')",
         "date_format(ts, 'hh:mm a')", "to_timestamp('2024-01-31T10:11:12',"
         " \"yyyy-MM-dd'T'HH:mm:ss\")", "to_date(day_text, 'yyyy-MM-dd')", "to_date(day_text)",
         "unix_timestamp(ts)", "unix_timestamp(d)", "unix_timestamp(day_text, 'yyyy-MM-dd')",
         "unix_seconds(ts)", "dayname(d)", "monthname(ts)", "extract(SECOND FROM ts2)",
         "date_part('seconds', ts2)", "extract(HOUR FROM ts)"],
        # Days and intervals
        ["d + INTERVAL 1 MONTH", "d - INTERVAL 2 DAY", "INTERVAL 1 YEAR + d",
         "d + INTERVAL 2 HOURS", "ts + INTERVAL 1 MONTH", "date_from_unix_date(id)",
         "date_trunc('MONTH', d)", "date_trunc('DAY', tn)", "timestampadd(DAY, 1, d)",
         "timestampadd(DAY, id, '2023-09-01')",
         "make_timestamp(2024, 1, 2, 3, 4, 5.5)", "d + 1",
         "sequence(d, date_add(d, 3), INTERVAL 1 DAY)", "sequence(5, 1)", "sequence(1, id)"],
        # Lists and maps
        ["array_position(arr, 99)", "array_position(arrn, 3)", "array_position(arr, n)",
         "array_distinct(arr)", "array_distinct(array(1, 1, null, null))", "array_distinct(arrn)",
         "array_contains(array(1, null), 2)", "array_contains(arrn, 1)", "array_contains(arr, n)",
         "array_remove(arrn, 1)", "array_remove(arr, n)", "flatten(array(arr, arrn))",
         "exists(arrn, x -> x > 2)", "forall(arrn, x -> x > 0)", "forall(arr, x -> x > 0)",
         "cardinality(m)", "size(m)", "size(arr)", "map_contains_key(m, 'k')"],
        # Numbers
        ["id DIV 2", "dec / 3", "id / 100.0", "CAST(dec AS DECIMAL(18, 2)) / 3", "big / 7.5",
         "CAST(dec AS DECIMAL(38, 10)) / 7",
         "floor(id / 2)", "ceil(dec)", "isnan(f)", "sign(id)", "big % 3"],
    ],
    ids=["indexes", "units", "casts", "texts", "patterns", "days", "lists", "numbers"],
)  # fmt: skip
def test_columns(on: SqlLake, expressions: list[str]) -> None:
    named = ", ".join(f"{text} AS c{at}" for at, text in enumerate(expressions))
    on.run(f"CREATE OR REPLACE VIEW v AS SELECT id, {named} FROM t")
    assert _dialect(on, "v") == "duckdb"
    _, ours, _, theirs = _in_both(on, "SELECT * FROM v ORDER BY id")
    differences = [
        (text, [row[at] for row in ours], [row[at] for row in theirs])
        for at, text in enumerate(expressions, 1)
        if [row[at] for row in ours] != [row[at] for row in theirs]
    ]
    assert differences == []
    assert len(ours) == 4


@pytest.mark.parametrize(
    "query",
    [
        "SELECT collect_list(n) AS a, collect_set(n) AS b, array_agg(n) AS c FROM t WHERE id > 9",
        "SELECT id, collect_list(n) AS a FROM t GROUP BY id",
        "SELECT id, collect_list(n) OVER (ORDER BY id) AS a FROM t",
        "SELECT collect_list(id) FILTER (WHERE id > 9) AS a, size(collect_set(n)) AS b FROM t",
        "SELECT percentile(f, array(0.25, 0.5)) AS a, percentile(id, 0.5) AS b, median(dec) AS c, "
        "percentile_cont(0.3) WITHIN GROUP (ORDER BY dec) AS e FROM t",
        "SELECT stddev(id) AS a, variance(id) AS b, covar_pop(id, big) AS c FROM t",
        "SELECT sum(dec) / 100 AS a, sum(id) / 3.0 AS b, avg(CAST(dec AS DECIMAL(18, 2))) AS c, "
        "sum(dec) / count(*) AS e FROM t WHERE id IN (1, 2)",
        "SELECT id, sum(dec) OVER (ORDER BY id) / 7 AS a FROM t",
        "SELECT id, last_value(n) OVER (PARTITION BY bo ORDER BY id) AS a FROM t",
        "SELECT id, last_value(s, true) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND "
        "CURRENT ROW) AS a FROM t",
        "SELECT id, last_value(s) IGNORE NULLS OVER (ORDER BY id) AS a FROM t",
        "SELECT (dec - 3) / 7 AS a, dec * 1.19 / 3 AS b, sum(dec * id) / 100 AS c FROM t "
        "WHERE id IN (1, 2) GROUP BY dec",
        "SELECT avg(dec) AS a, avg(id) AS b, any_value(n) AS c FROM t WHERE id IN (1, 2)",
        "SELECT listagg(s) WITHIN GROUP (ORDER BY s) AS a FROM t",
        "SELECT count(1), sum(id) + 1, max(id) FROM t",
        "SELECT id, upper(s), id + 1 FROM t",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT xs[i] AS x FROM VALUES (array(1, 2, 3), 0) AS v(xs, i)",
        "SELECT l.arr[r.i] AS x FROM t l CROSS JOIN (SELECT 1 AS i) r",
        "WITH c AS (SELECT id AS k, CAST(ts AS STRING) AS x FROM t) SELECT k, x || '!' AS y FROM c",
        "SELECT k || 'x' AS y FROM (SELECT *, id AS k FROM t)",
        "SELECT s.st.b || '!' AS x FROM t s",
        "SELECT e.x + INTERVAL 1 DAY AS y FROM t LATERAL VIEW explode(array(d, d2)) e AS x",
    ],
)
def test_queries(on: SqlLake, query: str) -> None:
    on.run(f"CREATE OR REPLACE VIEW v AS {query}")
    assert _dialect(on, "v") == "duckdb"
    our_names, ours, their_names, theirs = _in_both(on, "SELECT * FROM v")
    assert sorted(ours, key=repr) == sorted(theirs, key=repr)
    assert our_names == their_names


def test_a_view_of_a_view(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE VIEW inner_one AS SELECT id, arr AS xs, ts AS at FROM t",
           "CREATE OR REPLACE VIEW v AS SELECT id, xs[id] AS x, concat('at ', at) AS y "
           "FROM inner_one")  # fmt: skip
    assert _dialect(on, "v") == "duckdb"
    _, ours, _, theirs = _in_both(on, "SELECT * FROM v ORDER BY id")
    assert ours == theirs


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("CAST(f AS STRING)", "cast of fraction to text"),
        ("concat(s, f)", "text of a fraction"),
        ("s || 1e20", "text of a fraction"),
        ("concat_ws(',', s, ars)", "text of a list"),
        ("CAST(m AS STRING)", "cast of map to text"),
        ("CAST(b AS STRING)", "cast of binary to text"),
        ("try_cast(s AS DATE)", "other texts for a date"),
        ("date_format(ts, 'Q')", "letter without a form"),
        ("date_format(ts, concat('yy', 'yy'))", "not written out"),
        ("to_timestamp('10 PM', 'hh a')", "without a year"),
        ("to_timestamp('2024-01-31 10:11:12.1', 'yyyy-MM-dd HH:mm:ss.S')", "without a form"),
        ("d2 - d", "use datediff"),
        ("d + make_interval(0, 1)", "interval"),
        ("sequence(d, d2, INTERVAL 1 MONTH)", "counts whole numbers"),
        ("skewness(id)", "skewness"),
        ("kurtosis(id)", "kurtosis"),
        ("corr(id, big)", "corr"),
        ("approx_count_distinct(id)", "estimates"),
        ("percentile_approx(id, 0.5)", "estimates"),
        ("7 DIV 0.3", "whole numbers only"),
        ("abs(dec) / 3", "how many digits"),
        ("hash(id)", "hash"),
        ("xxhash64(id)", "xxhash64"),
        ("to_json(st)", "to_json"),
        ("from_json(s, 'a int')", "from_json"),
        ("count(id, big)", "takes one value"),
        ("split(s, ',', 2)", "no limit"),
        ("array_except(arrn, arr)", "array_except"),
        ("arrays_zip(arr, arrn)", "arrays_zip"),
        ("typeof(id)", "other names"),
        ("current_user()", "Who asks"),
        ("max_by(id, big, 2)", "not several"),
        ("max(st)", "NULL in a struct"),
        ("format_string('%5.1f', f)", "but for %s and %d"),
        ("explode(m) AS (k, v), 1", "aliases"),
        ("get_json_object(s, '$[*].a')", "Of all parts"),
    ],
)
def test_what_stays_sparks_is_told(
    on: SqlLake, caplog: pytest.LogCaptureFixture, expression: str, says: str
) -> None:
    on.run(f"CREATE OR REPLACE VIEW v AS SELECT {expression} AS x FROM t WHERE id > 99")
    assert _dialect(on, "v") == "spark"
    assert "lake.main.v" in caplog.text
    assert says in caplog.text
    assert on.rows("SELECT count(*) FROM v")


def test_an_error_stays_one(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE VIEW v AS SELECT CAST(s AS INT) AS x FROM t WHERE id = 1")
    with Oracle(on.address) as duck, pytest.raises(Exception, match="Could not convert"):
        duck.rows("SELECT * FROM v")


def test_functions_know_the_types_of_their_parameters(on: SqlLake) -> None:
    on.run(
        "CREATE OR REPLACE FUNCTION lake.main.hours (a TIMESTAMP, b TIMESTAMP) RETURNS BIGINT "
        "RETURN datediff(HOUR, a, b)",
        "CREATE OR REPLACE FUNCTION lake.main.nth (xs ARRAY<INT>, i INT) RETURNS INT RETURN xs[i]",
        "CREATE OR REPLACE FUNCTION lake.main.cut (a DOUBLE) RETURNS INT RETURN a",
        "CREATE OR REPLACE VIEW v AS SELECT id, lake.main.hours(ts, ts2) AS h, "
        "lake.main.nth(arr, id) AS n, lake.main.cut(id + 0.7D) AS c FROM t",
    )
    _, ours, _, theirs = _in_both(on, "SELECT * FROM v ORDER BY id")
    assert ours == theirs
    with pytest.raises(UnsupportedFeatureError, match="text of a fraction"):
        on.run("CREATE FUNCTION lake.main.f (a DOUBLE) RETURN concat('a', a)")
