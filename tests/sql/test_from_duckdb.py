"""What DuckDB stores that has no exact form in Spark is rejected, and the message names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from sqlglot.errors import SqlglotError

from ducklake_spark.sql.from_duckdb import for_spark

TYPES = {
    "id": "int", "n": "int", "f": "double", "dec": "decimal(9,2)", "s": "string", "d": "date",
    "ts": "timestamp_ntz", "tz": "timestamp", "b": "binary", "arr": "array<int>",
    "st": "struct<a:int>",
}  # fmt: skip


def _columns(parts: Sequence[str]) -> Mapping[str, str] | None:
    return TYPES if parts[-1] == "t" else None


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ('CAST(s AS "BLOB")', "a cast to BLOB of another value than text"),
        ("CAST('\\xZZ' AS \"BLOB\")", "is not a BLOB"),
        ("coalesce(unknown, '\\xAA')", "type of '\\\\xAA' is unknown"),
        ("CAST(ts AS TIME)", "a cast to TIME"),
        ("CAST(ts AS TIMESTAMP_S)", "a cast to TIMESTAMP_S"),
        ("CAST(id AS HUGEINT)", "a cast to"),
        ("CAST(f AS VARCHAR)", "the text of a value of the type fraction"),
        ("(s || f)", "the text of a value of the type fraction"),
        ("concat(s, tz)", "the text of a value of the type timestamp"),
        ("CAST(st AS VARCHAR)", "the text of a value of the type struct"),
        ("CAST(unknown AS INTEGER)", "the type of unknown is unknown"),
        ("CAST(f AS DECIMAL(9, 2))", "rounds a binary fraction"),
        ("TRY_CAST(s AS DATE)", "reads fewer texts"),
        ("CAST('infinity' AS \"DATE\")", "a date or time of such a text"),
        ("printf('%s', s)", "the function printf"),
        ("format('{}', s)", "the function format"),
        ("corr(id, f)", "the function corr"),
        ("levenshtein(s, 'a')", "the function levenshtein"),
        ("s COLLATE NOCASE", "COLLATE NOCASE"),
        ("regexp_matches(s, 'a', 'i')", "a pattern with options"),
        ("regexp_extract(s, 'a', main.list_value('x'))", "several groups"),
        ("split(s, '')", "splits at a computed or empty text"),
        ("split_part(s, '', 1)", "splits at a computed or empty text"),
        ("left(s, (id - 3))", "may be negative"),
        ("substring(s, 2, -1)", "may be 0 or negative"),
        ("(s ~~~ 'a*')", "GLOB"),
        ("(dec // 2)", "a quotient //"),
        ("arr[1:3:2]", "a slice"),
        ("arr[-2:]", "a slice"),
        ("s[1]", "s\\["),
        ("list_transform(arr, (main.row(x, i) -> (x + i)))", "the place in the list"),
        ("list_distinct(arr)", "the function array_distinct"),
        ("max(st)", "the order of lists and structs"),
        ("(st < st)", "the order of lists and structs"),
        ("quantile_cont(id, main.list_value(0.1))", "one share"),
        ("main.timezone('Asia/Tokyo', ts)", "AT TIME ZONE Asia/Tokyo"),
        ("(tz - tz)", "an interval"),
        ("(unknown - other)", "the type of unknown is unknown"),
        ("date_trunc('century', d)", "CENTURY|century"),
        ("main.date_part('epoch', ts)", "epoch"),
        ("date_diff('microsecond', ts, ts)", "microseconds"),
        ("strftime(d, '%U')", "%U"),
        ("list(DISTINCT id)", "distinct"),
        ("(id = ANY(SELECT n FROM t))", "can be NULL here"),
    ],
)
def test_an_expression_without_a_form_is_rejected(expression: str, names: str) -> None:
    with pytest.raises(SqlglotError, match=names):
        for_spark(f"SELECT {expression} AS x FROM t", "lake", _columns)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("(SELECT 1 AS a) UNION ALL BY NAME (SELECT 2 AS a)", "UNION BY NAME"),
        ("SELECT * REPLACE ((id + 1) AS id) FROM t", r"\* REPLACE"),
        ("SELECT COLUMNS('i') FROM t", "columns|COLUMNS"),
        ("SELECT DISTINCT ON (s) s, id FROM t", "DISTINCT ON"),
        ("SELECT 1 FROM t ASOF INNER JOIN t AS u ON ((t.id >= u.id))", "ASOF JOIN"),
        ("SELECT 1 FROM t POSITIONAL JOIN t AS u", "POSITIONAL JOIN"),
        ("SELECT 1 FROM t LEFT JOIN unnest(t.arr) AS q(x) ON ((1 = 1))", "LEFT JOIN of unnest"),
        ("SELECT unnest(arr), unnest(arr) FROM t", "several lists"),
        ("SELECT id FROM t WHERE (NOT (id <= ANY(SELECT 3)))", "comparison with ANY"),
        ("SELECT id FROM t WHERE ((NOT (id = ANY(SELECT 3))) OR (n = 1))", "can be NULL here"),
        ("SELECT x FROM generate_series(3, 1) AS g(x)", "a series that may be empty"),
        ("SELECT id FROM t LIMIT (40) %", "LIMIT of a share"),
        ("SELECT id FROM t QUALIFY (row_number() OVER () = 1) LIMIT 1", "QUALIFY together"),
        ("SELECT sum(id) OVER (ORDER BY id GROUPS 1 PRECEDING) FROM t", "GROUPS"),
    ],
)
def test_a_clause_without_a_form_is_rejected(query: str, names: str) -> None:
    with pytest.raises(SqlglotError, match=names):
        for_spark(query, "lake", _columns)
