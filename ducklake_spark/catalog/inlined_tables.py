"""Makes the tables that hold inlined rows, where a change of columns needs new ones (FORMAT 1.16).

DuckDB puts the values of a small write into the newest inlined table by their place, whatever
columns that table has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, Connection, MetaData, quoted_name
from sqlalchemy import Column as SqlColumn
from sqlalchemy import Table as SqlTable
from sqlalchemy.schema import CreateTable
from sqlalchemy.types import UserDefinedType

from ducklake_spark.catalog.batch import Batch
from ducklake_spark.catalog.inlined import inlined_tables
from ducklake_spark.catalog.local_changes import LocalChanges, changed
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import as_duckdb_writes, fold, needs_quotes
from ducklake_spark.spec.types import SIGNED, DataType, ListType, MapType, Primitive, StructType

_OWN = ("row_id", "begin_snapshot", "end_snapshot")
_RESERVED = {*_OWN, "_ducklake_internal_row_id", "_ducklake_internal_snapshot_id"}
_LONGEST_NAME = {"postgres": 63}
_NOT_INLINED = {
    "sqlite": {"geometry", "variant"},
    "postgres": {"geometry", "variant"},
    "duckdb": {"geometry"},
}


def add_inlined_tables(
    batch: Batch, connection: Connection, kind: str, changes: LocalChanges
) -> None:
    """Collect an empty inlined table for each table with such tables whose columns change.

    A table that has none yet gets it from DuckDB with the first row.
    """
    for table_id, entry in changed(changes.tables):
        before, after = entry.base, entry.current
        if before is None or after is None or _shape(before) == _shape(after):
            continue
        if _can_inline(after, kind) and inlined_tables(connection, table_id):
            version = batch.head.schema_version + 1  # this commit changes it
            name = f"ducklake_inlined_data_{table_id}_{version}"
            batch.add(
                tables.inlined_data_tables,
                table_id=table_id,
                table_name=name,
                schema_version=version,
            )
            batch.statements.append(CreateTable(_inlined_table(name, after, kind)))


def _shape(table: Table) -> list[tuple[int, str, DataType]]:
    return [(column.id, column.name, column.type) for column in table.columns]


def _can_inline(table: Table, kind: str) -> bool:
    """Whether DuckDB would; if not, it writes files and needs no inlined table."""
    longest = _LONGEST_NAME.get(kind)
    return not any(
        fold(column.name) in _RESERVED
        or (longest is not None and len(column.name.encode()) > longest)
        or any(leaf.type.name in _NOT_INLINED[kind] for leaf in column.walk())
        for column in table.columns
    )


def _inlined_table(name: str, table: Table, kind: str) -> SqlTable:
    own = [SqlColumn(column, BigInteger) for column in _OWN]
    # In quotes whatever they are: SQLAlchemy does not know every database's keywords.
    columns = [
        SqlColumn(quoted_name(_name(c, kind), quote=True), _SqlType(_type(c.type, kind)))
        for c in table.columns
    ]
    return SqlTable(name, MetaData(), *own, *columns)


def _name(column: Column, kind: str) -> str:
    # PostgreSQL folds what DuckDB does not quote, and DuckDB asks for it in the same way.
    folds = kind == "postgres" and not needs_quotes(column.name)
    return fold(column.name) if folds else column.name


class _SqlType(UserDefinedType[Any]):
    """A type by its SQL."""

    cache_ok = True

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def get_col_spec(self, **_: Any) -> str:
        return self.sql


# --- what the columns are in each database; all else is text ---

_SQLITE = dict.fromkeys(("boolean", *SIGNED, "uint8", "uint16", "uint32"), "BIGINT") | {
    "blob": "BLOB"
}
_POSTGRES = {
    "boolean": "BOOLEAN",
    "int8": "SMALLINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "INTEGER",
    "uint16": "INTEGER",
    "uint32": "BIGINT",
    "float32": "REAL",
    "float64": "DOUBLE PRECISION",
    "time": "TIME",
    "timetz": "TIME WITH TIME ZONE",
    "interval": "INTERVAL",
    "varchar": "BYTEA",
    "json": "BYTEA",
    "blob": "BYTEA",
    "uuid": "UUID",
}
_DUCKDB = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "int128": "HUGEINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "uint128": "UHUGEINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}
_NAMES: Mapping[str, Mapping[str, str]] = {"sqlite": _SQLITE, "postgres": _POSTGRES}


def _type(data_type: DataType, kind: str) -> str:
    if kind == "duckdb":
        return _duckdb_type(data_type)
    if kind == "postgres" and data_type.name == "decimal":
        return str(data_type).upper()
    return _NAMES[kind].get(data_type.name, "VARCHAR")


def _duckdb_type(data_type: DataType) -> str:
    match data_type:
        case StructType(fields=fields):
            inner = (f"{as_duckdb_writes(n)} {_duckdb_type(part)}" for n, part in fields)
            return f"STRUCT({', '.join(inner)})"
        case ListType(element=element):
            return f"{_duckdb_type(element)}[]"
        case MapType(key=key, value=value):
            return f"MAP({_duckdb_type(key)}, {_duckdb_type(value)})"
        case Primitive(name="decimal"):
            return str(data_type).upper()
        case _:
            return _DUCKDB.get(data_type.name, data_type.name.upper())
