"""Values as this package holds them, from DuckDB's text and from Python's own objects.

The representation is exact, comparable and without loss also for infinities and years that
Python's datetime does not know:

    boolean bool · integers int · floats float · decimal Decimal at the type's scale · varchar and
    json str · blob bytes · uuid UUID · date days since 1970 · time µs · time_ns ns · timetz (µs of
    the local time, seconds east of UTC) · timestamp µs · timestamp_s s · timestamp_ms ms ·
    timestamp_ns ns · timestamptz µs of UTC · timestamptz_ns ns of UTC ·
    interval (months, days, µs) · list list · struct dict · map list of pairs · NULL None

Infinite dates are ±DATE_INFINITY, infinite timestamps ±INFINITY in every unit.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ducklake_spark.spec.datetimes import DATE_INFINITY, INFINITY, MICROS
from ducklake_spark.spec.nested import parse_nested
from ducklake_spark.spec.scalars import (
    INTEGER_RANGES,
    TIME_UNITS,
    TIMESTAMP_UNITS,
    Physical,
    cast_text,
    exact_decimal,
    format_blob_escaped,
    format_text,
    parse_blob_escaped,
    parse_blob_hex,
    parse_text,
    to_float32,
)
from ducklake_spark.spec.types import ZONED, DataType, Primitive

__all__ = [
    "DATE_INFINITY",
    "INFINITY",
    "Physical",
    "cast_text",
    "format_blob_escaped",
    "format_text",
    "parse_blob_escaped",
    "parse_blob_hex",
    "parse_nested",
    "parse_text",
    "to_physical",
]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY = _EPOCH.date().toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)
_MICROS_PER_DAY = 86_400 * MICROS


def to_physical(value: object, data_type: DataType) -> Physical:
    """A Python object as a value of a primitive type; it must be one of the type's exactly.

    A datetime without time zone is UTC for timestamptz. Raises TypeError for an object of another
    kind and ValueError for one that the type cannot hold without changing it.
    """
    if value is None:
        return None
    name = data_type.name
    if isinstance(data_type, Primitive) and name == "decimal":
        return exact_decimal(Decimal(_expect(value, data_type, Decimal, int)), data_type)
    if name in INTEGER_RANGES:
        return _in_range(_expect(value, data_type, int), data_type)
    if name in ("float32", "float64"):
        return _float(_expect(value, data_type, float, int), data_type)
    if name in TIMESTAMP_UNITS:
        return _timestamp(_expect(value, data_type, datetime.datetime), data_type)
    if name in TIME_UNITS:
        return _time(_expect(value, data_type, datetime.time), data_type)
    if name not in _CONVERSIONS:
        raise TypeError(f"{data_type} has no counterpart in Python")
    kinds, convert = _CONVERSIONS[name]
    return convert(_expect(value, data_type, *kinds))


def _expect(value: object, data_type: DataType, *kinds: type) -> Any:
    # To Python a bool is an int and a datetime is a date; to SQL neither is.
    is_subtype = (isinstance(value, bool) and bool not in kinds) or (
        isinstance(value, datetime.datetime) and datetime.datetime not in kinds
    )
    if is_subtype or not isinstance(value, kinds):
        raise TypeError(f"{value!r} is not a value of type {data_type}")
    return value


def _in_range(value: int, data_type: DataType) -> int:
    if value not in INTEGER_RANGES[data_type.name]:
        raise ValueError(f"{value} does not fit {data_type}")
    return value


def _float(value: float, data_type: DataType) -> float:
    try:
        exact = to_float32(value) if data_type.name == "float32" else float(value)
    except OverflowError:
        exact = None
    if exact is None or (exact != value and value == value):
        raise ValueError(f"{value} does not fit {data_type} exactly")
    return exact


def _timestamp(value: datetime.datetime, data_type: DataType) -> int:
    is_zoned = data_type.name in ZONED
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    elif not is_zoned:
        raise TypeError(f"{value!r} has a time zone, which {data_type} has not")
    return _rescale((value - _EPOCH) // _MICROSECOND, TIMESTAMP_UNITS[data_type.name], data_type)


def _rescale(micros: int, per_second: int, data_type: DataType) -> int:
    ticks, rest = divmod(micros * per_second, MICROS)
    if rest or abs(ticks) >= INFINITY:
        raise ValueError(f"{micros} µs do not fit {data_type}")
    return ticks


def _time(value: datetime.time, data_type: DataType) -> int:
    if value.tzinfo is not None:
        raise TypeError(f"{value!r} has a time zone, which {data_type} has not")
    return _micros_of_day(value) * TIME_UNITS[data_type.name] // MICROS


def _micros_of_day(value: datetime.time) -> int:
    return (value.hour * 3_600 + value.minute * 60 + value.second) * MICROS + value.microsecond


def _timetz(value: datetime.time) -> tuple[int, int]:
    offset = value.utcoffset() or datetime.timedelta()
    return _micros_of_day(value), offset // datetime.timedelta(seconds=1)


def _interval(value: datetime.timedelta) -> tuple[int, int, int]:
    micros = value // _MICROSECOND
    days, rest = divmod(abs(micros), _MICROS_PER_DAY)
    return (0, days, rest) if micros >= 0 else (0, -days, -rest)


def _uuid(value: uuid.UUID | str) -> Physical:
    return parse_text(value, Primitive("uuid")) if isinstance(value, str) else value


_CONVERSIONS: dict[str, tuple[tuple[type, ...], Callable[[Any], Physical]]] = {
    "boolean": ((bool,), bool),
    "date": ((datetime.date,), lambda value: value.toordinal() - _EPOCH_DAY),
    "timetz": ((datetime.time,), _timetz),
    "interval": ((datetime.timedelta,), _interval),
    "varchar": ((str,), str),
    "json": ((str,), str),
    "blob": ((bytes, bytearray, memoryview), bytes),
    "uuid": ((uuid.UUID, str), _uuid),
}
