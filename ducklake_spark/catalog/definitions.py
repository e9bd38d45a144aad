"""Reads definitions at a snapshot: schemas, tables with their column trees, views, macros.

A question about one table reads that table's rows only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, func, or_, select
from sqlalchemy import Table as SqlTable

from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import (
    Column,
    Default,
    Macro,
    MacroImplementation,
    MacroParameter,
    PartitionField,
    PartitionSpec,
    Schema,
    SortKey,
    SortOrder,
    Table,
    TableEntry,
    View,
)
from ducklake_spark.spec.names import QualifiedName, fold, split_identifier
from ducklake_spark.spec.partitions import parse_transform
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.types import DataType, list_of, map_of, parse_type, struct_of


def visible(table: SqlTable, snapshot_id: int) -> ColumnElement[bool]:
    """Rows that a snapshot sees: begun by then and not ended by then."""
    return and_(
        table.c.begin_snapshot <= snapshot_id,
        or_(table.c.end_snapshot.is_(None), table.c.end_snapshot > snapshot_id),
    )


# --- schemas ---


def read_schemas(connection: Connection, snapshot_id: int) -> list[Schema]:
    rows = connection.execute(
        select(tables.schema).where(visible(tables.schema, snapshot_id)).order_by("schema_id")
    ).all()
    tags = _read_tags(connection, snapshot_id, [row.schema_id for row in rows])
    return [
        Schema(
            id=row.schema_id,
            uuid=row.schema_uuid,
            name=row.schema_name,
            path=StoredPath(row.path, bool(row.path_is_relative)),
            begin_snapshot=row.begin_snapshot,
            tags=tags[row.schema_id],
        )
        for row in rows
    ]


# --- tables ---


def list_tables(connection: Connection, snapshot_id: int, schema: Schema) -> list[TableEntry]:
    t = tables.table.c
    query = (
        select(t.table_id, t.table_name)
        .where(t.schema_id == schema.id, visible(tables.table, snapshot_id))
        .order_by(t.table_id)
    )
    return [
        TableEntry(row.table_id, schema.id, QualifiedName(schema.name, row.table_name))
        for row in connection.execute(query)
    ]


def find_table(
    connection: Connection, snapshot_id: int, schema: Schema, name: str
) -> Row[Any] | None:
    """The row of a table by name; the database narrows, `fold` decides."""
    return _find_named(
        connection, select(tables.table), tables.table, "table_name", snapshot_id, schema, name
    )


def _find_named(
    connection: Connection,
    query: Select[Any],
    table: SqlTable,
    name_column: str,
    snapshot_id: int,
    schema: Schema,
    name: str,
) -> Row[Any] | None:
    stored = table.c[name_column]
    candidates = connection.execute(
        query.where(
            table.c.schema_id == schema.id,
            visible(table, snapshot_id),
            or_(stored == name, func.lower(stored) == func.lower(name)),
        )
    ).all()
    return next((row for row in candidates if fold(row._mapping[stored]) == fold(name)), None)


def read_table(
    connection: Connection, snapshot_id: int, schema: Schema, row: Row[Any], data_path: str
) -> Table:
    """A table's whole definition, from its row in ducklake_table."""
    tags = _read_tags(connection, snapshot_id, [row.table_id])
    path = StoredPath(row.path, bool(row.path_is_relative))
    return Table(
        id=row.table_id,
        uuid=row.table_uuid,
        schema_id=schema.id,
        name=QualifiedName(schema.name, row.table_name),
        path=path,
        location=path.under(schema.path.under(data_path)),
        columns=read_columns(connection, snapshot_id, row.table_id),
        partition=_read_partition(connection, snapshot_id, row.table_id),
        sort=_read_sort(connection, snapshot_id, row.table_id),
        tags=tags[row.table_id],
        begin_snapshot=row.begin_snapshot,
    )


