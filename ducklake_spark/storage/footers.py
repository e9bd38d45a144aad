"""Parquet footers as DuckLake statistics: counts, sizes, and the bounds of every leaf column."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from ducklake_spark.storage.failures import reaching
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


# parquet-mr has counted NaN as the largest value since 1.10; Spark has had that since 2.4.
_COUNTS_NAN = re.compile(r"parquet-mr version 1\.[1-9]\d\.\d+ \(build [0-9a-f]+\)")

# In the footer of a file that this package wrote with PyArrow, which gives no statistics to leaves
# that hold NaN: the number of values in each of these leaves.
NAN_KEY = "ducklake_spark.values_beside_nan"
_LINEAGE = ("_ducklake_internal_row_id", "_ducklake_internal_snapshot_id")


class _InexactError(ValueError):
    """A bound is finer than the column's type; which way readers round it is their affair."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says of itself. Column chunks are the leaves of the schema."""

    path: str
    metadata: Any
    schema: pa.Schema
    file_size_bytes: int
    footer_size: int


@dataclass(frozen=True, slots=True)
class Leaf:
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

    Columns are matched by field id where the file has them, by name otherwise. `nan_columns` says
    of float columns, by id, whether they hold NaN; for the others the footer's own word counts.
    """
    footer = read_footer(path.under(location))
    return described(path, footer, leaves_of(footer.schema, columns), nan_columns=nan_columns)


def read_footer(path: str) -> Footer:
    with reaching(path):
        file_system, inner = locate(path)
        with pq.ParquetFile(inner, filesystem=file_system) as file:
            metadata, schema = file.metadata, file.schema_arrow
        size = file_system.get_file_info(inner).size
        return Footer(path, metadata, schema, size, footer_size_of(file_system, inner))


def read_row_ids(path: str) -> list[tuple[int, int]]:
    """The row id and the snapshot of each row of a file that holds them (FORMAT 1.10)."""
    columns = list(_LINEAGE)
    with reaching(path):
        file_system, inner = locate(path)
        table = pq.read_table(inner, columns=columns, filesystem=file_system, partitioning=None)
    row_ids, snapshots = (table[name].to_pylist() for name in _LINEAGE)
    return list(zip(row_ids, snapshots, strict=True))


def described(
    path: StoredPath,
    footer: Footer,
    leaves: Iterable[Leaf],
    *,
    nan_columns: Mapping[int, bool] | None = None,
) -> NewDataFile:
    """A file whose leaves have found their columns."""
    metadata = footer.metadata
    return NewDataFile(
        path=path,
        record_count=metadata.num_rows,
        file_size_bytes=footer.file_size_bytes,
        footer_size=footer.footer_size,
        stats=tuple(leaf_stats(metadata, leaf, nan_columns) for leaf in leaves),
    )


def leaves_of(
    schema: pa.Schema, columns: Sequence[Column], *, by_name: bool = False
) -> Iterator[Leaf]:
    """The leaves that belong to columns, depth first, as column chunks are.

    `by_name`: whatever field ids there are, as with a name mapping.
    """
    match = _match_name if by_name else _match
    index = 0
    for field in schema:
        column = match(field, columns)
        for leaf_type, leaf_column in _walk(field.type, column, match):
            if leaf_column is not None:
                yield Leaf(index, leaf_column, leaf_type)
            index += 1


def _walk(
    data_type: pa.DataType,
    column: Column | None,
    match: Callable[[pa.Field, Sequence[Column]], Column | None],
) -> Iterator[tuple[pa.DataType, Column | None]]:
    children = list(children_of(data_type))
    if not children:
        yield data_type, column
        return
    nested = column.children if column is not None else ()
    for at, child in enumerate(children):
        if pa.types.is_struct(data_type):
            matched = match(child, nested)
        else:  # the parts of lists and maps are known by their place
            matched = nested[at] if at < len(nested) else None
        yield from _walk(child.type, matched, match)


def children_of(data_type: pa.DataType) -> Iterator[pa.Field]:
    """The parts of a nested type, in the order of their column chunks; none of any other."""
    if pa.types.is_map(data_type):
        yield data_type.key_field
        yield data_type.item_field
    elif pa.types.is_nested(data_type):
        yield from (data_type.field(at) for at in range(data_type.num_fields))


def field_id(field: pa.Field) -> int | None:
    """The id by which readers know the field, if it has one."""
    stored = (field.metadata or {}).get(b"PARQUET:field_id")
    return None if stored is None else int(stored)


def _match(field: pa.Field, columns: Sequence[Column]) -> Column | None:
    own = field_id(field)
    if own is not None:
        return next((c for c in columns if c.id == own), None)
    return _match_name(field, columns)


def _match_name(field: pa.Field, columns: Sequence[Column]) -> Column | None:
    return next((c for c in columns if fold(c.name) == fold(field.name)), None)


def leaf_stats(
    metadata: Any, leaf: Leaf, nan_columns: Mapping[int, bool] | None = None
) -> ColumnStats:
    """The statistics of a leaf over all row groups."""
    chunks = [metadata.row_group(g).column(leaf.index) for g in range(metadata.num_row_groups)]
    statistics = [chunk.statistics for chunk in chunks]
    slots = sum(chunk.num_values for chunk in chunks)
    counted = all(s is not None and s.has_null_count for s in statistics)
    values = slots - sum(s.null_count for s in statistics) if counted else None
    low, high = _bounds(statistics, leaf)
    has_nan = None
    if leaf.column.type.name in FLOATS:
        nan_counts = _nan_counts(metadata)
        values = nan_counts.get(str(leaf.index), values) if nan_counts else values
        has_nan = (nan_columns or {}).get(leaf.column.id)
        if has_nan is None:
            has_nan = _contains_nan(metadata, leaf, statistics)
        if has_nan is not False and low is not None and high is not None and low == high:
            high = None  # DuckDB takes equal bounds for the only value, whatever is said of NaN
    return ColumnStats(
        column_id=leaf.column.id,
        column_size_bytes=sum(chunk.total_compressed_size for chunk in chunks),
        value_count=values,
        null_count=slots - values if values is not None else None,
        min_value=_bound_text(low, leaf.column.type),
        max_value=_bound_text(high, leaf.column.type),
        contains_nan=has_nan,
    )


def _contains_nan(metadata: Any, leaf: Leaf, statistics: Sequence[Any]) -> bool | None:
    """Whether a leaf of floats holds NaN, so far as its footer tells; None if unknown.

    Spark's writer takes NaN for the largest value. PyArrow and other writers leave NaN out of the
    bounds, so that bounds prove nothing, unless this package wrote the file with PyArrow.
    """
    if any(_is_nan(bound) for s in statistics for bound in _raw_bounds(s)):
        return True
    nan_counts = _nan_counts(metadata)
    if nan_counts is not None:
        return str(leaf.index) in nan_counts
    if not _COUNTS_NAN.match(metadata.created_by or ""):
        return None
    known = (s is not None and (s.has_min_max or not s.num_values) for s in statistics)
    return False if all(known) else None


def _nan_counts(metadata: Any) -> dict[str, int] | None:
    """The numbers of values in leaves with NaN, by leaf; None for files of other writers."""
    text = (metadata.metadata or {}).get(NAN_KEY.encode())
    return None if text is None else json.loads(text)


def _raw_bounds(statistics: Any) -> tuple[Any, ...]:
    has_bounds = statistics is not None and statistics.has_min_max
    return (statistics.min_raw, statistics.max_raw) if has_bounds else ()


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _bounds(statistics: Sequence[Any], leaf: Leaf) -> tuple[Any, Any]:
    """Return the bounds of the leaf's numbers, without NaN."""
    data_type = leaf.column.type
    if not isinstance(data_type, Primitive) or not has_bounds(data_type):
        return None, None
    # A row group without a value has no bounds and needs none.
    present = [s for s in statistics if s is None or not s.has_null_count or s.num_values]
    if not present or any(s is None or not s.has_min_max for s in present):
        return None, None
    decode = _decoder(data_type, leaf.type)
    try:
        lows = [decode(s.min_raw) for s in present]
        highs = [decode(s.max_raw) for s in present]
    except _InexactError:
        return None, None
    # A row group whose lowest value is NaN has no other. Beside a highest value of NaN, the
    # highest number is not known.
    numbers = [low for low in lows if not _is_nan(low)]
    low = min(numbers) if numbers else None
    high = None if any(map(_is_nan, highs)) else max(highs)
    if data_type.name == "varchar" and any("\x00" in bound for bound in (*lows, *highs)):
        return None, None  # some catalog databases cannot store it
    return low, high


