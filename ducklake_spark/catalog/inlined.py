"""Reads the rows of a table that live in the catalog database itself (FORMAT 1.16).

Every schema version of a table has an inlined table of its own, whose columns have the names and
types of that version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    String,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    or_,
    quoted_name,
    select,
)
from sqlalchemy import Column as SqlColumn
from sqlalchemy import Table as SqlTable
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from ducklake_spark.catalog.definitions import read_columns
from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.versions import current_format
from ducklake_spark.spec import tables
from ducklake_spark.spec.evolution import initial_value, reshape
from ducklake_spark.spec.model import Column, InlinedLives, InlinedRow, Table
from ducklake_spark.spec.names import fold
from ducklake_spark.spec.types import SIGNED, UNSIGNED, DataType, ListType, MapType, StructType
from ducklake_spark.spec.values import parse_nested, parse_text

# Read as the driver gives them; all other types come as text, which loses nothing.
_OPAQUE = {"variant", "geometry", "unknown"}
_NATIVE = {*SIGNED, *UNSIGNED, "boolean", "varchar", "json", "blob"}


_t = tables.inlined_data_tables.c
# The leading columns of a table of inlined rows, and a condition on them.
_Columns = ReadOnlyColumnCollection[str, SqlColumn[Any]]
_Condition = Callable[[_Columns], ColumnElement[bool]]
_INLINED_TABLES = select(_t.table_name, _t.schema_version).where(
    _t.table_id == bindparam("table_id", type_=BigInteger)
)


def inlined_tables(connection: Connection, table_id: int) -> list[tuple[str, int]]:
    """The names of a table's inlined data tables with their schema versions."""
    rows = connection.execute(_INLINED_TABLES, {"table_id": table_id})
    return [(row.table_name, row.schema_version) for row in rows]


def rows_table(connection: Connection, name: str) -> SqlTable:
    """Return a table of inlined rows with its leading columns, as the lake's version names them."""
    return tables.inlined_rows(name, current_format(connection).inlined_columns)


def read_inlined_rows(
    connection: Connection, database: CatalogDatabase, snapshot_id: int, table: Table
) -> list[InlinedRow]:
    """The inlined rows that a snapshot sees, in the shape of the table's current columns."""

    def is_visible(c: _Columns) -> ColumnElement[bool]:
        is_live = or_(c.end_snapshot.is_(None), snapshot_id < c.end_snapshot)
        return is_live & (snapshot_id >= c.begin_snapshot)

    return _read(connection, database, table, is_visible)


def read_inlined_changes(
    connection: Connection, database: CatalogDatabase, after: int, up_to: int, table: Table
) -> list[InlinedRow]:
    """The inlined rows that began or ended between two snapshots (the first exclusive)."""

    def is_changed(c: _Columns) -> ColumnElement[bool]:
        began = (after < c.begin_snapshot) & (up_to >= c.begin_snapshot)
        ended = (after < c.end_snapshot) & (up_to >= c.end_snapshot)
        return or_(began, ended)

    return _read(connection, database, table, is_changed)


def read_inlined_lives(
    connection: Connection, database: CatalogDatabase, snapshot_id: int, table: Table
) -> list[InlinedLives]:
    """All inlined rows up to a snapshot, ended ones too, each table in the shape of its time."""
    lives: list[InlinedLives] = []
    known = sorted(inlined_tables(connection, table.id), key=lambda entry: entry[1])
    for name, schema_version in known:
        if database.table_exists(connection, name):
            stored = columns_of_version(connection, table.id, schema_version)
            shape = replace(table, columns=tuple(stored))
            rows = _read_one(
                connection, database, shape, name, stored, lambda c: snapshot_id >= c.begin_snapshot
            )
            lives.append(InlinedLives(shape.columns, tuple(rows)))
    return lives


