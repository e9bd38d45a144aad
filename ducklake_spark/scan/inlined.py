"""Rows that live in the catalog, as a DataFrame."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.scan.types import shown_type
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Column, InlinedRow
from ducklake_spark.spec.types import MAX_DECIMAL_PRECISION
from ducklake_spark.spec.values import INFINITY, format_text

_MICROS_PER_UNIT = {"timestamp_s": 1_000_000, "timestamp_ms": 1_000}
_PLAIN: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.int16(),
    "uint16": pa.int32(),
    "uint32": pa.int64(),
    "uint64": pa.decimal128(20, 0),
    "int128": pa.decimal128(38, 0),
    "uint128": pa.decimal128(38, 0),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_s": pa.timestamp("us"),
    "timestamp_ms": pa.timestamp("us"),
    "timestamp_ns": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "varchar": pa.string(),
    "json": pa.string(),
    "uuid": pa.string(),
    "time": pa.string(),
    "time_ns": pa.string(),
    "timetz": pa.string(),
    "interval": pa.string(),
    "blob": pa.binary(),
}


def inlined_frame(
    session: Session,
    columns: Sequence[Column],
    rows: Sequence[InlinedRow],
    extras: Sequence[tuple[str, pa.DataType, Callable[[InlinedRow], Any]]],
) -> DataFrame:
    """The rows under the table's own column names, with further columns behind them."""
    names = [column.name for column in columns] + [name for name, _, _ in extras]
    schema = T.StructType(
        [T.StructField(column.name, shown_type(column)) for column in columns]
        + [
            T.StructField(name, T.LongType() if pa.types.is_int64(kind) else T.StringType())
            for name, kind, _ in extras
        ]
    )
    if not rows:
        return session.spark.createDataFrame([], schema)
    arrays = [
        pa.array([_shown(row.values[column.id], column) for row in rows], _arrow(column))
        for column in columns
    ]
    arrays += [pa.array([value(row) for row in rows], kind) for _, kind, value in extras]
    return session.spark.createDataFrame(pa.Table.from_arrays(arrays, names), schema=schema)


def _arrow(column: Column) -> pa.DataType:
    children = [_arrow(child) for child in column.children]
    match column.type.name:
        case "list":
            return pa.list_(children[0])
        case "map":
            return pa.map_(children[0], children[1])
        case "struct":
            names = [child.name for child in column.children]
            return pa.struct(list(zip(names, children, strict=True)))
        case "decimal":
            return pa.decimal128(column.type.precision, column.type.scale)  # type: ignore[attr-defined]
    if column.type.name not in _PLAIN:
        raise UnsupportedFeatureError(
            f"Column {column.name!r} has rows of type {column.type} in the catalog itself, which "
            "Spark cannot read from there.",
            hint="Flush them to files with DuckDB (ducklake_flush_inlined_data).",
        )
    return _PLAIN[column.type.name]


def _shown(value: Any, column: Column) -> Any:
    """A physical value as Arrow takes it for the type that Spark shows."""
    if value is None:
        return None
    match column.type.name:
        case "list":
            return [_shown(item, column.children[0]) for item in value]
        case "map":
            key, item = column.children
            return [(_shown(k, key), _shown(v, item)) for k, v in value]
        case "struct":
            return {child.name: _shown(value[child.name], child) for child in column.children}
        case "timestamp_ns":
            return _whole_micros(value, column)
        case "timestamp_s" | "timestamp_ms":
            return _scaled(value, _MICROS_PER_UNIT[column.type.name])
        case "time" | "time_ns" | "timetz" | "interval":
            return format_text(value, column.type)
        case "uint64":
            return Decimal(value)
        case "int128" | "uint128":
            return _digits(value, column)
    return str(value) if isinstance(value, uuid.UUID) else value


def _digits(value: int, column: Column) -> Decimal:
    if abs(value) >= 10**MAX_DECIMAL_PRECISION:
        raise UnsupportedFeatureError(
            f"Column {column.name!r} holds the {column.type} {value}, which has more digits than "
            "Spark's decimals can have.",
            hint="Read the table with DuckDB, or leave the column out.",
        )
    return Decimal(value)


def _scaled(value: int, factor: int) -> int:
    return value if abs(value) >= INFINITY else value * factor


def _whole_micros(nanos: int, column: Column) -> int:
    if abs(nanos) >= INFINITY:
        return nanos
    micros, rest = divmod(nanos, 1000)
    if rest:
        raise UnsupportedFeatureError(
            f"Column {column.name!r} holds a timestamp_ns with digits below microseconds, "
            "which Spark cannot hold.",
            hint="Read the table with DuckDB, or leave the column out.",
        )
    return micros