def _bound_text(value: Any, data_type: DataType) -> str | None:
    return None if value is None else format_text(value, data_type)


def _decoder(data_type: Primitive, stored: pa.DataType) -> Callable[[Any], Any]:
    """From a raw bound in the footer to the physical value (spec.values)."""
    name = data_type.name
    if pa.types.is_dictionary(stored):  # as Arrow keeps them; Parquet has the values' type
        stored = stored.value_type
    if name != "varchar" and pa.types.is_string(stored):
        # Spark has no such type and writes its text; DuckDB casts it when it reads.
        return lambda raw: parse_text(_text(raw), data_type)
    if name in UNSIGNED and pa.types.is_decimal(stored):
        return _unscaled
    if name == "decimal":
        # From text, which is exact: arithmetic would round to the 28 digits of Python's default.
        return lambda raw: Decimal(f"{_unscaled(raw)}e-{stored.scale}")
    if name in _STORED_UNIT and (pa.types.is_timestamp(stored) or pa.types.is_time(stored)):
        have, want = _UNIT_PER_SECOND[stored.unit], _UNIT_PER_SECOND[_STORED_UNIT[name]]
        return lambda raw: _exactly(raw * want, have)
    if pa.types.is_unsigned_integer(stored):
        return lambda raw: raw % 2**stored.bit_width
    if name == "varchar":
        return _text
    if name == "uuid":
        return lambda raw: uuid.UUID(bytes=raw)
    return lambda raw: raw


def _exactly(raw: int, divisor: int) -> int:
    if raw % divisor:
        raise _InexactError
    return raw // divisor


def _text(raw: str | bytes) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw


def _unscaled(raw: int | bytes) -> int:
    return raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)


def has_bounds(data_type: DataType) -> bool:
    """Whether statistics have bounds for values of this type."""
    return isinstance(data_type, Primitive) and data_type.name not in _UNBOUNDED


def bound_of(stats: ColumnStats, data_type: DataType) -> Any:
    """The lowest value in a file whose statistics are from its footer; None if unknown."""
    return None if stats.min_value is None else bound_value(stats.min_value, data_type)


def bound_value(text: str, data_type: DataType) -> Any:
    """The value of a bound's text."""
    return parse_blob_hex(text) if data_type.name == "blob" else parse_text(text, data_type)
