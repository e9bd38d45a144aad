"""Reads the files of one table at a snapshot: data files with what is deleted from them.

One transaction per question: compaction replaces rows of files that old snapshots see.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    or_,
    select,
)

from ducklake_spark.catalog.definitions import visible
from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.prune import not_ruled_out
from ducklake_spark.catalog.versions import current_format
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import DataFile, DeleteFile, Table, TableStats
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.predicates import Predicate, columns_of, might_match
from ducklake_spark.spec.stats import ColumnStats, TableColumnStats, cover_truncated
from ducklake_spark.spec.types import DataType, Primitive

_data, _delete = tables.data_file, tables.delete_file
_TABLE = bindparam("table_id", type_=BigInteger)
# Above this, a list of file ids costs more than reading all rows of the table.
_MANY = 5_000
_AT_ONCE = 500


def read_files(
    connection: Connection,
    database: CatalogDatabase,
    snapshot_id: int,
    table: Table,
    *,
    predicate: Predicate | None = None,
    stats_of: Collection[int] = (),
) -> list[DataFile]:
    """The data files of a table, in file order, less those that statistics rule out.

    `stats_of` names the columns whose statistics shall come along.
    """
    types = {c.id: c.type for c in table.walk()}
    is_cut = current_format(connection).has_truncated_bounds
    condition = (
        not_ruled_out(database, table.id, predicate, _without_text(types) if is_cut else types)
        if predicate
        else None
    )
    parameters = {"snapshot_id": snapshot_id, "table_id": table.id}
    query = _FILES if condition is None else _FILES.where(condition)
    rows: Sequence[Row[Any]] = connection.execute(query, parameters).all()
    deletes: defaultdict[int, list[DeleteFile]] = defaultdict(list)
    for row in rows:
        if row.delete_delete_file_id is not None:
            deletes[row.data_file_id].append(delete_file_of(row, table.location, "delete_"))
    rows = list({row.data_file_id: row for row in rows}.values())
    ids = [row.data_file_id for row in rows]
    wanted = set(stats_of) | (columns_of(predicate) if predicate else set())
    stats = read_file_stats(connection, table.id, ids, wanted)
    if is_cut:
        stats = {
            i: {c: cover_truncated(s, types[c]) for c, s in of.items()} for i, of in stats.items()
        }
    values = _read_partition_values(connection, table.id, rows)
    gone = read_inlined_deletes(connection, database, snapshot_id, table.id)
    files = [
        replace(
            data_file_of(row, table.location),
            partition_values=values.get(row.data_file_id, ()),
            delete_file=next(iter(deletes[row.data_file_id]), None),
            further_deletes=tuple(deletes[row.data_file_id][1:]),
            inlined_deletes=tuple(sorted(gone.get(row.data_file_id, ()))),
            stats=stats.get(row.data_file_id, {}),
        )
        for row in rows
    ]
    if predicate is None:
        return files
    return [file for file in files if might_match(predicate, file.stats, types)]


def _without_text(types: Mapping[int, DataType]) -> Mapping[int, DataType]:
    """The types as far as a database can compare their bounds, if those of text may be cut off."""
    return {i: Primitive("json") if t.name == "varchar" else t for i, t in types.items()}


_LIVE_DELETE = and_(
    _delete.c.data_file_id == _data.c.data_file_id,
    _delete.c.table_id == _data.c.table_id,
    visible(_delete),
)
_FILES = (
    select(_data, *(c.label(f"delete_{c.name}") for c in _delete.c))
    .select_from(_data.outerjoin(_delete, _LIVE_DELETE))
    .where(_data.c.table_id == _TABLE, visible(_data))
    .order_by(_data.c.file_order, _data.c.data_file_id)
)


def data_file_of(row: Row[Any], location: str) -> DataFile:
    """A data file from its own row alone."""
    return DataFile(
        id=row.data_file_id,
        path=StoredPath(row.path, bool(row.path_is_relative)).under(location),
        record_count=row.record_count,
        file_size_bytes=row.file_size_bytes,
        footer_size=row.footer_size,
        row_id_start=row.row_id_start,
        begin_snapshot=row.begin_snapshot,
        partition_id=row.partition_id,
        mapping_id=row.mapping_id,
        partial_max=row.partial_max,
        format=row.file_format,
        encryption_key=row.encryption_key,
        order=row.file_order,
    )


def delete_file_of(row: Row[Any], location: str, prefix: str = "") -> DeleteFile:
    """A delete file from its row, whose columns may have a prefix."""

    def part(name: str) -> Any:
        return getattr(row, prefix + name)

    return DeleteFile(
        id=part("delete_file_id"),
        path=StoredPath(part("path"), bool(part("path_is_relative"))).under(location),
        delete_count=part("delete_count"),
        file_size_bytes=part("file_size_bytes"),
        footer_size=part("footer_size"),
        begin_snapshot=part("begin_snapshot"),
        partial_max=part("partial_max"),
        format=part("format"),
        encryption_key=part("encryption_key"),
    )


def read_file_stats(
    connection: Connection, table_id: int, file_ids: Sequence[int], column_ids: Collection[int]
) -> Mapping[int, Mapping[int, ColumnStats]]:
    """Statistics of some columns by file and column."""
    if not file_ids or not column_ids:
        return {}
    s = tables.file_column_stats.c
    query = select(tables.file_column_stats).where(
        s.table_id == table_id, s.column_id.in_(sorted(column_ids))
    )
    stats: defaultdict[int, dict[int, ColumnStats]] = defaultdict(dict)
    for row in rows_of(connection, query, s.data_file_id, file_ids):
        stats[row.data_file_id][row.column_id] = ColumnStats(
            column_id=row.column_id,
            column_size_bytes=row.column_size_bytes,
            value_count=row.value_count,
            null_count=row.null_count,
            min_value=row.min_value,
            max_value=row.max_value,
            contains_nan=row.contains_nan,
            extra_stats=row.extra_stats,
        )
    return stats


def _read_partition_values(
    connection: Connection, table_id: int, files: Sequence[Row[Any]]
) -> Mapping[int, tuple[str | None, ...]]:
    partitioned = [row.data_file_id for row in files if row.partition_id is not None]
    if not partitioned:
        return {}
    v = tables.file_partition_value.c
    query = (
        select(v.data_file_id, v.partition_value)
        .where(v.table_id == table_id)
        .order_by(v.data_file_id, v.partition_key_index)
    )
    values: defaultdict[int, list[str | None]] = defaultdict(list)
    for row in rows_of(connection, query, v.data_file_id, partitioned):
        values[row.data_file_id].append(row.partition_value)
    return {file_id: tuple(parts) for file_id, parts in values.items()}


def rows_of(
    connection: Connection, query: Select[Any], column: ColumnElement[int], ids: Sequence[int]
) -> Iterator[Row[Any]]:
    """The rows of some files; for very many of them, of others too."""
    if len(ids) > _MANY:
        yield from connection.execute(query)
        return
    for at in range(0, len(ids), _AT_ONCE):
        yield from connection.execute(query.where(column.in_(ids[at : at + _AT_ONCE])))


def inlined_delete_table(table_id: int) -> str:
    return f"ducklake_inlined_delete_{table_id}"


def read_inlined_deletes(
    connection: Connection, database: CatalogDatabase, snapshot_id: int, table_id: int
) -> Mapping[int, dict[int, int]]:
    """Positions deleted from data files by rows of the catalog, per file (FORMAT 1.16).

    With the snapshot that deleted each.
    """
    name = inlined_delete_table(table_id)
    if not database.table_exists(connection, name):
        return {}
    stored = tables.inlined_table(name, "file_id", "row_id", "begin_snapshot")
    positions: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for row in connection.execute(select(stored).where(stored.c.begin_snapshot <= snapshot_id)):
        positions[row.file_id][row.row_id] = row.begin_snapshot
    return positions


# --- statistics of a whole table ---

_stats = tables.table_stats.c
_TABLE_STATS = select(_stats.record_count, _stats.next_row_id, _stats.file_size_bytes).where(
    _stats.table_id == _TABLE
)
_TABLE_COLUMN_STATS = select(tables.table_column_stats).where(
    tables.table_column_stats.c.table_id == _TABLE
)


def read_table_stats(connection: Connection, table_id: int) -> TableStats | None:
    """The counts of a table, or None if nothing was ever written to it."""
    row = connection.execute(_TABLE_STATS, {"table_id": table_id}).first()
    if row is None:
        return None
    return TableStats(row.record_count, row.next_row_id, row.file_size_bytes)


def read_table_column_stats(connection: Connection, table_id: int) -> dict[int, TableColumnStats]:
    """The statistics of a table's columns; a column without a row has unknown ones (rule 2)."""
    return {
        row.column_id: TableColumnStats(
            column_id=row.column_id,
            contains_null=row.contains_null,
            contains_nan=row.contains_nan,
            min_value=row.min_value,
            max_value=row.max_value,
            extra_stats=row.extra_stats,
        )
        for row in connection.execute(_TABLE_COLUMN_STATS, {"table_id": table_id})
    }


def has_only_nulls(connection: Connection, table_id: int, column_id: int) -> bool:
    """Whether every value of a column, in any file of any snapshot, is proven to be NULL."""
    s, inlined = tables.file_column_stats.c, tables.inlined_data_tables.c
    known = and_(s.data_file_id == _data.c.data_file_id, s.column_id == column_id)
    values = (
        select(_data.c.data_file_id)
        .select_from(_data.outerjoin(tables.file_column_stats, known))
        .where(_data.c.table_id == table_id, or_(s.value_count.is_(None), s.value_count != 0))
        .limit(1)
    )
    rows = select(inlined.table_id).where(inlined.table_id == table_id).limit(1)
    return connection.execute(values).first() is None and connection.execute(rows).first() is None
