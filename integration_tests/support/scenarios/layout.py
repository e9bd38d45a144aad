"""Scenarios that change how files are partitioned and sorted."""

from __future__ import annotations

import datetime

from ducklake_spark.catalog import Field
from support.expectations import Rel, rel
from support.scenarios.steps import (
    BOTH,
    ID,
    MORE,
    NAME,
    START,
    Scenarios,
    T,
    altered,
    both,
    ours,
    rows,
)

DAYS = rel(
    "id day",
    (1, datetime.datetime(2024, 1, 15, 23, 59)),
    (2, datetime.datetime(1969, 12, 31)),
    (3, None),
)

LAYOUT: Scenarios = {
    "partition a filled table": (
        *altered(lambda tx: tx.set_partitioning("t", ["name"]), T),
        ours(lambda tx: rows(tx, "t", MORE), {"t": BOTH}),
    ),
    # DuckDB looks for nothing in files from before the buckets, so there are none here.
    "partition by buckets": (
        ours(
            lambda tx: both(
                tx.create_table(
                    "t", [ID, NAME], partitioned_by=["bucket(2, id)", "bucket(2, name)"]
                ),
                rows(tx, "t", T),
            ),
            {"t": T},
        ),
        ours(lambda tx: rows(tx, "t", MORE), {"t": BOTH}),
    ),
    "partition by parts of the calendar": (
        ours(
            lambda tx: both(
                tx.create_table(
                    "t",
                    [ID, Field("day", "timestamp")],
                    partitioned_by=["year(day)", "month(day)", "day(day)", "hour(day)"],
                ),
                rows(tx, "t", DAYS),
            ),
            {"t": DAYS},
        ),
    ),
    "partition in another way": (
        START,
        ours(lambda tx: both(tx.set_partitioning("t", ["name"]), rows(tx, "t", MORE)), {"t": BOTH}),
        ours(
            lambda tx: both(
                tx.set_partitioning("t", ["id"]), rows(tx, "t", rel("id name", (6, "f")))
            ),
            {"t": BOTH.with_rows([*BOTH.rows, (6, "f")])},
        ),
    ),
    "partition no more": (
        *altered(lambda tx: tx.set_partitioning("t", ["name"]), T),
        ours(lambda tx: both(tx.set_partitioning("t", []), rows(tx, "t", MORE)), {"t": BOTH}),
    ),
    "rename a partition column": (
        *altered(lambda tx: tx.set_partitioning("t", ["name"]), T),
        ours(
            lambda tx: both(
                tx.rename_column("t", "name", "n"), rows(tx, "t", Rel(("id", "n"), MORE.rows))
            ),
            {"t": Rel(("id", "n"), BOTH.rows)},
        ),
    ),
    "sort a table": (
        *altered(lambda tx: tx.set_sort_order("t", ["name desc nulls first", "id"]), T),
        ours(lambda tx: rows(tx, "t", MORE), {"t": BOTH}),
    ),
    "rename a sort column": (
        *altered(lambda tx: tx.set_sort_order("t", ["lower(name)", "id"]), T),
        ours(
            lambda tx: tx.rename_column("t", "name", "select"),
            {"t": Rel(("id", "select"), T.rows)},
        ),
    ),
    "sort no more": (
        *altered(lambda tx: tx.set_sort_order("t", ["id"]), T),
        ours(lambda tx: tx.set_sort_order("t", [])),
    ),
}
