"""Statistics of a column: of one data file, for pruning, and of the whole table over all time.

DuckDB trusts a table's row blindly, also for time travel, so it may only ever widen; and a row
without bounds says to DuckDB that there was no value yet. What is not known needs no row at all
(FORMAT, rules 1 to 3).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ducklake_spark.spec.datetimes import lacks_zone
from ducklake_spark.spec.scalars import (
    Physical,
    format_text,
    parse_blob_hex,
    parse_text,
    to_float32,
)
from ducklake_spark.spec.types import FLOATS, ZONED, DataType

# DuckDB writes bounds for these into tables, not into files, and uses neither.
_WITHOUT_BOUNDS = frozenset({"int128", "uint128", "interval", "timetz"})
_WITHOUT_ROW = frozenset({"variant", "geometry", "unknown", "null"})
_NOT_FOR_PRUNING = _WITHOUT_BOUNDS | _WITHOUT_ROW | {"blob", "json"}
# DuckDB's files say 0 values and 0 NULLs for these, whatever they hold.
_WITHOUT_COUNTS = frozenset({"interval", "timetz"})


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """A row of ducklake_file_column_stats. `value_count` counts what is not NULL."""

    column_id: int
    column_size_bytes: int | None
    value_count: int | None
    null_count: int | None
    min_value: str | None
    max_value: str | None
    contains_nan: bool | None
    extra_stats: str | None = None


@dataclass(frozen=True, slots=True)
class TableColumnStats:
    """A row of ducklake_table_column_stats."""

    column_id: int
    contains_null: bool | None
    contains_nan: bool | None
    min_value: str | None
    max_value: str | None
    extra_stats: str | None = None


def has_counts(data_type: DataType) -> bool:
    """Whether a file's counts of values and NULLs of such a column can be believed."""
    return data_type.name not in _WITHOUT_COUNTS | _WITHOUT_ROW and not data_type.is_nested


def holds_only_nulls(stats: ColumnStats, data_type: DataType) -> bool:
    """Whether the file certainly has no value in this column."""
    return has_counts(data_type) and stats.value_count == 0


def without_usable_bounds(data_type: DataType) -> bool:
    """Whether bounds of such a column say nothing that could be compared."""
    return data_type.is_nested or data_type.name in _NOT_FOR_PRUNING


def bounds(stats: ColumnStats, data_type: DataType) -> tuple[Physical | None, Physical | None]:
    """What no value of the file is below and above; None where that is unknown."""
    if without_usable_bounds(data_type):
        return None, None
    if data_type.name in FLOATS and stats.contains_nan is not False:
        return None, None
    low, high = _bound(stats.min_value, data_type), _bound(stats.max_value, data_type)
    if data_type.name == "float64":
        # A column promoted from float32: the text 0.1 stands for the 32-bit float nearest to it.
        low = None if low is None else min(low, to_float32(low))
        high = None if high is None else max(high, to_float32(high))
    return low, high


def cover_truncated(stats: ColumnStats, data_type: DataType) -> ColumnStats:
    """Raise the upper bound of a text column above every text that begins with it.

    Version 1.1 may store the beginning of the highest text only.
    """
    if data_type.name != "varchar" or stats.max_value is None:
        return stats
    kept = stats.max_value.rstrip(chr(sys.maxunicode))
    above = kept[:-1] + chr(ord(kept[-1]) + 1) if kept else None
    return replace(stats, max_value=above)


def _bound(text: str | None, data_type: DataType) -> Physical | None:
    if text is None or (data_type.name in ZONED and lacks_zone(text)):
        return None  # the zone of the bound is unknown
    try:
        value = parse_text(text, data_type)
    except ValueError:
        return None
    return value if value == value else None  # NaN is no bound


