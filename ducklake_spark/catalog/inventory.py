"""Every file that any snapshot of the lake needs, and where each table's files lie."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import BigInteger, Connection, bindparam, func, select

from ducklake_spark.catalog.definitions import FOREVER, read_columns
from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.files import (
    data_file_of,
    delete_file_of,
    read_file_stats,
    read_inlined_deletes,
)
from ducklake_spark.catalog.versions import current_format
from ducklake_spark.errors import CatalogDamagedError, InvalidDefinitionError
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import Column, DataFile, DeleteFile
from ducklake_spark.spec.paths import StoredPath


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of one table over its whole history, with the columns it has, or last had."""

    table_id: int
    columns: tuple[Column, ...]
    data_files: tuple[DataFile, ...]
    delete_files: tuple[tuple[DataFile, DeleteFile], ...]
    next_row_id: int | None = None  # None if the table has no statistics


_t, _s = tables.table.c, tables.schema.c
_TABLE = bindparam("table_id", type_=BigInteger)


def read_locations(connection: Connection, data_path: str) -> dict[int, str]:
    """The directory of each table, past ones included.

    Without tables of nested schemas, whose directories are not documented.
    """
    is_nested = current_format(connection).has_nested_schemas
    nested = select(_s.schema_id).where(tables.PARENT_SCHEMA_ID.is_not(None))
    schemas = {
        row.schema_id: StoredPath(row.path, bool(row.path_is_relative)).under(data_path)
        for row in connection.execute(select(_s.schema_id, _s.path, _s.path_is_relative))
    }
    query = select(_t.table_id, _t.schema_id, _t.path, _t.path_is_relative)
    if is_nested:
        query = query.where(_t.schema_id.not_in(nested))
    return {
        row.table_id: StoredPath(row.path, bool(row.path_is_relative)).under(
            schemas.get(row.schema_id, data_path)
        )
        for row in connection.execute(query.order_by(_t.begin_snapshot))
    }


_DATA = select(tables.data_file).where(tables.data_file.c.table_id == _TABLE)
_DELETES = select(tables.delete_file).where(tables.delete_file.c.table_id == _TABLE)
_NEXT_ROW_ID = select(func.max(tables.table_stats.c.next_row_id)).where(
    tables.table_stats.c.table_id == _TABLE
)
_LAST_SEEN = select(func.max(func.coalesce(_t.end_snapshot - 1, FOREVER))).where(
    _t.table_id == _TABLE
)


def _columns(connection: Connection, snapshot_id: int, table_id: int) -> tuple[Column, ...]:
    try:
        return read_columns(connection, snapshot_id, table_id)
    except (CatalogDamagedError, InvalidDefinitionError):
        return ()  # files can be found and measured all the same


def read_table_files(
    connection: Connection, database: CatalogDatabase, table_id: int, location: str
) -> TableFiles:
    """All files of a table that the catalog has, whichever snapshot needs them."""
    parameters = {"table_id": table_id}
    last: int = connection.execute(_LAST_SEEN, parameters).scalar_one()
    gone = read_inlined_deletes(connection, database, FOREVER, table_id)
    data = {
        row.data_file_id: replace(
            data_file_of(row, location), inlined_deletes=tuple(gone.get(row.data_file_id, ()))
        )
        for row in connection.execute(_DATA, parameters)
    }
    deletes = [
        (data[row.data_file_id], delete_file_of(row, location))
        for row in connection.execute(_DELETES, parameters)
        if row.data_file_id in data
    ]
    columns = _columns(connection, last, table_id)
    leaves = [leaf.id for column in columns for leaf in column.walk()]
    stats = read_file_stats(connection, table_id, list(data), leaves)
    data = {i: replace(file, stats=stats.get(i, {})) for i, file in data.items()}
    next_row_id: int | None = connection.execute(_NEXT_ROW_ID, parameters).scalar_one()
    return TableFiles(table_id, columns, tuple(data.values()), tuple(deletes), next_row_id)
