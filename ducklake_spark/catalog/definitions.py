"""Reads definitions at a snapshot: schemas, and tables with their column trees.

A question about one table reads that table's rows only. Statements are put together once, with
parameters for what differs: to build one anew costs several times what it takes to run it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    String,
    and_,
    bindparam,
    func,
    or_,
    select,
)
from sqlalchemy import Table as SqlTable

from ducklake_spark.catalog.versions import current_format
from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import (
    Column,
    Default,
    PartitionField,
    PartitionSpec,
    Schema,
    SortKey,
    SortOrder,
    Table,
    TableEntry,
)
from ducklake_spark.spec.names import QualifiedName, fold
from ducklake_spark.spec.partitions import parse_transform
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.types import DataType, list_of, map_of, parse_type, struct_of

# Later than every snapshot, for lifetimes that have no end.
FOREVER = 2**62

# Parameters of the statements below, by the same names.
_SNAPSHOT = bindparam("snapshot_id", type_=BigInteger)
SCHEMA = bindparam("schema_id", type_=BigInteger)
_TABLE = bindparam("table_id", type_=BigInteger)
_NAME = bindparam("name", type_=String)


def visible(table: SqlTable) -> ColumnElement[bool]:
    """Rows that the snapshot in the parameter `snapshot_id` sees: begun, and not ended by then."""
    return and_(
        table.c.begin_snapshot <= _SNAPSHOT,
        or_(table.c.end_snapshot.is_(None), table.c.end_snapshot > _SNAPSHOT),
    )


# --- tags ---

Tagged = tuple[Row[Any], dict[str, str]]


def with_tags(table: SqlTable, tags: SqlTable, belongs: ColumnElement[bool]) -> Select[Any]:
    """The rows of a table, each with one of its tags: as often as there are tags, at least once."""
    joined = table.outerjoin(tags, and_(belongs, visible(tags)))
    return select(table, tags.c.key, tags.c.value).select_from(joined).where(visible(table))


def grouped(rows: Iterable[Row[Any]], key: str) -> list[Tagged]:
    """Each row once, with all its tags."""
    found: dict[int, Tagged] = {}
    for row in rows:
        _, tags = found.setdefault(row._mapping[key], (row, {}))
        if row.key is not None:
            tags[row.key] = row.value
    return list(found.values())


# --- schemas ---

_SCHEMAS = with_tags(
    tables.schema, tables.tag, tables.tag.c.object_id == tables.schema.c.schema_id
).order_by(tables.schema.c.schema_id)


_NESTED_SCHEMAS = _SCHEMAS.add_columns(tables.PARENT_SCHEMA_ID)


def read_schemas(connection: Connection, snapshot_id: int) -> list[Schema]:
    """Read all schemas, nested ones too."""
    is_nested = current_format(connection).has_nested_schemas
    query = _NESTED_SCHEMAS if is_nested else _SCHEMAS
    rows = connection.execute(query, {"snapshot_id": snapshot_id})
    return [
        Schema(
            id=row.schema_id,
            uuid=row.schema_uuid,
            name=row.schema_name,
            path=StoredPath(row.path, bool(row.path_is_relative)),
            begin_snapshot=row.begin_snapshot,
            tags=tags,
            parent_id=row.parent_schema_id if is_nested else None,
        )
        for row, tags in grouped(rows, "schema_id")
    ]


# --- tables ---

_LISTED_TABLES = (
    with_tags(tables.table, tables.tag, tables.tag.c.object_id == tables.table.c.table_id)
    .where(tables.table.c.schema_id == SCHEMA)
    .order_by(tables.table.c.table_id)
)


def list_tables(connection: Connection, snapshot_id: int, schema: Schema) -> list[TableEntry]:
    parameters = {"snapshot_id": snapshot_id, "schema_id": schema.id}
    rows = connection.execute(_LISTED_TABLES, parameters)
    return [
        TableEntry(row.table_id, schema.id, QualifiedName(schema.name, row.table_name), tags)
        for row, tags in grouped(rows, "table_id")
    ]


def named(table: SqlTable, id_column: str, name_column: str) -> Select[Any]:
    """Rows that may have the name `fold` tells to be the one that is wanted."""
    stored = table.c[name_column]
    return with_tags(table, tables.tag, tables.tag.c.object_id == table.c[id_column]).where(
        table.c.schema_id == SCHEMA, func.lower(stored) == func.lower(_NAME)
    )


_TABLE_NAMED = named(tables.table, "table_id", "table_name")
_COLUMNS = (
    with_tags(
        tables.column,
        tables.column_tag,
        and_(
            tables.column_tag.c.table_id == tables.column.c.table_id,
            tables.column_tag.c.column_id == tables.column.c.column_id,
        ),
    )
    .where(tables.column.c.table_id == _TABLE)
    .order_by(tables.column.c.column_order, tables.column.c.column_id)
)


def find_table(
    connection: Connection, snapshot_id: int, schema: Schema, name: str, data_path: str
) -> Table | None:
    """A table's whole definition, by name."""
    parameters = {"snapshot_id": snapshot_id, "schema_id": schema.id, "name": name}
    for row, tags in grouped(connection.execute(_TABLE_NAMED, parameters), "table_id"):
        if fold(row.table_name) == fold(name):
            return _read_table(connection, snapshot_id, schema, row, tags, data_path)
    return None