def _read(
    connection: Connection,
    database: CatalogDatabase,
    table: Table,
    condition: _Condition,
) -> list[InlinedRow]:
    rows: list[InlinedRow] = []
    for name, schema_version in inlined_tables(connection, table.id):
        if not database.table_exists(connection, name):
            continue  # flushed since: DuckDB drops the table before its row
        stored = columns_of_version(connection, table.id, schema_version)
        rows.extend(_read_one(connection, database, table, name, stored, condition))
    return sorted(rows, key=lambda row: (row.row_id, row.begin_snapshot))


def columns_of_version(
    connection: Connection, table_id: int, schema_version: int
) -> Sequence[Column]:
    """A table's columns as of a schema version: what its last definition change by then made."""
    v = tables.schema_versions.c
    begin: int | None = connection.execute(
        select(func.max(v.begin_snapshot)).where(
            v.table_id == table_id, v.schema_version <= schema_version
        )
    ).scalar_one()
    return read_columns(connection, begin or 0, table_id)


def _read_one(
    connection: Connection,
    database: CatalogDatabase,
    table: Table,
    name: str,
    stored: Sequence[Column],
    condition: _Condition,
) -> list[InlinedRow]:
    if any(column.type.name == "interval" for column in stored):
        database.unify_intervals(connection)
    names = stored_names(connection, name)
    values = [_selected(database, c.type, names.get(fold(c.name), c.name)) for c in stored]
    c = rows_table(connection, name).c
    query = select(c.row_id, c.begin_snapshot, c.end_snapshot, *values).where(condition(c))
    decoders = [_decoder(c.type) for c in stored]
    old = {c.id: (c, at) for at, c in enumerate(stored)}

    def value_of(raw: Sequence[Any], new: Column) -> Any:
        if new.id not in old:
            return initial_value(new)
        before, at = old[new.id]
        if raw[at] is None:
            return None
        value = decoders[at](raw[at])
        return value if _is_opaque(before.type) else reshape(value, before, new)

    found: list[InlinedRow] = []
    for row in connection.execute(query):
        raw: list[Any] = list(row)
        row_id, begin, end, raw = raw[0], raw[1], raw[2], raw[3:]
        found.append(
            InlinedRow(row_id, begin, end, {c.id: value_of(raw, c) for c in table.columns})
        )
    return found


def stored_names(connection: Connection, table_name: str) -> dict[str, str]:
    """The real names of an inlined table's columns, by folded name.

    DuckDB does not quote a name for its capitals alone, and PostgreSQL then folds it.
    """
    nothing: Select[Any] = (
        select(literal_column("*")).select_from(tables.inlined_table(table_name)).limit(0)
    )
    names = connection.execute(nothing).keys()
    return {fold(name): name for name in names}


def _selected(database: CatalogDatabase, data_type: DataType, name: str) -> ColumnElement[Any]:
    # In quotes whatever it is: SQLAlchemy does not know every database's keywords.
    named: ColumnElement[Any] = column(quoted_name(name, quote=True))
    if data_type.name in _NATIVE or database.kind == "sqlite":
        return named
    return cast(named, String)


def _is_opaque(data_type: DataType) -> bool:
    """Check for types whose text in a catalog cannot be read as values."""
    match data_type:
        case ListType(element=element):
            return _is_opaque(element)
        case MapType(key=key, value=value):
            return _is_opaque(key) or _is_opaque(value)
        case StructType(fields=fields):
            return any(_is_opaque(kind) for _, kind in fields)
    return data_type.name in _OPAQUE


def _decoder(data_type: DataType) -> Callable[[Any], Any]:
    if _is_opaque(data_type):
        return str  # an error here would keep queries from the other columns
    if data_type.is_nested:
        return lambda raw: parse_nested(raw, data_type)
    match data_type.name:
        case "boolean":
            return bool
        case "blob":
            return bytes
        case "varchar" | "json":
            return _decode_text
        case name if name in _NATIVE:
            return int
        case _:
            return lambda raw: parse_text(str(raw), data_type)


def _decode_text(raw: Any) -> str:
    # PostgreSQL's text cannot hold NUL, so DuckDB stores strings there as UTF-8 bytes.
    return raw if isinstance(raw, str) else bytes(raw).decode()
