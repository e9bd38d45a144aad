"""The text of a view in the other's dialect."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence

import duckdb
import pytest

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.model import View
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.sql.views import SPARK_TEXT, portable, spark_text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT `a b` FROM lake.s.t", 'SELECT "a b" FROM s.t'),
        ("SELECT lake.s.t.a FROM LAKE.s.t", "SELECT s.t.a FROM s.t"),
        ("SELECT a FROM other.s.t", "SELECT a FROM other.s.t"),
        ('SELECT "text" AS x -- c', "SELECT 'text' AS x"),
        ("SELECT 'it''s' AS x, 'a' 'b' AS y", "SELECT 'it''s' AS x, 'ab' AS y"),
        ("SELECT collect_list(a) FROM t", "SELECT LIST(a) FROM t"),
        ("SELECT x.a FROM lake.s.t VERSION AS OF 3 x",
         "SELECT x.a FROM s.t AS x AT (VERSION => 3)"),
        ("FROM s.t FOR SYSTEM_TIME AS OF '2024-01-01' AS x JOIN s.u FOR VERSION AS OF 2 USING (a)",
         "SELECT * FROM s.t AS x AT (TIMESTAMP => '2024-01-01') "
         "JOIN s.u AT (VERSION => 2) USING (a)"),
    ],
)  # fmt: skip
def test_portable(query: str, expected: str) -> None:
    text, dialect = portable(query, "lake", "lake.s.v")
    assert dialect == "duckdb"
    assert duckdb.extract_statements(text)
    if "LIST" not in expected:
        assert text == expected
    assert "lake" not in text.lower()


def test_lambdas_are_written_as_duckdb_2_reads_them() -> None:
    """DuckDB 2 rejects the arrow."""
    text, _ = portable("SELECT transform(xs, x -> x + 1) AS ys FROM t", "lake", "lake.s.v")
    assert text == "SELECT LIST_TRANSFORM(xs, LAMBDA x : x + 1) AS ys FROM t"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (a FROM t",
        "SELECT TRANSFORM(a) USING 'cat' FROM t",
        "SELECT stack(2, a, b) FROM t",
        "SELECT explode(m) AS (k, v) FROM t",
        "SELECT k, v FROM t LATERAL VIEW explode(m) e AS k, v",
        "SELECT k, v FROM t LATERAL VIEW OUTER posexplode(xs) e AS k, v",
        "SELECT filter(xs, (x, i) -> exists(xs, i -> i > 1)) FROM t",
    ],
)
def test_what_has_no_portable_form_stays_and_is_told(
    query: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert portable(query, "lake", "lake.s.v") == (query, "spark")
    assert "lake.s.v" in caplog.text


def test_functions_that_duckdb_may_lack_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        query = "SELECT bround(a), map_entries(m), max_by(a, b), lake.s.own(a) FROM t"
        text, dialect = portable(query, "lake", "lake.s.v")
    assert dialect == "duckdb"
    assert text == "SELECT BROUND(a), MAP_ENTRIES(m), ARG_MAX_NULL(a, b), lake.s.own(a) FROM t"
    # dbt repeats it if other tests of the process have loaded the adapter.
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("ducklake_spark")]
    assert ours == [
        "DuckDB will not be able to use the view lake.s.v unless it has a function bround there."
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("xs[i]", "xs[i + 1]"),
        ("m[i]", "m[i]"),
        ("a || ts", "a || CAST(CAST(ts AS TIMESTAMP) AS TEXT)"),
        ("CAST(n AS INT)", "CAST(TRUNC(n) AS INT)"),
        ("CAST(a AS INT)", "CAST(a AS INT)"),
        ("CAST(ts AS BIGINT)", "CAST(FLOOR(EPOCH_US(ts) / 1000000) AS BIGINT)"),
        ("date_format(ts, \"yyyy'T'HH.SSS\")", "STRFTIME(CAST(ts AS TIMESTAMP), '%YT%H.%g')"),
        ("reverse(xs)", "LIST_REVERSE(xs)"),
        ("reverse(a)", "REVERSE(a)"),
    ],
)
def test_types_decide(expression: str, expected: str) -> None:
    types = {"xs": "array<int>", "m": "map<int,string>", "i": "int", "a": "string",
             "ts": "timestamp", "n": "double"}  # fmt: skip
    asked: list[list[str]] = []

    def columns(parts: Sequence[str]) -> Mapping[str, str]:
        asked.append(list(parts))
        return types

    found = portable(f"SELECT {expression} AS x FROM s.t", "lake", "lake.s.v", columns)
    assert found == (f"SELECT {expected} AS x FROM s.t", "duckdb")
    assert asked
    assert set(map(tuple, asked)) == {("s", "t")}


@pytest.mark.parametrize(
    "expression",
    ["xs[i]", "xs[0]", "a || b", "CAST(a AS INT)", "CAST(a AS STRING)", "reverse(a)", "a DIV b",
     "sequence(a, b)", "a + INTERVAL 1 DAY"],
)  # fmt: skip
def test_what_hangs_on_types_that_nobody_knows_stays(expression: str) -> None:
    assert portable(f"SELECT {expression} AS x FROM t", "lake", "lake.s.v")[1] == "spark"


def test_the_first_columns_have_sparks_names() -> None:
    text, _ = portable("SELECT count(1), a FROM t", "lake", "v", names=["count(1)", "a"])
    assert text == 'SELECT COUNT(1) AS "count(1)", a FROM t'
    text, _ = portable("VALUES (1, 'a')", "lake", "v", names=["col1", "col2"])
    assert text == "SELECT * FROM (VALUES (1, 'a')) AS _values(col1, col2)"


def test_functions_that_nobody_has_compared_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert portable("SELECT localtime() AS x", "lake", "lake.s.v")[1] == "duckdb"
    assert "Nobody has compared what Spark and DuckDB make of localtime" in caplog.text


def view(text: str, dialect: str = "duckdb", **tags: str) -> View:
    return View(1, uuid.uuid4(), 1, QualifiedName("s", "v"), text, dialect, (), tags)


def test_back() -> None:
    assert spark_text(view("SELECT 1", **{SPARK_TEXT: "SELECT 2"}), "lake") == "SELECT 2"
    assert spark_text(view("FROM t |> WHERE a", "spark"), "lake") == "FROM t |> WHERE a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('SELECT "a b"::VARCHAR FROM t', "SELECT CAST(`a b` AS STRING) FROM t"),
        ("SELECT '{DUCKLAKE_CATALOG}', {DUCKLAKE_CATALOG}.s.t.a FROM {DUCKLAKE_CATALOG}.s.t",
         "SELECT '{DUCKLAKE_CATALOG}', `my lake`.s.t.a FROM `my lake`.s.t"),
        ("SELECT count_star(), count() OVER () FROM t ORDER BY COLUMNS(*) DESC",
         "SELECT COUNT(*), COUNT(*) OVER () FROM t ORDER BY ALL DESC"),
        ("SELECT d + to_days(CAST(trunc(CAST(1 AS DOUBLE)) AS INTEGER)), to_weeks(n) FROM t",
         "SELECT (CAST(d AS TIMESTAMP_NTZ) + MAKE_DT_INTERVAL(CAST(CAST(CAST(CAST(1 AS DOUBLE) AS "
         "BIGINT) AS INT) AS INT))), MAKE_DT_INTERVAL(CAST(n AS INT) * 7) FROM t"),
        ("SELECT date_add(d + to_hours(2), to_months(3)), to_seconds(1.5) FROM t",
         "SELECT (CAST(((CAST(d AS TIMESTAMP_NTZ) + MAKE_DT_INTERVAL(0, CAST(2 AS INT)))) AS "
         "TIMESTAMP_NTZ) + MAKE_YM_INTERVAL(0, CAST(3 AS INT))), "
         "MAKE_DT_INTERVAL(0, 0, 0, CAST(1.5 AS DECIMAL(18, 6))) FROM t"),
        ("SELECT xs[1], xs[-1], xs[i], xs[i::INT], m['k'], xss[1][2] FROM t",
         "SELECT TRY_ELEMENT_AT(xs, 1), TRY_ELEMENT_AT(xs, (-1)), "
         "TRY_ELEMENT_AT(xs, NULLIF(i, 0)), TRY_ELEMENT_AT(xs, NULLIF((CAST(i AS INT) + 0), 0)), "
         "TRY_ELEMENT_AT(m, 'k'), "
         "TRY_ELEMENT_AT(TRY_ELEMENT_AT(xss, 1), 2) FROM t"),
    ],
)  # fmt: skip
def test_what_duckdb_keeps(text: str, expected: str) -> None:
    types = {"a b": "int", "d": "date", "n": "int", "i": "int", "xs": "array<int>",
             "m": "map<string,int>", "xss": "array<array<int>>"}  # fmt: skip
    assert spark_text(view(text), "my lake", lambda _: types) == expected


@pytest.mark.parametrize("text", ["SELECT ((", "SELECT MAP {1: 2}"])
def test_what_has_no_way_back_says_so(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"s\.v.*was written for DuckDB"):
        spark_text(view(text), "lake")
