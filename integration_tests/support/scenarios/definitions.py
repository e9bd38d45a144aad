"""Scenarios that change schemas, tables, views, comments and options."""

from __future__ import annotations

import datetime

from ducklake_spark.catalog import Field
from support.expectations import Rel, rel
from support.scenarios.steps import (
    BOTH,
    CREATE_NESTED,
    ID,
    MORE,
    NAME,
    START,
    Scenarios,
    T,
    altered,
    both,
    by_duckdb,
    delete,
    ours,
    rows,
)

SCHEMAS: Scenarios = {
    "create a schema": (ours(lambda tx: tx.create_schema("s"), schemas=["s"]),),
    "create a schema with odd names in it": (
        ours(
            lambda tx: both(
                tx.create_schema("odd, name"),
                tx.create_table('"odd, name"."it""s.ä"', [ID, NAME]),
                rows(tx, '"odd, name"."it""s.ä"', T),
            ),
            {'"odd, name"."it""s.ä"': T},
            schemas=["odd, name"],
        ),
    ),
    "drop a schema": (
        ours(lambda tx: tx.create_schema("s"), schemas=["s"]),
        ours(lambda tx: tx.drop_schema("s"), schemas=[]),
    ),
    "drop a schema with all that is in it": (
        ours(
            lambda tx: both(
                tx.create_schema("s"),
                tx.create_table("s.t", [ID, NAME]),
                tx.create_table("s.u", [ID]),
                tx.create_view("s.v", "SELECT id FROM lake.s.t"),
                rows(tx, "s.t", T),
            ),
            {"s.t": T, "s.u": rel("id"), "s.v": rel("id", (1,), (2,), (3,))},
            schemas=["s"],
        ),
        ours(
            lambda tx: tx.drop_schema("s", cascade=True),
            {"s.t": None, "s.u": None, "s.v": None},
            schemas=[],
        ),
    ),
    "several tables and schemas in one transaction": (
        START,
        ours(
            lambda tx: both(
                tx.create_schema("s"),
                tx.create_table("s.t", [ID, NAME]),
                tx.create_table("u", [ID]),
                rows(tx, "s.t", T),
                rows(tx, "t", MORE),
                delete(tx, "t", 0, 0),
                rows(tx, "u", rel("id", (7,))),
                tx.add_column("u", Field("x", "int64", default=5)),
            ),
            {
                "s.t": T,
                "t": T.with_rows([*T.rows[1:], *MORE.rows]),
                "u": rel("id x", (7, 5)),
            },
            schemas=["s"],
        ),
    ),
}

