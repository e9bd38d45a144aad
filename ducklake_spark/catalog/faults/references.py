"""Faults of references: rows that belong to something the catalog does not have, or has no more."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, select, union
from sqlalchemy import Table as SqlTable

from ducklake_spark.catalog.faults.check import FROM_A_BACKUP, Check, Finder, error, of, warning
from ducklake_spark.spec import tables

_LEFTOVER = "Nobody reads these rows; they can be deleted from {table}."

# Rows of the first table belong to rows of the second by these columns. Without the owner nobody
# reads them.
_LEFTOVERS: tuple[tuple[SqlTable, SqlTable, tuple[str, ...]], ...] = (
    (tables.column, tables.table, ("table_id",)),
    (tables.data_file, tables.table, ("table_id",)),
    (tables.delete_file, tables.table, ("table_id",)),
    (tables.delete_file, tables.data_file, ("data_file_id",)),
    (tables.table_stats, tables.table, ("table_id",)),
    (tables.table_column_stats, tables.column, ("table_id", "column_id")),
    (tables.column_tag, tables.column, ("table_id", "column_id")),
    (tables.file_column_stats, tables.data_file, ("data_file_id",)),
    (tables.file_column_stats, tables.column, ("table_id", "column_id")),
    (tables.file_variant_stats, tables.data_file, ("data_file_id",)),
    (tables.file_partition_value, tables.data_file, ("data_file_id",)),
    (tables.partition_info, tables.table, ("table_id",)),
    (tables.partition_column, tables.partition_info, ("partition_id",)),
    (tables.sort_info, tables.table, ("table_id",)),
    (tables.sort_expression, tables.sort_info, ("sort_id",)),
    (tables.inlined_data_tables, tables.table, ("table_id",)),
    (tables.column_mapping, tables.table, ("table_id",)),
    (tables.name_mapping, tables.column_mapping, ("mapping_id",)),
    (tables.schema_versions, tables.table, ("table_id",)),
    (tables.macro_impl, tables.macro, ("macro_id",)),
    (tables.macro_parameters, tables.macro_impl, ("macro_id", "impl_id")),
)
# Here readers do look for the second, and fail or read wrongly without it.
_NEEDED: tuple[tuple[SqlTable, str, SqlTable, str, str], ...] = (
    (tables.table, "table_id", tables.schema, "schema_id", "The table lies in schema {id}"),
    (tables.view, "view_id", tables.schema, "schema_id", "The view lies in schema {id}"),
    (tables.macro, "macro_id", tables.schema, "schema_id", "The macro lies in schema {id}"),
    (
        tables.data_file,
        "table_id",
        tables.partition_info,
        "partition_id",
        "{rows} data files are of partitioning {id}",
    ),
    (
        tables.data_file,
        "table_id",
        tables.column_mapping,
        "mapping_id",
        "{rows} data files are read by the name mapping {id}",
    ),
)
# What a DROP ends together with the first.
_ENDED_TOGETHER: tuple[tuple[SqlTable, SqlTable, str], ...] = (
    (tables.schema, tables.table, "schema_id"),
    (tables.schema, tables.view, "schema_id"),
    (tables.schema, tables.macro, "schema_id"),
    (tables.table, tables.column, "table_id"),
    (tables.table, tables.data_file, "table_id"),
    (tables.table, tables.partition_info, "table_id"),
    (tables.table, tables.sort_info, "table_id"),
)


def _same(child: SqlTable, parent: Any, keys: tuple[str, ...]) -> ColumnElement[bool]:
    return and_(*(child.c[key] == parent.c[key] for key in keys))


def _owner(table: SqlTable, keys: tuple[str, ...]) -> ColumnElement[int]:
    return of(table.c.table_id if "table_id" in table.c else table.c[keys[0]])


def _without(
    child: SqlTable, parent: SqlTable, keys: tuple[str, ...], owner: ColumnElement[int]
) -> Select[Any]:
    """How many rows of the first have no row in the second, by what they should belong to."""
    shown = [child.c[key] for key in keys]
    # A join, for which every database finds a way that is not row by row.
    return (
        select(owner, *shown, func.count().label("rows"))
        .select_from(child.outerjoin(parent, _same(child, parent, keys)))
        .where(parent.c[keys[0]].is_(None), child.c[keys[-1]].is_not(None))
        .group_by(owner.element, *shown)
    )


def _leftover(child: SqlTable, parent: SqlTable, keys: tuple[str, ...]) -> Check:
    which = ", ".join(f"{key} {{{key}}}" for key in keys)
    return warning(
        "dangling-rows",
        _without(child, parent, keys, _owner(child, keys)),
        f"{{rows}} rows of {child.name} belong to {which}, and {parent.name} has no such row.",
        _LEFTOVER.format(table=child.name),
    )


def _needed(child: SqlTable, owner: str, parent: SqlTable, key: str, problem: str) -> Check:
    query = _without(child, parent, (key,), of(child.c[owner])).add_columns(
        child.c[key].label("id")
    )
    return error(
        "dangling-reference",
        query,
        problem + f", and {parent.name} has no such row.",
        FROM_A_BACKUP,
    )


def _outlives(parent: SqlTable, child: SqlTable, key: str) -> Check:
    living = select(parent.c[key]).where(parent.c.end_snapshot.is_(None)).distinct().subquery()
    known = select(parent.c[key])
    query = (
        select(of(child.c[key]), child.c[key].label("id"), func.count().label("rows"))
        .select_from(child.outerjoin(living, child.c[key] == living.c[key]))
        .where(child.c.end_snapshot.is_(None), living.c[key].is_(None), child.c[key].in_(known))
        .group_by(child.c[key])
    )
    return warning(
        "outlives-its-owner",
        query,
        f"{{rows}} rows of {child.name} live on, and {key} {{id}} was dropped. DuckDB leaves that "
        "where one transaction writes to a table and replaces it.",
        f"Nobody sees them and their files stay: end them at the snapshot where {parent.name} "
        "ended the owner.",
    )


_g, _m, _c = tables.column_mapping.c, tables.name_mapping.c, tables.column.c
_EVER = select(_c.table_id, _c.column_id).distinct().subquery()
_MAPPED_TO_NOTHING = (
    select(of(_g.table_id), _m.mapping_id, _m.source_name, _m.target_field_id)
    .select_from(
        tables.name_mapping.join(tables.column_mapping, _g.mapping_id == _m.mapping_id).outerjoin(
            _EVER, and_(_EVER.c.table_id == _g.table_id, _EVER.c.column_id == _m.target_field_id)
        )
    )
    .where(_EVER.c.column_id.is_(None), _m.target_field_id.is_not(None))
)

_OBJECTS = union(
    select(tables.schema.c.schema_id.label("id")),
    select(tables.table.c.table_id),
    select(tables.view.c.view_id),
    select(tables.macro.c.macro_id),
).subquery()

FINDERS: tuple[Finder, ...] = (
    error(
        "mapping-to-nothing",
        _MAPPED_TO_NOTHING,
        "The name mapping {mapping_id} leads {source_name!r} to column {target_field_id}, which "
        "the table never had.",
        FROM_A_BACKUP,
    ),
    *(_leftover(*reference) for reference in _LEFTOVERS),
    *(_needed(*reference) for reference in _NEEDED),
    *(_outlives(*reference) for reference in _ENDED_TOGETHER),
    warning(
        "dangling-rows",
        select(of(tables.tag.c.object_id), func.count().label("rows"))
        .select_from(tables.tag.outerjoin(_OBJECTS, tables.tag.c.object_id == _OBJECTS.c.id))
        .where(_OBJECTS.c.id.is_(None))
        .group_by(tables.tag.c.object_id),
        "{rows} rows of ducklake_tag belong to object {relation_id}, which the catalog does not "
        "have.",
        _LEFTOVER.format(table="ducklake_tag"),
    ),
)