def _read_table(
    connection: Connection,
    snapshot_id: int,
    schema: Schema,
    row: Row[Any],
    tags: Mapping[str, str],
    data_path: str,
) -> Table:
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
        tags=tags,
        begin_snapshot=row.begin_snapshot,
    )


def read_columns(connection: Connection, snapshot_id: int, table_id: int) -> tuple[Column, ...]:
    """The column trees of a table."""
    parameters = {"snapshot_id": snapshot_id, "table_id": table_id}
    children: defaultdict[int | None, list[Tagged]] = defaultdict(list)
    for row, tags in grouped(connection.execute(_COLUMNS, parameters), "column_id"):
        children[row.parent_column].append((row, tags))
    return tuple(_column(*root, children) for root in children[None])


def _column(
    row: Row[Any], tags: Mapping[str, str], children: Mapping[int | None, list[Tagged]]
) -> Column:
    nested = tuple(_column(*child, children) for child in children.get(row.column_id, ()))
    return Column(
        id=row.column_id,
        name=row.column_name,
        type=_type(row, nested),
        order=row.column_order,
        nullable=bool(row.nulls_allowed),
        initial_default=row.initial_default,
        default=Default(row.default_value, row.default_value_type, row.default_value_dialect),
        children=nested,
        tags=tags,
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


_BIRTHS = (
    select(tables.column.c.column_id, func.min(tables.column.c.begin_snapshot).label("born"))
    .where(tables.column.c.table_id == bindparam("table_id", type_=BigInteger))
    .group_by(tables.column.c.column_id)
)
_FORMER_TYPES = (
    select(
        tables.column.c.column_id,
        tables.column.c.column_type,
        func.max(tables.column.c.end_snapshot).label("ended"),
    )
    .where(tables.column.c.table_id == _TABLE, tables.column.c.end_snapshot <= _SNAPSHOT)
    .group_by(tables.column.c.column_id, tables.column.c.column_type)
)
_v = tables.schema_versions.c
_SCHEMA_VERSIONS = (
    select(_v.begin_snapshot, _v.schema_version)
    .where(_v.table_id == _TABLE)
    .order_by(_v.begin_snapshot, _v.schema_version)
)
_HIGHEST_COLUMN_ID = select(func.max(tables.column.c.column_id)).where(
    tables.column.c.table_id == _TABLE
)


def column_births(connection: Connection, table_id: int) -> dict[int, int]:
    """The snapshot that added each column or field a table ever had, by its id."""
    return {row.column_id: row.born for row in connection.execute(_BIRTHS, {"table_id": table_id})}


def former_types(
    connection: Connection, snapshot_id: int, table: Table
) -> dict[int, dict[DataType, int]]:
    """Other types that leaves of the table had, each with the snapshot that ended it."""
    now = {leaf.id: leaf.type for leaf in table.walk() if not leaf.children}
    found: defaultdict[int, dict[DataType, int]] = defaultdict(dict)
    parameters = {"table_id": table.id, "snapshot_id": snapshot_id}
    for row in connection.execute(_FORMER_TYPES, parameters):
        if row.column_id in now and (old := parse_type(row.column_type)) != now[row.column_id]:
            found[row.column_id][old] = row.ended
    return found


def read_schema_versions(connection: Connection, table_id: int) -> list[tuple[int, int]]:
    """The snapshots that changed a table's definition, in order, with the versions they made."""
    rows = connection.execute(_SCHEMA_VERSIONS, {"table_id": table_id})
    return [(row.begin_snapshot, row.schema_version) for row in rows]


def next_column_id(connection: Connection, table_id: int) -> int:
    """The first column id never used in a table: dropped ids are not used again (FORMAT 1.4)."""
    highest: int | None = connection.execute(
        _HIGHEST_COLUMN_ID, {"table_id": table_id}
    ).scalar_one()
    return (highest or 0) + 1


def _in_force(
    info: SqlTable, key: SqlTable, id_column: str, order_column: str, *, outer: bool
) -> Select[Any]:
    """What is in force for a table, a row for each of its keys."""
    joined = info.join(key, info.c[id_column] == key.c[id_column], isouter=outer)
    return (
        select(info.c[id_column].label("id"), key)
        .select_from(joined)
        .where(info.c.table_id == _TABLE, visible(info))
        .order_by(info.c[id_column], key.c[order_column])
    )


_PARTITION = _in_force(
    tables.partition_info,
    tables.partition_column,
    "partition_id",
    "partition_key_index",
    outer=True,
)
_SORT = _in_force(
    tables.sort_info, tables.sort_expression, "sort_id", "sort_key_index", outer=False
)


def _read_partition(
    connection: Connection, snapshot_id: int, table_id: int
) -> PartitionSpec | None:
    parameters = {"snapshot_id": snapshot_id, "table_id": table_id}
    rows = connection.execute(_PARTITION, parameters).all()
    if not rows:
        return None
    epochs = current_format(connection).has_epoch_transforms
    fields = (
        PartitionField(row.column_id, parse_transform(row.transform, epochs=epochs))
        for row in rows
        if row.column_id is not None
    )
    return PartitionSpec(rows[0].id, tuple(fields))


def _read_sort(connection: Connection, snapshot_id: int, table_id: int) -> SortOrder | None:
    parameters = {"snapshot_id": snapshot_id, "table_id": table_id}
    rows = connection.execute(_SORT, parameters).all()
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
    return SortOrder(rows[0].id, tuple(keys))