COMMENTS = "SELECT comment FROM duckdb_tables() WHERE table_name = 't'"
COLUMN_COMMENTS = (
    "SELECT comment FROM duckdb_columns() WHERE table_name = 't' ORDER BY column_index"
)
DEFAULTED = rel("id name day", (1, "x", datetime.date(2024, 1, 15)))
TABLES: Scenarios = {
    "create a flat table": (ours(lambda tx: tx.create_table("t", [ID]), {"t": rel("id")}),),
    "create and fill a table": (START,),
    "create and fill a nested table": (CREATE_NESTED,),
    "create a table with comments and options": (
        ours(
            lambda tx: both(
                tx.create_table(
                    "t",
                    [Field("id", "int32", comment="key"), NAME],
                    comment="it's",
                    options={"parquet_compression": "zstd"},
                ),
                rows(tx, "t", T),
            ),
            {"t": T},
            asks={COMMENTS: [("it's",)], COLUMN_COMMENTS: [("key",), (None,)]},
        ),
    ),
    "create a partitioned and sorted table": (
        ours(
            lambda tx: both(
                tx.create_table(
                    "t", [ID, NAME], partitioned_by=["name", "bucket(4, id)"], sorted_by=["id desc"]
                ),
                rows(tx, "t", T),
            ),
            {"t": T},
        ),
    ),
    "create a table with defaults": (
        ours(
            lambda tx: tx.create_table(
                "t",
                [
                    Field("id", "int32", nullable=False),
                    Field("name", "varchar", default="x"),
                    Field("day", "date", expression="DATE '2024-01-15'"),
                ],
            ),
            {"t": rel("id name day")},
        ),
        by_duckdb("INSERT INTO t (id) VALUES (1)", {"t": DEFAULTED}),
    ),
    "create or replace a table": (
        START,
        ours(
            lambda tx: both(
                tx.create_table("t", [Field("id", "int64"), NAME], replace_existing=True),
                rows(tx, "t", MORE),
            ),
            {"t": MORE},
        ),
    ),
    "drop a table": (START, ours(lambda tx: tx.drop_table("t"), {"t": None})),
    "drop a table and create another of its name": (
        START,
        ours(
            lambda tx: both(
                tx.drop_table("t"),
                tx.create_table("t", [ID, Field("f", "float64")]),
                rows(tx, "t", rel("id f", (9, 1.5))),
            ),
            {"t": rel("id f", (9, 1.5))},
        ),
    ),
    "rename a table": (
        START,
        ours(lambda tx: tx.rename_table("t", "u"), {"t": None, "u": T}),
        ours(lambda tx: both(tx.create_table("t", [ID, NAME]), rows(tx, "t", MORE)), {"t": MORE}),
    ),
    "rename in a chain": (
        START,
        ours(
            lambda tx: both(
                tx.create_table("t__tmp", [ID, NAME]),
                rows(tx, "t__tmp", MORE),
                tx.rename_table("t", "t__old"),
                tx.rename_table("t__tmp", "t"),
            ),
            {"t__old": T, "t": MORE},
        ),
        ours(
            lambda tx: both(
                tx.rename_table("t", "x"), tx.rename_table("t__old", "t"), tx.drop_table("x")
            ),
            {"t__old": None, "t": T},
        ),
    ),
    "comment on a table and a column": altered(
        lambda tx: both(
            tx.comment_on_table("t", "new"), tx.comment_on_column("t", "name", "column")
        ),
        T,
        asks={COMMENTS: [("new",)], COLUMN_COMMENTS: [(None,), ("column",)]},
    ),
    "take comments away": (
        *altered(
            lambda tx: both(
                tx.comment_on_table("t", "new"), tx.comment_on_column("t", "name", "column")
            ),
            T,
        ),
        ours(
            lambda tx: both(
                tx.comment_on_table("t", None), tx.comment_on_column("t", "name", None)
            ),
            asks={COMMENTS: [(None,)], COLUMN_COMMENTS: [(None,), (None,)]},
        ),
    ),
    "an author, a message and more": (
        START,
        ours(
            lambda tx: both(
                rows(tx, "t", MORE),
                tx.describe_commit(author="me", message="why", extra_info='{"a": 1}'),
            ),
            {"t": BOTH},
            asks={
                "SELECT author, commit_message, commit_extra_info FROM lake.snapshots() "
                "WHERE snapshot_id = 2": [("me", "why", '{"a": 1}')]
            },
        ),
    ),
    "nothing at all": (
        START,
        ours(
            lambda tx: both(
                tx.create_table("u", [ID]),
                tx.drop_table("u"),
                tx.add_column("t", Field("x", "int32")),
                tx.drop_column("t", "x"),
            ),
            is_commit=False,
        ),
    ),
    "options of the lake, a schema and a table": (
        START,
        ours(
            lambda tx: both(
                tx.set_option("parquet_compression", "gzip"),
                tx.set_option("parquet_compression", "zstd", schema="main"),
                tx.set_option("parquet_row_group_size", 2048, table="t"),
            ),
            is_commit=False,
            asks={
                "SELECT option_name, value, scope, scope_entry FROM lake.options() "
                "WHERE option_name LIKE 'parquet%' ORDER BY ALL": [
                    ("parquet_compression", "gzip", "GLOBAL", None),
                    ("parquet_compression", "zstd", "SCHEMA", "main"),
                    ("parquet_row_group_size", "2048", "TABLE", "main.t"),
                ]
            },
        ),
    ),
}

V = rel("id", (1,), (2,), (3,))
START_VIEW = ours(lambda tx: tx.create_view("v", "SELECT id FROM lake.main.t"), {"v": V})

VIEWS: Scenarios = {
    "create a view": (START, START_VIEW),
    "create a view with aliases and a comment": (
        START,
        ours(
            lambda tx: tx.create_view(
                "v",
                "SELECT id, name FROM lake.main.t",
                column_aliases=["x", "y,z"],
                tags={"comment": "seen"},
            ),
            {"v": Rel(("x", "y,z"), T.rows)},
            asks={"SELECT comment FROM duckdb_views() WHERE view_name = 'v'": [("seen",)]},
        ),
    ),
    "replace a view": (
        START,
        START_VIEW,
        ours(
            lambda tx: tx.create_view("v", "SELECT 5 AS five", replace_existing=True),
            {"v": rel("five", (5,))},
        ),
    ),
    "rename a view": (
        START,
        START_VIEW,
        ours(lambda tx: tx.rename_view("v", "w"), {"v": None, "w": V}),
    ),
    "drop a view": (START, START_VIEW, ours(lambda tx: tx.drop_view("v"), {"v": None})),
    "comment on a view": (
        START,
        START_VIEW,
        ours(
            lambda tx: tx.comment_on_view("v", "seen"),
            asks={"SELECT comment FROM duckdb_views() WHERE view_name = 'v'": [("seen",)]},
        ),
    ),
}
