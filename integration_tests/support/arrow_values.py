"""Arrow arrays, from Parquet files or from DuckDB, as the physical values of `spec.values`."""

from __future__ import annotations

import math
import struct
import uuid
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from ducklake_spark.spec.evolution import convert, initial_value
from ducklake_spark.spec.model import Column, MappedName
from ducklake_spark.spec.types import Primitive, decimal
from ducklake_spark.spec.values import parse_text

_TIMESTAMPS = {"s": "timestamp_s", "ms": "timestamp_ms", "us": "timestamp", "ns": "timestamp_ns"}


def own_names(columns: Sequence[Column]) -> tuple[MappedName, ...]:
    """The mapping for data whose fields have the names of the columns."""
    return tuple(MappedName(c.name, c.id, own_names(c.children)) for c in columns)


def field_id(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(b"PARQUET:field_id")
    return None if text is None else int(text)


def place_of(
    column: Column, fields: Sequence[pa.Field], names: Sequence[MappedName] | None
) -> int | None:
    """Where a column's data is: by field id, or by name where a mapping tells the names."""
    if names is None:
        return next((at for at, field in enumerate(fields) if field_id(field) == column.id), None)
    known = {entry.source_name for entry in names if entry.field_id == column.id}
    return next((at for at, field in enumerate(fields) if field.name in known), None)


def values_of(array: Any, column: Column, names: Sequence[MappedName] | None) -> list[Any]:
    """An array's values as those of a column, whatever the column was when they were written.

    `names` tells the names of the column's children in the data; without it, field ids count.
    """
    if isinstance(array, pa.ChunkedArray):
        return [v for chunk in array.chunks for v in values_of(chunk, column, names)]
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    match column.type.name:
        case "struct":
            values: Sequence[Any] = _structs(array, column, names)
        case "list":
            (items,) = _children(array, [array.values], column, names)
            values = [items[start:end] for start, end in _ranges(array)]
        case "map":
            keys, items = _children(array, [array.keys, array.items], column, names)
            entries = list(zip(keys, items, strict=True))
            values = [entries[start:end] for start, end in _ranges(array)]
        case _:
            return _leaves(array, column.type)
    present = array.is_valid().to_pylist()
    return [value if here else None for value, here in zip(values, present, strict=True)]


def _structs(array: Any, column: Column, names: Sequence[MappedName] | None) -> list[Any]:
    fields = [array.type.field(at) for at in range(array.type.num_fields)]
    parts = []
    for child in column.children:
        at = place_of(child, fields, names)
        if at is None:
            parts.append([initial_value(child)] * len(array))
        else:
            parts.append(values_of(array.field(at), child, children_of(child, names)))
    found = [child.name for child in column.children]
    return [dict(zip(found, row, strict=True)) for row in zip(*parts, strict=True)]


def children_of(
    column: Column, names: Sequence[MappedName] | None
) -> tuple[MappedName, ...] | None:
    """What a mapping says about the fields inside a column."""
    if names is None:
        return None
    return next((entry.children for entry in names if entry.field_id == column.id), ())


def _children(
    array: Any, parts: Sequence[Any], column: Column, names: Sequence[MappedName] | None
) -> list[list[Any]]:
    # The parts of lists and maps are known by their place, whatever their names.
    return [
        values_of(part, child, children_of(child, names))
        for part, child in zip(parts, column.children, strict=True)
    ]


def _ranges(array: Any) -> list[tuple[int, int]]:
    offsets = array.offsets.to_pylist()
    return list(pairwise(offsets))


def _leaves(array: Any, data_type: Any) -> list[Any]:
    read = _reader(array.type, data_type)
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type) or pa.types.is_time64(array.type):
        array = array.view(pa.int64())
    return [None if value is None else read(value) for value in array.to_pylist()]


def _reader(stored: pa.DataType, data_type: Any) -> Callable[[Any], Any]:
    match data_type.name:
        case "uuid":
            return lambda raw: uuid.UUID(bytes=raw) if isinstance(raw, bytes) else uuid.UUID(raw)
        case "interval" | "timetz" if pa.types.is_string(stored):  # as Spark shows them
            return lambda raw: parse_text(raw, data_type)
        case "interval":
            return _interval
        case "timetz":  # in UTC, as Parquet holds it
            return lambda raw: (raw, 0)
        case "int128" | "uint128":
            return int
        case "uint64" if pa.types.is_decimal(stored):  # as Spark has it
            return int
        case "time" if pa.types.is_timestamp(stored):  # of the first day, as Spark writes it
            return int
    if pa.types.is_string(stored):
        if data_type.name not in ("varchar", "json"):
            return lambda raw: canonical(parse_text(raw, data_type))
        return str
    old = _lake_type(stored)
    return lambda raw: canonical(raw if old is None else convert(raw, old, data_type))


def _interval(raw: bytes) -> tuple[int, int, int]:
    months, days, millis = struct.unpack("<iii", raw)
    return months, days, millis * 1_000


def _lake_type(stored: pa.DataType) -> Primitive | None:
    """The DuckLake type that Parquet holds in this way."""
    if pa.types.is_timestamp(stored):
        return Primitive(_TIMESTAMPS[stored.unit] if stored.tz is None else "timestamptz")
    if pa.types.is_decimal(stored):
        return decimal(stored.precision, stored.scale)
    names = {pa.float32(): "float32", pa.float64(): "float64", pa.date32(): "date"}
    if stored in names:
        return Primitive(names[stored])
    return Primitive(str(stored)) if pa.types.is_integer(stored) else None


def canonical(value: Any) -> Any:
    """The value with the one NaN that equals itself: Python compares containers by identity."""
    match value:
        case float():
            return math.nan if math.isnan(value) else value
        case list():
            return [canonical(item) for item in value]
        case tuple():
            return tuple(canonical(item) for item in value)
        case dict():
            return {key: canonical(item) for key, item in value.items()}
        case _:
            return value
