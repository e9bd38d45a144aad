"""Writes rows into a lake with PyArrow, as a stand-in for the engines that do it for real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ducklake_spark.catalog import Transaction
from ducklake_spark.spec.file_names import marked_uuid
from ducklake_spark.spec.model import Column, DataFile, Table
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.storage.delete_files import stage_delete
from ducklake_spark.storage.footers import describe_file

_ARROW = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamp_s": pa.timestamp("us"),
    "timestamp_ms": pa.timestamp("ms"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "varchar": pa.string(),
    "json": pa.string(),
    "blob": pa.binary(),
}


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type of a column, with field ids all the way down."""
    data_type = column.type
    match data_type.name:
        case "struct":
            return pa.struct([arrow_field(child) for child in column.children])
        case "list":
            return pa.list_(arrow_field(column.children[0]))
        case "map":
            key, value = (arrow_field(child) for child in column.children)
            return pa.map_(key.with_nullable(False), value)
        case "decimal":
            return pa.decimal128(data_type.precision, data_type.scale)  # type: ignore[attr-defined]
        case name:
            return _ARROW[name]


def arrow_field(column: Column) -> pa.Field:
    ids = {b"PARQUET:field_id": str(column.id).encode()}
    return pa.field(column.name, arrow_type(column), metadata=ids)


def arrow_schema(table: Table) -> pa.Schema:
    return pa.schema([arrow_field(column) for column in table.columns])


def append(
    tx: Transaction,
    name: str,
    rows: Sequence[Mapping[str, Any]] | pa.Table,
    *,
    partition_values: Sequence[str | None] = (),
    **write_options: Any,
) -> DataFile:
    """Write rows as one Parquet file and add it to the table."""
    table = tx.table(name)
    schema = arrow_schema(table)
    if isinstance(rows, pa.Table):
        data = rows.cast(schema)
    else:
        data = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    stored = StoredPath(f"ducklake-{marked_uuid(table.mark)}.parquet")
    Path(table.location).mkdir(parents=True, exist_ok=True)
    pq.write_table(data, stored.under(table.location), **write_options)
    nan = {
        column.id: bool(pc.any(pc.is_nan(data[column.name])).as_py())
        for column in table.columns
        if column.type.name in ("float32", "float64")
    }
    new = describe_file(table.location, stored, table.columns, nan_columns=nan)
    new = new if not partition_values else _partitioned(new, partition_values)
    (file,) = tx.add_files(name, [new])
    return file


def _partitioned(new: Any, values: Sequence[str | None]) -> Any:
    from dataclasses import replace

    return replace(new, partition_values=tuple(values))


def delete_positions(tx: Transaction, name: str, file: DataFile, positions: Sequence[int]) -> None:
    """Delete rows of one data file by their positions in it."""
    table = tx.table(name)
    staged = stage_delete(table, file, list(positions), tx.snapshot.id + 1)
    tx.delete_rows(name, {file.id: staged})
