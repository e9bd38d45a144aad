"""Rows that live in the catalog, as a DataFrame."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.scan.lookup import looked_up
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
    "timestamptz_ns": pa.timestamp("us", "UTC"),
    "null": pa.null(),
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
    arrays, failures = _arrays(columns, rows)
    for at in failures:
        schema.fields[at].dataType = T.BooleanType()
    arrays += [pa.array([value(row) for row in rows], kind) for _, kind, value in extras]
    positions = [str(at) for at in range(len(names))]  # names may be equal but for case, or odd
    frame = session.spark.createDataFrame(
        pa.Table.from_arrays(arrays, positions), schema=_renamed(schema, positions)
    )
    shown = {at: _failing(session, at, columns[at], text) for at, text in failures.items()}
    return frame.select(
        *(shown.get(at, F.col(str(at))).alias(name) for at, name in enumerate(names))
    )


def _arrays(
    columns: Sequence[Column], rows: Sequence[InlinedRow]
) -> tuple[list[pa.Array], dict[int, str]]:
    """Return the values of each column, and a message for each column that Spark cannot hold.

    The array of such a column says which values are not NULL.
    """
    arrays: list[pa.Array] = []
    failures: dict[int, str] = {}
    for at, column in enumerate(columns):
        values = [row.values[column.id] for row in rows]
        try:
            kind = _arrow(column)
            arrays.append(pa.array([_shown(value, column) for value in values], kind))
        except UnsupportedFeatureError as error:
            failures[at] = str(error)
            arrays.append(pa.array([value is not None for value in values]))
    return arrays, failures


def _renamed(schema: T.StructType, names: Sequence[str]) -> T.StructType:
    fields = zip(names, schema.fields, strict=True)
    return T.StructType([T.StructField(name, field.dataType) for name, field in fields])


def _failing(session: Session, at: int, column: Column, message: str) -> Expression:
    """Return an expression that fails only if a query uses the column.

    The message is looked up in a subquery: Spark evaluates other expressions over local rows before
    it drops the columns that a query does not use.
    """
    text = looked_up(session, pa.array([message]), F.lit(0))
    error = F.raise_error(text).cast(shown_type(column))
    return F.when(F.col(str(at)), error)


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
        case "timestamp_ns" | "timestamptz_ns":
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
            f"Column {column.name!r} holds a {column.type} with digits below microseconds, "
            "which Spark cannot hold.",
            hint="Read the table with DuckDB, or leave the column out.",
        )
    return micros