def widen(
    current: TableColumnStats | None,
    added: ColumnStats,
    data_type: DataType,
    *,
    first_data: bool = False,
    only_nulls: bool = False,
) -> TableColumnStats | None:
    """The table's row after a file was added; None if the table must have no row for the column.

    `first_data`: the table never had data, so that a missing row hides nothing.
    `only_nulls`: every value of the column so far was NULL. A row without bounds does not prove
    that: DuckDB also writes one if a file's bounds are unknown (long strings without ASCII, NUL
    characters, files added without statistics), and takes the next insert's as the table's.
    """
    if data_type.is_nested or data_type.name in _WITHOUT_ROW:
        return None
    if current is None:
        if not first_data:
            return None
        current = TableColumnStats(added.column_id, False, _no_nan(data_type), None, None)
    flags = _widened_flags(current, added)
    if data_type.name in _WITHOUT_BOUNDS:
        return _row(current, flags, (None, None))
    try:
        merged = _widened_bounds(current, added, data_type, is_empty=first_data or only_nulls)
    except ValueError:
        return None
    has_values = not holds_only_nulls(added, data_type)
    may_have_nan = flags[1] is True  # then DuckDB makes no use of bounds
    if merged == (None, None) and has_values and not may_have_nan:
        return None
    return _row(current, flags, merged)


def widen_by_all(
    current: TableColumnStats | None,
    added: Iterable[ColumnStats],
    data_type: DataType,
    *,
    first_data: bool = False,
    only_nulls: bool = False,
) -> TableColumnStats | None:
    """`widen` by several files in order."""
    for stats in added:
        current = widen(current, stats, data_type, first_data=first_data, only_nulls=only_nulls)
        if current is None:
            return None
        only_nulls = (first_data or only_nulls) and holds_only_nulls(stats, data_type)
        first_data = False
    return current


def _no_nan(data_type: DataType) -> bool | None:
    return False if data_type.name in FLOATS else None


_Flags = tuple[bool | None, bool | None]
_Bounds = tuple[str | None, str | None]


def _row(current: TableColumnStats, flags: _Flags, merged: _Bounds) -> TableColumnStats:
    return TableColumnStats(current.column_id, *flags, *merged, current.extra_stats)


def _widened_flags(current: TableColumnStats, added: ColumnStats) -> _Flags:
    has_null = None if added.null_count is None else added.null_count > 0
    return (
        _either(current.contains_null, has_null),
        _either(current.contains_nan, added.contains_nan),
    )


def _either(left: bool | None, right: bool | None) -> bool | None:
    """Unlike SQL's OR: once unknown, DuckDB never knows again."""
    return None if left is None or right is None else left or right


def _widened_bounds(
    current: TableColumnStats, added: ColumnStats, data_type: DataType, *, is_empty: bool
) -> _Bounds:
    old = _texts(current.min_value, current.max_value, data_type)
    new = _texts(added.min_value, added.max_value, data_type)
    if holds_only_nulls(added, data_type):
        return old
    if old == (None, None):
        return new if is_empty else old
    return (
        _extreme(min, old[0], new[0], data_type),
        _extreme(max, old[1], new[1], data_type),
    )


def _texts(low: str | None, high: str | None, data_type: DataType) -> _Bounds:
    # DuckDB mixes true and 1; compared as texts, as it does, they give wrong bounds.
    if data_type.name != "boolean":
        return low, high
    known = (text if text is None else parse_text(text, data_type) for text in (low, high))
    first, second = (value if value is None else format_text(value, data_type) for value in known)
    return first, second


def _extreme(
    choose: Callable[..., tuple[Any, str]], old: str | None, new: str | None, data_type: DataType
) -> str | None:
    """The text of the lower or higher value; of equal values the old one's."""
    if old is None or new is None:
        return None
    ranked = ((_rank(old, data_type), old), (_rank(new, data_type), new))
    return choose(ranked, key=lambda pair: pair[0])[1]


def _rank(text: str, data_type: DataType) -> Any:
    if data_type.name == "blob":
        return parse_blob_hex(text)
    value = parse_text(text, data_type)
    # NaN, which inlined rows leave as a bound, is above all numbers.
    return (value != value, value) if data_type.name in FLOATS else value
