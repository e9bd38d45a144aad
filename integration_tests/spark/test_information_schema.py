"""The information schema of a lake: the standard's views, as DuckDB has them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import duckdb
import pytest

from ducklake_spark.errors import NotFoundError, UnsupportedFeatureError
from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake

_SHARED = {
    "schemata": "catalog_name, schema_name",
    "tables": "table_catalog, table_schema, table_name, table_type",
    "columns": "table_schema, table_name, column_name, ordinal_position, is_nullable, "
    "numeric_precision, numeric_scale, column_comment",
}


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("information")) as found:
        found.run(
            "CREATE SCHEMA shop",
            "CREATE TABLE shop.orders (id BIGINT NOT NULL COMMENT 'the key', "
            "price DECIMAL(10, 2) DEFAULT 1.5, at TIMESTAMP, day DATE, `odd ``name` STRING, "
            "part DOUBLE, tags ARRAY<STRING>)",
            "COMMENT ON TABLE shop.orders IS 'what was sold'",
            "CREATE VIEW shop.cheap (id COMMENT 'the same') AS "
            "SELECT id FROM shop.orders WHERE price < 2",
        )
        yield found


@pytest.mark.parametrize("view", sorted(_SHARED))
def test_duckdb_shows_the_same(on: SqlLake, view: str) -> None:
    where = {
        "schemata": "catalog_name = 'lake' AND schema_name <> 'information_schema'",
        "columns": "table_catalog = 'lake' AND table_name = 'orders' "
        "AND column_name NOT IN ('part', 'tags')",
    }.get(view, "table_catalog = 'lake' AND table_schema IN ('shop', 'main')")
    theirs = f"SELECT {_SHARED[view]} FROM information_schema.{view} WHERE {where}"
    assert on.rows(theirs.replace("FROM inf", "FROM lake.inf")) == on.duck(theirs)


@pytest.mark.parametrize("view", ["schemata", "tables", "views", "columns"])
def test_the_columns_are_those_of_duckdb(on: SqlLake, view: str) -> None:
    theirs = [name.lower() for name in duckdb.sql(f"FROM information_schema.{view}").columns]
    ours = on.lake.sql(f"SELECT * FROM INFORMATION_SCHEMA.{view.upper()}").columns
    assert [name for name in ours if name != "schema_comment"] == theirs


def test_columns(on: SqlLake) -> None:
    query = (
        "SELECT column_name, data_type, column_default, datetime_precision "
        "FROM `lake`.INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'orders' "
        "ORDER BY ordinal_position"
    )
    assert [tuple(row) for row in on.lake.sql(query).collect()] == [
        ("id", "bigint", None, None),
        ("price", "decimal(10,2)", "1.50", None),
        ("at", "timestamp", None, 6),
        ("day", "date", None, 0),
        ("odd `name", "string", None, None),
        ("part", "double", None, None),
        ("tags", "array<string>", None, None),
    ]


def test_views(on: SqlLake) -> None:
    query = "SELECT table_name, view_definition, is_updatable FROM information_schema.views"
    ((name, text, updatable),) = on.rows(query)
    assert (name, updatable) == ("cheap", "NO")
    assert "price < 2" in text
    query = "SELECT column_name, data_type, column_comment FROM information_schema.columns "
    assert on.rows(query + "WHERE table_name = 'cheap'") == [("id", "bigint", "the same")]


def test_comments_of_tables_and_schemas(on: SqlLake) -> None:
    query = "SELECT table_comment FROM information_schema.tables WHERE table_name = 'orders'"
    assert on.rows(query) == [("what was sold",)]


def test_describe(on: SqlLake) -> None:
    names = [row[0] for row in on.lake.sql("DESCRIBE lake.information_schema.schemata").collect()]
    assert names[:2] == ["catalog_name", "schema_name"]


def test_names_and_joins(on: SqlLake) -> None:
    query = (
        "SELECT count(*) FROM information_schema.tables AS t JOIN information_schema.columns AS c "
        "USING (table_schema, table_name) WHERE t.table_type = 'BASE TABLE'"
    )
    assert on.rows(query) == [(7,)]


def test_an_older_snapshot(on: SqlLake) -> None:
    query = "SELECT * FROM lake.information_schema.tables VERSION AS OF 0"
    assert on.rows(query) == []


def test_the_open_transaction_is_seen(on: SqlLake) -> None:
    on.lake.begin()
    on.run("CREATE TABLE shop.late (a INT)")
    query = "SELECT table_name FROM information_schema.tables WHERE table_name = 'late'"
    assert on.rows(query) == [("late",)]
    on.lake.rollback()
    assert on.rows(query) == []


def test_a_view_that_cannot_be_read_is_left_out(
    on: SqlLake, caplog: pytest.LogCaptureFixture
) -> None:
    on.run(
        "CREATE TABLE shop.short (a INT)",
        "CREATE VIEW shop.broken AS SELECT a FROM shop.short",
        "DROP TABLE shop.short",
    )
    with caplog.at_level(logging.WARNING):
        assert on.rows("SELECT 1 FROM information_schema.columns WHERE table_name = 'broken'") == []
    assert "The columns of the view lake.shop.broken are left out" in caplog.text
    query = "SELECT table_type FROM information_schema.tables WHERE table_name = 'broken'"
    assert on.rows(query) == [("VIEW",)]
    on.run("DROP VIEW shop.broken")


def test_an_unknown_view_lists_those_there_are(on: SqlLake) -> None:
    with pytest.raises(NotFoundError, match=r"tabels does not exist\. Did you mean 'tables'"):
        on.rows("SELECT * FROM lake.information_schema.tabels")


def test_a_stored_view_cannot_read_it(on: SqlLake) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"reads information_schema\.tables"):
        on.run("CREATE VIEW v AS SELECT * FROM information_schema.tables")


def test_it_is_read_only(on: SqlLake) -> None:
    with pytest.raises(NotFoundError):
        on.run("INSERT INTO lake.information_schema.tables VALUES (1)")
