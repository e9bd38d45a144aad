"""Rows of a lake from what our catalog client says of it, for tests: correct, small and slow.

Values are those of `spec.values`, so that they compare with what `duck_rows` gets from DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.catalog import LakeReader
from ducklake_spark.spec.evolution import initial_value
from ducklake_spark.spec.model import Column, DataFile, MappedName, NameMapping, Table
from ducklake_spark.spec.names import quote
from ducklake_spark.spec.partitions import NULL_DIRECTORY
from ducklake_spark.spec.values import parse_text
from ducklake_spark.storage.delete_files import SNAPSHOT_COLUMN, read_delete_file
from support.arrow_values import canonical, children_of, field_id, own_names, place_of, values_of
from support.oracle import Oracle

Row = dict[str, Any]

_ROW_ID_FIELD = 2147483540
_SNAPSHOT_FIELD = 2147483539
# DuckDB's Arrow export loses part of these or fails, so they are fetched as text.
_FETCHED_AS_TEXT = {"int128", "uint128", "timetz", "time_ns", "interval", "variant", "geometry"}


def read_rows(reader: LakeReader, table: Table) -> list[Row]:
    """The table's rows at the reader's snapshot, by row id."""
    return [row for _, row in read_rows_with_ids(reader, table)]


def read_rows_with_ids(reader: LakeReader, table: Table) -> list[tuple[int, Row]]:
    """The table's rows with their row ids, in the order of these."""
    mappings = reader.mappings(table)
    rows = [
        pair
        for file in reader.files(table)
        for pair in read_file(file, table, reader.snapshot.id, mappings)
    ]
    for inlined in reader.inlined_rows(table):
        values = {c.name: canonical(inlined.values[c.id]) for c in table.columns}
        rows.append((inlined.row_id, values))
    return sorted(rows, key=lambda pair: pair[0])


def read_file(
    file: DataFile, table: Table, snapshot_id: int, mappings: Mapping[int, NameMapping]
) -> list[tuple[int, Row]]:
    """What a snapshot sees of one data file: row ids and rows."""
    with pq.ParquetFile(file.path) as parquet:
        data = parquet.read()
    mapping = None if file.mapping_id is None else mappings[file.mapping_id]
    columns = {c.name: _column_values(data, c, mapping, file.path) for c in table.columns}
    gone = _deleted_positions(file, snapshot_id)
    live = [at for at in _written_by(data, file, snapshot_id) if at not in gone]
    row_ids = _row_ids(data, file)
    return [(row_ids[at], {name: values[at] for name, values in columns.items()}) for at in live]


def _column_values(
    data: pa.Table, column: Column, mapping: NameMapping | None, path: str
) -> Sequence[Any]:
    names = None if mapping is None else mapping.columns
    if names is not None and any(e.field_id == column.id and e.is_partition for e in names):
        return [_hive_value(column, names, path)] * data.num_rows
    at = place_of(column, data.schema, names)
    if at is None:
        return [canonical(initial_value(column))] * data.num_rows
    return values_of(data.column(at), column, children_of(column, names))


def _hive_value(column: Column, names: Iterable[MappedName], path: str) -> Any:
    name = next(e.source_name for e in names if e.field_id == column.id)
    found = re.search(rf"/{re.escape(name)}=([^/]*)/", path)
    assert found is not None, f"{path} has no directory for the partition key {name}"
    text = unquote(found[1])
    return None if text == NULL_DIRECTORY else parse_text(text, column.type)


def _deleted_positions(file: DataFile, snapshot_id: int) -> set[int]:
    gone = set(file.inlined_deletes)
    for delete_file in filter(None, (file.delete_file, *file.further_deletes)):
        deletes = read_delete_file(delete_file)
        positions = deletes["pos"].to_pylist()
        if SNAPSHOT_COLUMN in deletes.column_names:
            stamps = deletes[SNAPSHOT_COLUMN].to_pylist()
            pairs = zip(positions, stamps, strict=True)
            positions = [position for position, stamp in pairs if stamp <= snapshot_id]
        gone.update(positions)
    return gone


def _written_by(data: pa.Table, file: DataFile, snapshot_id: int) -> list[int]:
    """The positions of rows that were there at a snapshot: compacted files span several."""
    positions = range(data.num_rows)
    if file.partial_max is None or file.partial_max <= snapshot_id:
        return list(positions)
    stamps = _lineage(data, _SNAPSHOT_FIELD)
    assert stamps is not None, f"{file.path} is a partial file without snapshot ids"
    return [at for at in positions if stamps[at] <= snapshot_id]


def _row_ids(data: pa.Table, file: DataFile) -> list[int]:
    embedded = _lineage(data, _ROW_ID_FIELD)
    if embedded is not None:
        return embedded
    assert file.row_id_start is not None, f"{file.path} has no row ids"
    return [file.row_id_start + at for at in range(data.num_rows)]


def _lineage(data: pa.Table, wanted: int) -> list[int] | None:
    for at, field in enumerate(data.schema):
        if field_id(field) == wanted:
            values: list[int] = data.column(at).to_pylist()
            return values
    return None


# --- the same from DuckDB ---


def duck_rows(duck: Oracle, table: Table, source: str) -> list[Row]:
    """What DuckDB reads, by row id; `source` is a table or anything with its columns in FROM."""
    return [row for _, row in duck_rows_with_ids(duck, table, source)]


def duck_rows_with_ids(duck: Oracle, table: Table, source: str) -> list[tuple[int, Row]]:
    """DuckDB's rows with row ids. The order is made here: DuckDB's trusts statistics."""
    listed = ", ".join(_fetched(column) for column in table.columns)
    data = duck.connection.execute(f"SELECT rowid, {listed} FROM {source}").to_arrow_table()
    names = own_names(table.columns)
    columns = [
        _fetched_values(data.column(at), column, names)
        for at, column in enumerate(table.columns, start=1)
    ]
    rows = (
        dict(zip([c.name for c in table.columns], values, strict=True))
        for values in zip(*columns, strict=True)
    )
    row_ids: list[int] = data.column(0).to_pylist()
    return sorted(zip(row_ids, rows, strict=True), key=lambda pair: pair[0])


def _fetched(column: Column) -> str:
    name = quote(column.name)
    return f"CAST({name} AS VARCHAR)" if column.type.name in _FETCHED_AS_TEXT else name


def _fetched_values(array: Any, column: Column, names: Sequence[MappedName]) -> list[Any]:
    if column.type.name in _FETCHED_AS_TEXT:
        texts: list[str | None] = array.to_pylist()
        return [None if text is None else parse_text(text, column.type) for text in texts]
    return values_of(array, column, children_of(column, names))


def duck_value(duck: Oracle, expression: str, column: Column) -> Any:
    """The value of an SQL expression of the column's type."""
    typed = f"SELECT {expression} AS {quote(column.name)}"
    data = duck.connection.execute(f"SELECT {_fetched(column)} FROM ({typed})").to_arrow_table()
    (value,) = _fetched_values(data.column(0), column, own_names([column]))
    return value
