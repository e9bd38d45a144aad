"""Faults of lifetimes: rows that end before they begin, or live at once with their successor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, func, or_, select
from sqlalchemy import Table as SqlTable

from ducklake_spark.catalog.definitions import FOREVER
from ducklake_spark.catalog.faults.check import (
    FROM_A_BACKUP,
    Check,
    Finder,
    error,
    newest_snapshot,
    of,
)
from ducklake_spark.spec import tables

# What lives from a snapshot to another: the owner, what there is one of at a time, and its name.
_LIVING: tuple[tuple[SqlTable, str, tuple[str, ...], str], ...] = (
    (tables.schema, "schema_id", ("schema_id",), "The schema"),
    (tables.table, "table_id", ("table_id",), "The table"),
    (tables.view, "view_id", ("view_id",), "The view"),
    (tables.macro, "macro_id", ("macro_id",), "The macro"),
    (tables.column, "table_id", ("table_id", "column_id"), "Column {column_id}"),
    (tables.tag, "object_id", ("object_id", "key"), "The tag {key!r}"),
    (
        tables.column_tag,
        "table_id",
        ("table_id", "column_id", "key"),
        "The tag {key!r} of column {column_id}",
    ),
    (tables.partition_info, "table_id", ("table_id",), "The partitioning"),
    (tables.sort_info, "table_id", ("table_id",), "The sort order"),
)
_FILES: tuple[tuple[SqlTable, str, tuple[str, ...], str], ...] = (
    (tables.data_file, "table_id", ("data_file_id",), "Data file {data_file_id}"),
    (tables.delete_file, "table_id", ("delete_file_id",), "Delete file {delete_file_id}"),
)


def overlapping(
    rows: FromClause, owner: str, keys: Sequence[ColumnElement[Any]], shown: Sequence[str]
) -> Select[Any]:
    """Rows of the same keys of which one begins while another lives."""
    end = func.coalesce(rows.c.end_snapshot, FOREVER)
    following = func.lead(rows.c.begin_snapshot).over(
        partition_by=keys, order_by=(rows.c.begin_snapshot, end)
    )
    pairs = select(
        *(rows.c[name] for name in shown),
        of(rows.c[owner]),
        rows.c.begin_snapshot,
        end.label("end"),
        following.label("next_begin"),
    ).subquery()
    return select(pairs).where(pairs.c.next_begin < pairs.c.end)


def _overlap(table: SqlTable, owner: str, keys: tuple[str, ...], what: str) -> Check:
    return error(
        "overlapping-lifetimes",
        overlapping(table, owner, [table.c[key] for key in keys], keys),
        what + " begins at snapshot {next_begin} and the one that began at {begin_snapshot} still "
        "lives there: it is there twice.",
        f"End the older row of {table.name} at the snapshot where the newer one begins, "
        "or restore the catalog from a backup.",
    )


def _impossible(table: SqlTable, owner: str, keys: tuple[str, ...], what: str) -> Check:
    c, newest = table.c, newest_snapshot()
    query = select(of(c[owner]), *(c[key] for key in keys), c.begin_snapshot, c.end_snapshot).where(
        or_(
            c.begin_snapshot.is_(None),
            c.end_snapshot < c.begin_snapshot,
            c.begin_snapshot > newest,
            c.end_snapshot > newest,
        )
    )
    return error(
        "impossible-lifetime",
        query,
        what + " lives from snapshot {begin_snapshot} to {end_snapshot}, which cannot be.",
        FROM_A_BACKUP,
    )


FINDERS: tuple[Finder, ...] = (
    *(_impossible(*living) for living in (*_LIVING, *_FILES)),
    *(_overlap(*living) for living in _LIVING),
)
