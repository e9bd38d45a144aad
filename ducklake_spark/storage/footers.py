"""Parquet footers as DuckLake statistics: counts, sizes, and the bounds of every leaf column."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.model import Column, NewDataFile
from ducklake_spark.spec.names import fold
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.stats import ColumnStats
from ducklake_spark.spec.types import FLOATS, UNSIGNED, DataType, Primitive
from ducklake_spark.spec.values import format_text, parse_blob_hex, parse_text
from ducklake_spark.storage.filesystem import locate

_FOOTER_TAIL = 8  # the footer's length, four bytes, and the magic number
_UNIT_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_STORED_UNIT = {
    "timestamp_s": "s",
    "timestamp_ms": "ms",
    "timestamp": "us",
    "timestamptz": "us",
    "timestamp_ns": "ns",
    "time": "us",
    "time_ns": "ns",
}
# Types whose bounds are not comparable, or which no reader uses (FORMAT 1.14).
_UNBOUNDED = {"int128", "uint128", "timetz", "interval", "json", "variant", "geometry"}


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf of the Parquet schema, by its place among the column chunks."""

    index: int
    column: Column
    type: pa.DataType


def footer_size_of(file_system: fs.FileSystem, path: str) -> int:
    """The length of a Parquet footer as DuckLake counts it: exact, or readers fail (rule 12)."""
    with file_system.open_input_file(path) as file:
        size = file.size()
        tail = file.read_at(_FOOTER_TAIL, size - _FOOTER_TAIL)
    if tail[4:] != b"PAR1":
        raise UnsupportedFeatureError(f"{path} is no plain Parquet file.")
    return int.from_bytes(tail[:4], "little")


def describe_file(
    location: str,
    path: StoredPath,
    columns: Sequence[Column],
    *,
    nan_columns: Mapping[int, bool] | None = None,
) -> NewDataFile:
    """A written Parquet file as a table can take it in.

    Columns are matched by field id where the file has them, by name otherwise. Footers do not
    know of NaN: `nan_columns` says of float columns, by id, whether there are any.
    """
    file_system, inner = locate(path.under(location))
    with pq.ParquetFile(inner, filesystem=file_system) as file:
        metadata, schema = file.metadata, file.schema_arrow
    leaves = list(_leaves(schema, columns))
    return NewDataFile(
        path=path,
        record_count=metadata.num_rows,
        file_size_bytes=file_system.get_file_info(inner).size,
        footer_size=footer_size_of(file_system, inner),
        stats=tuple(_leaf_stats(metadata, leaf, nan_columns or {}) for leaf in leaves),
    )


def _leaves(schema: pa.Schema, columns: Sequence[Column]) -> Iterator[_Leaf]:
    """Column chunks are the leaves of the schema, depth first."""
    index = 0
    for field in schema:
        column = _match(field, columns)
        for leaf_type, leaf_column in _walk(field.type, column):
            if leaf_column is not None:
                yield _Leaf(index, leaf_column, leaf_type)
            index += 1


def _walk(
    data_type: pa.DataType, column: Column | None
) -> Iterator[tuple[pa.DataType, Column | None]]:
    children = list(_children(data_type))
    if not children:
        yield data_type, column
        return
    nested = column.children if column is not None else ()
    for at, child in enumerate(children):
        if pa.types.is_struct(data_type):
            matched = _match(child, nested)
        else:  # the parts of lists and maps are known by their place
            matched = nested[at] if at < len(nested) else None
        yield from _walk(child.type, matched)


def _children(data_type: pa.DataType) -> Iterator[pa.Field]:
    if pa.types.is_map(data_type):
        yield data_type.key_field
        yield data_type.item_field
    elif pa.types.is_nested(data_type):
        yield from (data_type.field(at) for at in range(data_type.num_fields))


def _match(field: pa.Field, columns: Sequence[Column]) -> Column | None:
    field_id = (field.metadata or {}).get(b"PARQUET:field_id")
    if field_id is not None:
        return next((c for c in columns if c.id == int(field_id)), None)
    return next((c for c in columns if fold(c.name) == fold(field.name)), None)


def _leaf_stats(metadata: Any, leaf: _Leaf, nan_columns: Mapping[int, bool]) -> ColumnStats:
    chunks = [metadata.row_group(g).column(leaf.index) for g in range(metadata.num_row_groups)]
    statistics = [chunk.statistics for chunk in chunks]
    values = sum(chunk.num_values for chunk in chunks)
    counted = all(s is not None and s.has_null_count for s in statistics)
    nulls = sum(s.null_count for s in statistics) if counted else None
    low, high = _bounds(statistics, leaf)
    return ColumnStats(
        column_id=leaf.column.id,
        column_size_bytes=sum(chunk.total_compressed_size for chunk in chunks),
        value_count=values - nulls if nulls is not None else None,
        null_count=nulls,
        min_value=low,
        max_value=high,
        contains_nan=nan_columns.get(leaf.column.id) if leaf.column.type.name in FLOATS else None,
    )


def _bounds(statistics: Sequence[Any], leaf: _Leaf) -> tuple[str | None, str | None]:
    data_type = leaf.column.type
    if not isinstance(data_type, Primitive) or data_type.name in _UNBOUNDED:
        return None, None
    # A row group without a value has no bounds and needs none.
    present = [s for s in statistics if s is None or not s.has_null_count or s.num_values]
    if not present or any(s is None or not s.has_min_max for s in present):
        return None, None
    decode = _decoder(data_type, leaf.type)
    low = min(decode(s.min_raw) for s in present)
    high = max(decode(s.max_raw) for s in present)
    if data_type.name == "varchar" and ("\x00" in low or "\x00" in high):
        return None, None  # some catalog databases cannot store it
    return format_text(low, data_type), format_text(high, data_type)


def _decoder(data_type: Primitive, stored: pa.DataType) -> Callable[[Any], Any]:
    """From a raw bound in the footer to the physical value (spec.values)."""
    name = data_type.name
    if name != "varchar" and pa.types.is_string(stored):
        # Spark has no such type and writes its text; DuckDB casts it when it reads.
        return lambda raw: parse_text(_text(raw), data_type)
    if name in UNSIGNED and pa.types.is_decimal(stored):
        return _unscaled
    if name == "decimal":
        # From text, which is exact: arithmetic would round to the 28 digits of Python's default.
        return lambda raw: Decimal(f"{_unscaled(raw)}e-{data_type.scale or 0}")
    if name in _STORED_UNIT and (pa.types.is_timestamp(stored) or pa.types.is_time(stored)):
        have, want = _UNIT_PER_SECOND[stored.unit], _UNIT_PER_SECOND[_STORED_UNIT[name]]
        return lambda raw: raw * want // have
    if name in UNSIGNED:
        return lambda raw: raw % 2 ** int(name.removeprefix("uint")) if raw < 0 else raw
    if name == "varchar":
        return _text
    if name == "uuid":
        return lambda raw: uuid.UUID(bytes=raw)
    return lambda raw: raw


def _text(raw: str | bytes) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw


def _unscaled(raw: int | bytes) -> int:
    return raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)


def bound_of(stats: ColumnStats, data_type: DataType) -> Any:
    """The lowest value in a file whose statistics `describe_file` made; None if unknown."""
    if stats.min_value is None:
        return None
    if data_type.name == "blob":
        return parse_blob_hex(stats.min_value)
    return parse_text(stats.min_value, data_type)