def read_columns(connection: Connection, snapshot_id: int, table_id: int) -> tuple[Column, ...]:
    """The column trees of a table."""
    c = tables.column
    rows = connection.execute(
        select(c)
        .where(c.c.table_id == table_id, visible(c, snapshot_id))
        .order_by(c.c.column_order, c.c.column_id)
    ).all()
    children: defaultdict[int | None, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        children[row.parent_column].append(row)
    tags = _read_column_tags(connection, snapshot_id, table_id)
    return tuple(_column(row, children, tags) for row in children[None])


def _column(
    row: Row[Any],
    children: Mapping[int | None, list[Row[Any]]],
    tags: Mapping[int, Mapping[str, str]],
) -> Column:
    nested = tuple(_column(child, children, tags) for child in children.get(row.column_id, ()))
    return Column(
        id=row.column_id,
        name=row.column_name,
        type=_type(row, nested),
        order=row.column_order,
        nullable=bool(row.nulls_allowed),
        initial_default=row.initial_default,
        default=Default(row.default_value, row.default_value_type, row.default_value_dialect),
        children=nested,
        tags=tags.get(row.column_id, {}),
    )


def _type(row: Row[Any], nested: Sequence[Column]) -> DataType:
    match row.column_type.lower(), nested:
        case "struct", _:
            return struct_of(*((child.name, child.type) for child in nested))
        case "list", [element]:
            return list_of(element.type)
        case "map", [key, value]:
            return map_of(key.type, value.type)
        case "list" | "map", _:
            raise CatalogDamagedError(
                f"Column {row.column_name!r} of table {row.table_id} is a {row.column_type} "
                f"with {len(nested)} child columns.",
                hint="Restore the catalog's table ducklake_column from a backup.",
            )
    return parse_type(row.column_type)


def next_column_id(connection: Connection, table_id: int) -> int:
    """The first column id never used in a table: dropped ids are not used again (FORMAT 1.4)."""
    c = tables.column.c
    highest: int | None = connection.execute(
        select(func.max(c.column_id)).where(c.table_id == table_id)
    ).scalar_one()
    return (highest or 0) + 1


def _read_partition(
    connection: Connection, snapshot_id: int, table_id: int
) -> PartitionSpec | None:
    info, key = tables.partition_info, tables.partition_column
    rows = connection.execute(
        select(info.c.partition_id, key.c.column_id, key.c.transform)
        .select_from(info.outerjoin(key, info.c.partition_id == key.c.partition_id))
        .where(info.c.table_id == table_id, visible(info, snapshot_id))
        .order_by(info.c.partition_id, key.c.partition_key_index)
    ).all()
    if not rows:
        return None
    fields = (
        PartitionField(row.column_id, parse_transform(row.transform))
        for row in rows
        if row.column_id is not None
    )
    return PartitionSpec(rows[0].partition_id, tuple(fields))


def _read_sort(connection: Connection, snapshot_id: int, table_id: int) -> SortOrder | None:
    info, key = tables.sort_info, tables.sort_expression
    rows = connection.execute(
        select(info.c.sort_id, key)
        .select_from(info.join(key, info.c.sort_id == key.c.sort_id))
        .where(info.c.table_id == table_id, visible(info, snapshot_id))
        .order_by(info.c.sort_id, key.c.sort_key_index)
    ).all()
    if not rows:
        return None
    keys = (
        SortKey(
            expression=row.expression,
            descending=row.sort_direction == "DESC",
            nulls_first=row.null_order == "NULLS_FIRST",
            dialect=row.dialect,
        )
        for row in rows
    )
    return SortOrder(rows[0].sort_id, tuple(keys))


# --- views and macros ---


def list_views(connection: Connection, snapshot_id: int, schema: Schema) -> list[View]:
    v = tables.view
    rows = connection.execute(
        select(v).where(v.c.schema_id == schema.id, visible(v, snapshot_id)).order_by(v.c.view_id)
    ).all()
    tags = _read_tags(connection, snapshot_id, [row.view_id for row in rows])
    return [_view(row, schema, tags[row.view_id]) for row in rows]


def find_view(connection: Connection, snapshot_id: int, schema: Schema, name: str) -> View | None:
    row = _find_named(
        connection, select(tables.view), tables.view, "view_name", snapshot_id, schema, name
    )
    if row is None:
        return None
    return _view(row, schema, _read_tags(connection, snapshot_id, [row.view_id])[row.view_id])


def _view(row: Row[Any], schema: Schema, tags: Mapping[str, str]) -> View:
    aliases = row.column_aliases
    return View(
        id=row.view_id,
        uuid=row.view_uuid,
        schema_id=schema.id,
        name=QualifiedName(schema.name, row.view_name),
        sql=row.sql,
        dialect=row.dialect,
        column_aliases=parse_aliases(aliases) if aliases else (),
        tags=tags,
        begin_snapshot=row.begin_snapshot,
    )


def parse_aliases(text: str) -> tuple[str, ...]:
    """The names in ``"a","b c"``: dotted identifiers differ from it by the separator alone."""
    names, at = [], 0
    while at < len(text):
        end = at + 1
        while text[end] != '"' or text[end : end + 2] == '""':
            end += 2 if text[end] == '"' else 1
        names.extend(split_identifier(text[at : end + 1]))
        at = end + 2
    return tuple(names)


def list_macros(connection: Connection, snapshot_id: int, schema: Schema) -> list[Macro]:
    m = tables.macro
    rows = connection.execute(
        select(m.c.macro_id, m.c.macro_name)
        .where(m.c.schema_id == schema.id, visible(m, snapshot_id))
        .order_by(m.c.macro_id)
    ).all()
    return [
        Macro(row.macro_id, schema.id, row.macro_name, _implementations(connection, row.macro_id))
        for row in rows
    ]


def _implementations(connection: Connection, macro_id: int) -> tuple[MacroImplementation, ...]:
    i, p = tables.macro_impl, tables.macro_parameters
    parameters: defaultdict[int, list[MacroParameter]] = defaultdict(list)
    for row in connection.execute(
        select(p).where(p.c.macro_id == macro_id).order_by(p.c.impl_id, p.c.column_id)
    ):
        parameters[row.impl_id].append(
            MacroParameter(
                row.parameter_name, row.parameter_type, row.default_value, row.default_value_type
            )
        )
    rows = connection.execute(select(i).where(i.c.macro_id == macro_id).order_by(i.c.impl_id))
    return tuple(
        MacroImplementation(row.dialect, row.sql, row.type, tuple(parameters[row.impl_id]))
        for row in rows
    )


# --- tags ---


def _read_tags(
    connection: Connection, snapshot_id: int, object_ids: Iterable[int]
) -> defaultdict[int, dict[str, str]]:
    t = tables.tag
    wanted = list(object_ids)
    tags: defaultdict[int, dict[str, str]] = defaultdict(dict)
    if wanted:
        for row in connection.execute(
            select(t).where(t.c.object_id.in_(wanted), visible(t, snapshot_id))
        ):
            tags[row.object_id][row.key] = row.value
    return tags


def _read_column_tags(
    connection: Connection, snapshot_id: int, table_id: int
) -> defaultdict[int, dict[str, str]]:
    t = tables.column_tag
    tags: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for row in connection.execute(
        select(t).where(t.c.table_id == table_id, visible(t, snapshot_id))
    ):
        tags[row.column_id][row.key] = row.value
    return tags
