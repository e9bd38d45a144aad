"""Queries that ask for parts of structs, lists and maps in files of DuckDB's and of Spark's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ducklake_spark.session import Session
from support.sql_lakes import Rows, SqlLake, sql_lake

ROW = "{'a': 1, 'b': 'x', 'i': {'x': 2, 'y': 3}}, [{'a': 4, 'b': 'p'}], MAP {'k': {'a': 7, 'b': 8}}"


@pytest.fixture(scope="module", params=["duckdb", "spark"])
def on(
    request: pytest.FixtureRequest, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("nested")) as opened:
        opened.duck_runs(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (s STRUCT(a INTEGER, b VARCHAR, i STRUCT(x INTEGER, y INTEGER)), "
            "l STRUCT(a INTEGER, b VARCHAR)[], m MAP(VARCHAR, STRUCT(a INTEGER, b INTEGER)))",
            f"INSERT INTO t SELECT {ROW}",
        )
        if request.param == "spark":
            opened.run("CREATE OR REPLACE TABLE t AS SELECT * FROM t")
        yield opened


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT s.a FROM t", [(1,)]),
        ("SELECT s.a FROM t WHERE s.a = 1", [(1,)]),
        ("SELECT s.a FROM t WHERE s IS NOT NULL", [(1,)]),
        ("SELECT s.i.x FROM t WHERE s.i IS NOT NULL", [(2,)]),
        ("SELECT count(*) FROM t WHERE s IS NULL", [(0,)]),
        ("SELECT coalesce(s.a, 5), s IS NULL FROM t", [(1, False)]),
        ("SELECT l.a, l[0].a FROM t", [([4], 4)]),
        ("SELECT transform(l, x -> x.a) FROM t", [([4],)]),
        ("SELECT e.a FROM t LATERAL VIEW explode(l) x AS e", [(4,)]),
        ("SELECT m['k'].a, map_values(m).a FROM t", [(7, [7])]),
        ("SELECT sum(s.a) FROM t GROUP BY s.b", [(1,)]),
        ("SELECT x.s.a FROM t x JOIN t y ON x.s.b = y.s.b", [(1,)]),
    ],
)
def test_parts_have_their_values(on: SqlLake, query: str, expected: Rows) -> None:
    assert on.rows(query) == expected


def test_changes_by_parts(on: SqlLake) -> None:
    assert on.run("UPDATE t SET s.b = 'new' WHERE s.a = 1").rows_updated == 1
    assert on.duck("SELECT s, l, m FROM t") == [
        (
            {"a": 1, "b": "new", "i": {"x": 2, "y": 3}},
            [{"a": 4, "b": "p"}],
            {"k": {"a": 7, "b": 8}},
        )
    ]
    on.run("ALTER TABLE t ADD COLUMN s.more INT DEFAULT 5")
    assert on.rows("SELECT s.a, s.more FROM t") == [(1, 5)]
    assert on.run("DELETE FROM t WHERE s.i.x = 2").rows_deleted == 1
