"""The text of a view in the other's dialect."""

from __future__ import annotations

import logging
import uuid

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


@pytest.mark.parametrize("query", ["SELECT (a FROM t", "SELECT TRANSFORM(a) USING 'cat' FROM t"])
def test_what_has_no_portable_form_stays_and_is_told(
    query: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert portable(query, "lake", "lake.s.v") == (query, "spark")
    assert "lake.s.v" in caplog.text


def view(text: str, dialect: str = "duckdb", **tags: str) -> View:
    return View(1, uuid.uuid4(), 1, QualifiedName("s", "v"), text, dialect, (), tags)


def test_back() -> None:
    assert spark_text(view("SELECT 1", **{SPARK_TEXT: "SELECT 2"})) == "SELECT 2"
    assert spark_text(view("FROM t |> WHERE a", "spark")) == "FROM t |> WHERE a"
    assert spark_text(view('SELECT "a b"::VARCHAR FROM t')) == "SELECT CAST(`a b` AS STRING) FROM t"


def test_what_has_no_way_back_says_so() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"s\.v.*was written for DuckDB"):
        spark_text(view("SELECT (("))
