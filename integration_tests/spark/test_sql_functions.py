"""Functions of a lake: kept in it, called by Spark, and macros for DuckDB."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import (
    AlreadyExistsError,
    CommitConflictError,
    DuckLakeError,
    NotFoundError,
    UnsupportedFeatureError,
)
from support.sql_lakes import SqlLake


@pytest.fixture
def on(on: SqlLake) -> SqlLake:
    on.run(
        "CREATE TABLE t AS SELECT id, concat('n', id) AS name FROM range(4)",
        "CREATE FUNCTION lake.main.plus (a BIGINT, b BIGINT DEFAULT 10) RETURNS BIGINT "
        "RETURN a + b",
        "CREATE FUNCTION lake.main.`odd one` (x STRING DEFAULT 'it''s') RETURN upper(x)",
        "CREATE FUNCTION lake.main.far (a BIGINT) RETURNS DOUBLE COMMENT 'twice' NOT DETERMINISTIC "
        "RETURN SELECT lake.main.plus(lake.main.plus(a, 1)) / 2",
    )
    return on


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT lake.main.plus(1, 2) AS x", [(3,)]),
        ("SELECT lake.main.plus(1) AS x", [(11,)]),
        ("SELECT lake.main.far(3) AS x", [(7.0,)]),
        ("SELECT lake.main.`odd one`('a') AS x, lake.main.`odd one`() AS y", [("A", "IT'S")]),
        ("SELECT id FROM t WHERE LAKE.Main.PLUS(id, id) >= 4 AND id < lake.main.plus(1, 2)",
         [(2,)]),
        ("SELECT sum(lake.main.plus(id, 0)) AS s FROM (SELECT * FROM t) GROUP BY name = 'n1'",
         [(1,), (5,)]),
        ("SELECT a.id FROM t a JOIN t b ON lake.main.plus(a.id, 1) = b.id WHERE b.id = 3", [(2,)]),
    ],
)  # fmt: skip
def test_queries(on: SqlLake, query: str, expected: list[tuple[object, ...]]) -> None:
    assert on.rows(query) == expected
    assert on.duck(query.replace("`", '"')) == expected


def test_statements_and_views(on: SqlLake) -> None:
    on.run(
        "CREATE VIEW v AS SELECT id, lake.main.plus(id) AS more FROM t",
        "UPDATE t SET id = lake.main.plus(id, 100) WHERE lake.main.plus(id, 0) = 3",
        "DELETE FROM t WHERE lake.main.plus(id, 1) = 2",
        "MERGE INTO t USING (SELECT 0 AS id) s ON t.id = lake.main.plus(s.id, 0) "
        "WHEN MATCHED THEN UPDATE SET id = lake.main.plus(s.id, 50)",
        "INSERT INTO t SELECT lake.main.plus(6, 1), 'new'",
    )
    expected = [(102 + 1,), (2,), (50,), (7,)]
    assert on.same("SELECT id FROM t") == sorted(expected, key=repr)
    assert on.same("SELECT more FROM v WHERE id = 2") == [(12,)]
    names = [row.function for row in on.lake.session.spark.sql("SHOW USER FUNCTIONS").collect()]
    assert names == []


def test_what_both_know_under_one_name_has_one_meaning(on: SqlLake) -> None:
    on.run(
        "CREATE FUNCTION lake.main.half (a BIGINT) RETURNS INT RETURN CAST(a / 2 AS INT)",
        "CREATE FUNCTION lake.main.day_of (d DATE) RETURNS INT RETURN dayofweek(d)",
    )
    query = "SELECT lake.main.half(5) AS h, lake.main.day_of(DATE '2024-01-07') AS d"
    assert on.same(query) == [(2, 1)]


def test_one_takes_the_place_of_another(on: SqlLake) -> None:
    with pytest.raises(AlreadyExistsError, match="plus"):
        on.run("CREATE FUNCTION lake.main.plus (a INT) RETURN a")
    before = on.newest
    on.run("CREATE OR REPLACE FUNCTION lake.main.plus (a BIGINT) RETURNS BIGINT RETURN a + 1000")
    assert on.newest == before + 1
    assert on.same("SELECT lake.main.plus(1) AS x") == [(1001,)]
    on.run("CREATE FUNCTION IF NOT EXISTS lake.main.plus (a INT) RETURN a")
    assert on.newest == before + 1
    on.run("DROP FUNCTION lake.main.plus", "DROP FUNCTION IF EXISTS lake.main.plus")
    with pytest.raises(NotFoundError, match=r"main\.plus"):
        on.rows("SELECT lake.main.plus(1)")
    with pytest.raises(NotFoundError, match=r"main\.pluss.*"):
        on.run("DROP FUNCTION lake.main.pluss")


def test_transactions(on: SqlLake) -> None:
    on.run("BEGIN", "CREATE FUNCTION lake.main.mine (a INT) RETURNS INT RETURN a + 1")
    assert on.rows("SELECT lake.main.mine(1)") == [(2,)]
    on.run("ROLLBACK")
    with pytest.raises(NotFoundError):
        on.rows("SELECT lake.main.mine(1)")
    on.run("BEGIN", "CREATE FUNCTION lake.main.mine (a INT) RETURNS INT RETURN a + 1")
    on.duck_runs("CREATE MACRO mine(a) AS a + 2")
    with pytest.raises(CommitConflictError, match=r"create function main\.mine"):
        on.run("COMMIT")
    with pytest.raises(UnsupportedFeatureError, match="written for DuckDB"):
        on.rows("SELECT lake.main.mine(1)")


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE FUNCTION lake.main.f (a INT) RETURN (SELECT max(id) FROM t)", "reads a table"),
        ("CREATE FUNCTION lake.main.f (a INT) RETURNS INT RETURN nothing + a", "nothing"),
        ("CREATE FUNCTION lake.main.f (a INT) RETURN lake.main.missing(a)", "missing"),
        ("CREATE FUNCTION lake.main.f (a INT DEFAULT rand()) RETURN a", "is no constant"),
        ("CREATE FUNCTION lake.main.f (a INT) AS 'x'", "RETURN"),
        ("CREATE OR REPLACE FUNCTION lake.main.plus (a INT) RETURN lake.main.far(a)", "to itself"),
        ("CREATE FUNCTION lake.nowhere.f (a INT) RETURN a", "nowhere"),
        ("CREATE FUNCTION lake.main.f (a INT) RETURNS TABLE (b INT) RETURN SELECT a AS b", "f"),
    ],
)
def test_what_cannot_be_a_function(on: SqlLake, statement: str, says: str) -> None:
    before = on.newest
    with pytest.raises(DuckLakeError, match=says):
        on.run(statement)
    assert on.newest == before
    assert on.duck("SELECT count(*) FROM t") == [(4,)]


def test_a_schema_takes_its_functions_along(on: SqlLake) -> None:
    on.run("CREATE SCHEMA s", "CREATE FUNCTION lake.s.f (a INT) RETURNS INT RETURN a")
    with pytest.raises(DuckLakeError, match="1 macros"):
        on.run("DROP SCHEMA s")
    on.run("DROP SCHEMA s CASCADE")
    assert on.duck("SELECT count(*) FROM t") == [(4,)]
    assert on.lake.catalog().faults() == []
