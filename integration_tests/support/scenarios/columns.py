"""Scenarios that change columns and nested fields."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ducklake_spark.catalog import Field, Transaction
from support.expectations import Rel, rel
from support.scenarios.steps import (
    CREATE_NESTED,
    ID,
    MORE,
    NESTED,
    START,
    Scenarios,
    Step,
    T,
    altered,
    both,
    by_duckdb,
    ours,
    rows,
)

WITH_X = rel("id name x", (1, "a", None), (2, "b", None), (3, None, None))
WITH_SEVEN = rel("id name x", (1, "a", 7), (2, "b", 7), (3, None, 7))
IDS = rel("id", (1,), (2,), (3,))


def promoted(
    before: str, after: str, old: list[Any], new: list[Any], more: list[Any]
) -> tuple[Step, ...]:
    """A column with old values of one type, which become new ones of another, and more of these."""
    first, second = (Rel(("id", "v"), tuple(enumerate(values))) for values in (old, new))
    added = Rel(("id", "v"), tuple(enumerate(more, len(new))))
    return (
        ours(
            lambda tx: both(tx.create_table("t", [ID, Field("v", before)]), rows(tx, "t", first)),
            {"t": first},
        ),
        ours(lambda tx: tx.set_column_type("t", "v", after), {"t": second}, is_promotion=True),
        ours(lambda tx: rows(tx, "t", added), {"t": second.with_rows([*second.rows, *added.rows])}),
    )


def nested(act: Callable[[Transaction], object], *structs: object) -> tuple[Step, ...]:
    """A nested table, then a change of its struct, whose values become these."""
    changed = [(row[0], struct, *row[2:]) for row, struct in zip(NESTED.rows, structs, strict=True)]
    return CREATE_NESTED, ours(act, {"n": NESTED.with_rows(changed)})


COLUMNS: Scenarios = {
    "add a column": (
        *altered(lambda tx: tx.add_column("t", Field("x", "int32")), WITH_X),
        ours(
            lambda tx: rows(tx, "t", rel("id name x", (4, "d", 8))),
            {"t": WITH_X.with_rows([*WITH_X.rows, (4, "d", 8)])},
        ),
    ),
    "add a column with a default": (
        *altered(lambda tx: tx.add_column("t", Field("x", "int32", default=7)), WITH_SEVEN),
        by_duckdb(
            "INSERT INTO t (id) VALUES (4)",
            {"t": WITH_SEVEN.with_rows([*WITH_SEVEN.rows, (4, None, 7)])},
        ),
    ),
    "add a NOT NULL column with a default": altered(
        lambda tx: tx.add_column("t", Field("x", "int32", nullable=False, default=7)), WITH_SEVEN
    ),
    "drop a column": altered(lambda tx: tx.drop_column("t", "name"), IDS),
    "drop a column and add another of its name": (
        *altered(
            lambda tx: both(tx.drop_column("t", "name"), tx.add_column("t", Field("name", "date"))),
            rel("id name", (1, None), (2, None), (3, None)),
        ),
    ),
    "rename a column": altered(
        lambda tx: tx.rename_column("t", "name", "label"), Rel(("id", "label"), T.rows)
    ),
    "swap the names of two columns": altered(
        lambda tx: both(
            tx.add_column("t", Field("x", "int32", default=7)),
            tx.rename_column("t", "name", "y"),
            tx.rename_column("t", "x", "name"),
        ),
        rel("id y name", *WITH_SEVEN.rows),
    ),
    "promote int32 to int64": promoted(
        "int32", "int64", [5, -1, None], [5, -1, None], [2**40, None]
    ),
    "promote int32 to float64": promoted("int32", "float64", [5, -1], [5.0, -1.0], [2.5, None]),
    "promote float32 to float64": promoted("float32", "float64", [0.5], [0.5], [1e300, -1e-300]),
    "promote decimal(5,2) to decimal(10,2)": promoted(
        "decimal(5,2)",
        "decimal(10,2)",
        [Decimal("1.50"), None],
        [Decimal("1.50"), None],
        [Decimal("12345678.25")],
    ),
    "promote date to timestamp": promoted(
        "date",
        "timestamp",
        [datetime.date(2024, 1, 15)],
        [datetime.datetime(2024, 1, 15)],
        [datetime.datetime(2023, 1, 1, 12), None],
    ),
    "promote uint8 to int16": promoted("uint8", "int16", [200, None], [200, None], [-5]),
    "drop NOT NULL": (
        ours(
            lambda tx: both(
                tx.create_table("t", [ID, Field("name", "varchar", nullable=False)]),
                rows(tx, "t", MORE),
            ),
            {"t": MORE},
        ),
        ours(lambda tx: tx.set_column_nullable("t", "name", True)),
        ours(lambda tx: rows(tx, "t", T), {"t": T.with_rows([*MORE.rows, *T.rows])}),
    ),
    "set NOT NULL": altered(lambda tx: tx.set_column_nullable("t", "id", False), T),
    "set a default": (
        *altered(lambda tx: tx.set_column_default("t", "name", "x"), T),
        by_duckdb("INSERT INTO t (id) VALUES (4)", {"t": T.with_rows([*T.rows, (4, "x")])}),
    ),
    "set a computed default": (
        *altered(lambda tx: tx.set_column_default("t", "name", expression="upper('x')"), T),
        by_duckdb("INSERT INTO t (id) VALUES (4)", {"t": T.with_rows([*T.rows, (4, "X")])}),
    ),
    "drop a default": (
        ours(
            lambda tx: both(
                tx.create_table("t", [ID, Field("name", "varchar", default="x")]),
                rows(tx, "t", T),
            ),
            {"t": T},
        ),
        ours(lambda tx: tx.set_column_default("t", "name")),
        by_duckdb("INSERT INTO t (id) VALUES (4)", {"t": T.with_rows([*T.rows, (4, None)])}),
    ),
    "alter and append in one transaction": (
        START,
        ours(
            lambda tx: both(
                tx.add_column("t", Field("x", "int32", default=7)),
                tx.rename_column("t", "name", "label"),
                tx.set_column_type("t", "id", "int64"),
                rows(tx, "t", rel("id label x", (2**40, "d", None))),
            ),
            {"t": rel("id label x", *WITH_SEVEN.rows, (2**40, "d", None))},
            is_promotion=True,
        ),
    ),
    "add a nested field": nested(
        lambda tx: tx.add_column("n", Field("c", "int32"), parent="s"),
        {"a": 1, "b": {"x": ["p", None]}, "c": None},
        None,
        {"a": None, "b": None, "c": None},
    ),
    "add a struct inside a struct": nested(
        lambda tx: tx.add_column("n", Field("c", "STRUCT(d INTEGER[])"), parent="s.b"),
        {"a": 1, "b": {"x": ["p", None], "c": None}},
        None,
        {"a": None, "b": None},
    ),
    "rename a nested field": nested(
        lambda tx: tx.rename_column("n", "s.b.x", "y"),
        {"a": 1, "b": {"y": ["p", None]}},
        None,
        {"a": None, "b": None},
    ),
    "drop a nested field": nested(
        lambda tx: tx.drop_column("n", "s.a"), {"b": {"x": ["p", None]}}, None, {"b": None}
    ),
    "promote a nested field": nested(
        lambda tx: tx.set_column_type("n", "s.a", "int64"), *(row[1] for row in NESTED.rows)
    ),
}
