"""Faults of definitions: tables, their column trees, names, versions, sort orders and views."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Row, and_, func, or_, select, union_all

from ducklake_spark.catalog.faults.check import (
    FROM_A_BACKUP,
    MAKE_ANEW,
    Finder,
    Scope,
    error,
    of,
    warning,
)
from ducklake_spark.catalog.faults.lifetimes import overlapping
from ducklake_spark.catalog.versions import current_format
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.names import fold
from ducklake_spark.spec.types import parse_type

_NESTED = ("struct", "list", "map")
_RENAME = "Rename one of them; DuckDB finds one and never the other."

_t, _v, _c = tables.table.c, tables.view.c, tables.column.c
_child = tables.column.alias("child")


# --- names ---


def _named(c: Any, kind: str) -> Any:
    return select(
        c[f"{kind}_id"].label("id"),
        c.schema_id,
        c[f"{kind}_name"].label("name"),
        c.begin_snapshot,
        c.end_snapshot,
    )


_TABLES_AND_VIEWS = union_all(_named(_t, "table"), _named(_v, "view")).subquery()


def _same_name(rows: Any, owner: str, scope: list[Any], name: str) -> Any:
    keys = [*scope, func.lower(rows.c[name])]
    return overlapping(rows, owner, keys, (name,))


# --- columns ---

_ROOTS = (
    select(_c.table_id)
    .where(_c.end_snapshot.is_(None), _c.parent_column.is_(None))
    .distinct()
    .subquery()
)
_PARTS = (
    select(
        _c.table_id,
        _c.column_id,
        func.lower(_c.column_type).label("column_type"),
        _c.column_name,
        func.count(_child.c.column_id).label("parts"),
    )
    .select_from(
        tables.column.outerjoin(
            _child,
            and_(
                _child.c.table_id == _c.table_id,
                _child.c.parent_column == _c.column_id,
                _child.c.end_snapshot.is_(None),
            ),
        )
    )
    .where(_c.end_snapshot.is_(None))
    .group_by(_c.table_id, _c.column_id, _c.column_type, _c.column_name)
    .subquery()
)
_MISSHAPEN = or_(
    and_(_PARTS.c.column_type == "list", _PARTS.c.parts != 1),
    and_(_PARTS.c.column_type == "map", _PARTS.c.parts != 2),
    and_(_PARTS.c.column_type == "struct", _PARTS.c.parts == 0),
    and_(_PARTS.c.column_type.not_in(_NESTED), _PARTS.c.parts > 0),
)
_parent = select(_c.table_id, _c.column_id).where(_c.end_snapshot.is_(None)).subquery()
_LOST_PARTS = (
    select(of(_c.table_id), _c.column_id, _c.column_name, _c.parent_column)
    .select_from(
        tables.column.outerjoin(
            _parent,
            and_(_parent.c.table_id == _c.table_id, _parent.c.column_id == _c.parent_column),
        )
    )
    .where(_c.end_snapshot.is_(None), _c.parent_column.is_not(None), _parent.c.column_id.is_(None))
)


def types(scope: Scope) -> Iterator[Fault]:
    """Every column has a type that this package can read."""
    distinct = select(_c.column_type).distinct()
    stored: Iterable[str] = scope.connection.scalars(distinct)
    unknown = [text for text in stored if not _is_type(text)]
    if unknown:
        yield from error(
            "unknown-type",
            select(of(_c.table_id), _c.column_name, _c.column_type).where(
                _c.column_type.in_(unknown), _c.end_snapshot.is_(None)
            ),
            "Column {column_name!r} has the type {column_type!r}, which DuckLake 1.0 does not "
            "know.",
            "Drop the column with the client that made it, or upgrade dbt-ducklake.",
        )(scope)


def _is_type(text: str | None) -> bool:
    try:
        return text is not None and (fold(text) in _NESTED or bool(parse_type(text)))
    except InvalidDefinitionError:
        return False


# --- schema versions ---

_versions = tables.schema_versions.c
_VERSIONED = select(_versions.table_id).distinct().subquery()
_s = tables.snapshot.c


# --- sort orders ---

_i, _e = tables.sort_info.c, tables.sort_expression.c
_KEYED = select(_e.sort_id).distinct().subquery()


# --- views ---


def views(scope: Scope) -> Iterator[Fault]:
    """The SQL of views can be parsed by DuckDB, as far as DuckDB is here to ask."""
    if importlib.util.find_spec("duckdb") is None:
        return
    import duckdb

    query = select(of(_v.view_id), _v.sql).where(_v.end_snapshot.is_(None))
    for row in scope.rows(query):
        try:
            parsed = duckdb.extract_statements(row.sql)
            problem = None if len(parsed) == 1 else f"it is {len(parsed)} statements"
        except duckdb.Error as failure:
            problem = str(failure).partition("\n")[0].rstrip(".")
        if problem is not None:
            yield Fault(
                Severity.WARNING,
                "view-not-portable",
                scope.name(row.relation_id),
                f"DuckDB cannot parse the view's SQL: {problem}.",
                "Spark reads the view; for DuckDB, create it again with SQL that both know.",
            )


def _is_same_name(row: Row[Any]) -> bool:
    # Databases fold more letters than DuckDB does; that two rows share a folded name is all that
    # is known here, so names beyond ASCII are left alone.
    name: str = row[0]
    return name.isascii()


_SAME_SCHEMA_NAME = error(
    "duplicate-name",
    _same_name(tables.schema, "schema_id", [], "schema_name"),
    "Another schema has the name {schema_name!r} too, from snapshot {next_begin} on.",
    _RENAME,
    keep=_is_same_name,
)


def schema_names(scope: Scope) -> Iterator[Fault]:
    """Schemas have different names, unless they may be nested in different schemas."""
    if not current_format(scope.connection).has_nested_schemas:
        yield from _SAME_SCHEMA_NAME(scope)


FINDERS: tuple[Finder, ...] = (
    error(
        "duplicate-name",
        _same_name(
            _TABLES_AND_VIEWS,
            "id",
            [_TABLES_AND_VIEWS.c.schema_id],
            "name",
        ),
        "Another table or view of the schema has the name {name!r} too, from snapshot "
        "{next_begin} on.",
        _RENAME,
        keep=_is_same_name,
    ),
    schema_names,
    error(
        "duplicate-name",
        _same_name(
            tables.column,
            "table_id",
            [_c.table_id, func.coalesce(_c.parent_column, -1)],
            "column_name",
        ),
        "Two columns have the name {column_name!r} at snapshot {next_begin}.",
        _RENAME,
        keep=_is_same_name,
    ),
    error(
        "no-columns",
        select(of(_t.table_id))
        .select_from(tables.table.outerjoin(_ROOTS, _ROOTS.c.table_id == _t.table_id))
        .where(_t.end_snapshot.is_(None), _ROOTS.c.table_id.is_(None)),
        "The table has no column.",
        FROM_A_BACKUP,
    ),
    types,
    error(
        "misshapen-column",
        select(of(_PARTS.c.table_id), _PARTS).where(_MISSHAPEN),
        "Column {column_id}, {column_name!r}, is a {column_type} with {parts} parts.",
        FROM_A_BACKUP,
    ),
    error(
        "orphaned-column",
        _LOST_PARTS,
        "Column {column_id}, {column_name!r}, is a part of column {parent_column}, which the table "
        "does not have.",
        "End its row in ducklake_column, or restore the catalog from a backup.",
    ),
    error(
        "schema-version-missing",
        select(of(_t.table_id))
        .select_from(tables.table.outerjoin(_VERSIONED, _VERSIONED.c.table_id == _t.table_id))
        .where(_t.end_snapshot.is_(None), _VERSIONED.c.table_id.is_(None)),
        "ducklake_schema_versions has no row for the table: DuckDB's maintenance of the lake ends "
        "in an internal error.",
        "Add and drop a column of the table, which brings a row. " + MAKE_ANEW,
    ),
    error(
        "schema-version-wrong",
        select(
            of(_versions.table_id),
            _versions.begin_snapshot,
            _versions.schema_version,
            _s.schema_version.label("real"),
        )
        .select_from(
            tables.schema_versions.join(tables.snapshot, _s.snapshot_id == _versions.begin_snapshot)
        )
        .where(_s.schema_version != _versions.schema_version),
        "ducklake_schema_versions says {schema_version} for snapshot {begin_snapshot}, which has "
        "{real}: inlined rows may be read with other columns than theirs.",
        "Set the version to that of the snapshot.",
    ),
    warning(
        "sort-order-empty",
        select(of(_i.table_id), _i.sort_id)
        .select_from(tables.sort_info.outerjoin(_KEYED, _KEYED.c.sort_id == _i.sort_id))
        .where(_i.end_snapshot.is_(None), _KEYED.c.sort_id.is_(None)),
        "The sort order {sort_id} has no key.",
        "ALTER TABLE … RESET SORTED BY, or SET SORTED BY (…).",
    ),
    warning(
        "sort-order-unknown",
        select(of(_e.table_id), _e.expression, _e.sort_direction, _e.null_order).where(
            or_(
                _e.sort_direction.not_in(("ASC", "DESC")),
                _e.null_order.not_in(("NULLS_FIRST", "NULLS_LAST")),
            )
        ),
        "The sort key {expression!r} goes {sort_direction!r}, {null_order!r}, which nobody knows.",
        "ALTER TABLE … SET SORTED BY (…) again.",
    ),
    views,
)
