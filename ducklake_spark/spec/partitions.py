"""Partition transforms: which files rows go to, and what the catalog says about them (FORMAT 1.8).

Temporal transforms give plain parts of the calendar (month 3, not a month since 1970), in UTC. The
epoch transforms of version 1.1 count years, months, days or hours since 1970.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import quote

import mmh3

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec.datetimes import (
    DATE_INFINITY,
    INFINITY,
    MICROS,
    SECONDS_PER_DAY,
    civil_from_days,
)
from ducklake_spark.spec.names import fold
from ducklake_spark.spec.scalars import (
    TIME_UNITS,
    TIMESTAMP_UNITS,
    Physical,
    cast_text,
    format_text,
)
from ducklake_spark.spec.types import FLOATS, SIGNED, DataType, Primitive

CALENDAR_PARTS = ("year", "month", "day", "hour")
EPOCH_PARTS = tuple(f"epoch_{part}" for part in CALENDAR_PARTS)
MAX_BUCKETS = 2**31 - 1
NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"

_UNPARTITIONABLE = frozenset({"variant", "geometry", "unknown", "null"})
_WITH_DATE = frozenset({"date", "interval", *TIMESTAMP_UNITS})
_WITH_CLOCK = _WITH_DATE | {"timetz", *TIME_UNITS}
# Hashed as 64-bit integers; all other types but floats as bytes.
_HASHED_AS_INTEGER = frozenset({"boolean", "date", *SIGNED, *TIME_UNITS, *TIMESTAMP_UNITS})
_EPOCH_YEAR = 1970
_MAX_INTEGER_PRECISION = 18
_MAX_OFFSET = 16 * 3_600 - 1

_BUCKET = re.compile(r"bucket\((\d+)\)", re.ASCII)
_IDENTIFIER = r'("(?:[^"]|"")+"|`(?:[^`]|``)+`|[^\W\d][\w$]*)'
_EXPRESSION = re.compile(
    rf"\s*(?:(?P<function>[a-z]+)\s*\(\s*(?:(?P<buckets>\d+)\s*,)?\s*)?"
    rf"(?P<column>{_IDENTIFIER})\s*(?P<close>\)?)\s*",
    re.IGNORECASE,
)
_HINT = "Partition by a column, year(column), month(…), day(…), hour(…) or bucket(8, column)."


@dataclass(frozen=True, slots=True)
class Transform:
    """What makes a partition value of a column's value; its text is the catalog's."""

    name: str
    buckets: int | None = None

    def __str__(self) -> str:
        return self.name if self.buckets is None else f"{self.name}({self.buckets})"


IDENTITY = Transform("identity")


def bucket(count: int) -> Transform:
    if not 1 <= count <= MAX_BUCKETS:
        raise InvalidDefinitionError(
            f"A table cannot be partitioned into {count} buckets.",
            hint=f"Use 1 to {MAX_BUCKETS} buckets.",
        )
    return Transform("bucket", count)


def parse_transform(text: str, *, epochs: bool = False) -> Transform:
    """Read a transform as the catalog holds it: ``identity``, ``month``, ``bucket(8)``.

    `epochs`: the transforms that count from 1970, such as ``epoch_day``, are accepted too.
    """
    folded = fold(text)
    known = ("identity", *CALENDAR_PARTS, *(EPOCH_PARTS if epochs else ()))
    if folded in known:
        return Transform(folded)
    match = _BUCKET.fullmatch(folded)
    if match is None:
        raise InvalidDefinitionError(
            f"{text!r} is not a partition transform.",
            hint=f"The transforms are {', '.join(known)} and bucket(N).",
        )
    return bucket(int(match[1]))


def parse_partition_expression(text: str) -> tuple[Transform, str]:
    """Read a partition key as SQL writes it: ``region``, ``month(ts)``, ``bucket(8, "user id")``.

    Returns the transform and the column's name.
    """
    match = _EXPRESSION.fullmatch(text)
    if match is None or bool(match["function"]) != bool(match["close"]):
        raise InvalidDefinitionError(f"{text!r} is not a partition key.", hint=_HINT)
    function, buckets, column = match["function"], match["buckets"], _bare(match["column"])
    if function is None:
        return IDENTITY, column
    name = fold(function)
    if name == "bucket" and buckets is not None:
        return bucket(int(buckets)), column
    if name not in ("identity", *CALENDAR_PARTS) or buckets is not None:
        raise InvalidDefinitionError(f"{text!r} is not a partition key.", hint=_HINT)
    return Transform(name), column


def _bare(identifier: str) -> str:
    mark = identifier[0]
    return identifier[1:-1].replace(mark * 2, mark) if mark in '"`' else identifier


def check_transform(transform: Transform, data_type: DataType) -> None:
    """Raises InvalidDefinitionError if columns of the type cannot be partitioned so."""
    if transform.name == "hour":
        accepted = _WITH_CLOCK
    elif transform.name in CALENDAR_PARTS:
        accepted = _WITH_DATE
    elif data_type.is_nested or data_type.name in _UNPARTITIONABLE:
        raise InvalidDefinitionError(
            f"A table cannot be partitioned by a {data_type}.",
            hint="Partition by a column of a plain type.",
        )
    else:
        return
    if data_type.name not in accepted:
        raise InvalidDefinitionError(
            f"There is no {transform} of a {data_type} to partition by.",
            hint=f"{transform} takes {', '.join(sorted(accepted))}.",
        )


def partition_value(transform: Transform, value: Physical, data_type: DataType) -> str | None:
    """The text of ducklake_file_partition_value for files with this value; None is SQL's NULL."""
    if value is None:
        return None
    if transform.buckets is not None:
        return str(bucket_of(value, data_type, transform.buckets))
    if transform.name == "identity":
        return cast_text(value, data_type)
    part_of = _epoch_part if transform.name in EPOCH_PARTS else _calendar_part
    part = part_of(transform.name, value, data_type)
    return None if part is None else str(part)


def _epoch_part(name: str, value: Physical, data_type: DataType) -> int | None:
    """Return how many years, months, days or hours begin after 1970-01-01 and up to the value."""
    if data_type.name == "date":
        seconds = value * SECONDS_PER_DAY
        is_infinite = abs(value) >= DATE_INFINITY
    elif data_type.name in TIMESTAMP_UNITS:
        seconds = value // TIMESTAMP_UNITS[data_type.name]
        is_infinite = abs(value) >= INFINITY
    else:
        raise InvalidDefinitionError(
            f"Cannot partition by {name}({data_type}).",
            hint=f"{name} accepts dates and timestamps.",
        )
    if is_infinite:
        return None
    year, month, _ = civil_from_days(seconds // SECONDS_PER_DAY)
    years = int(year) - _EPOCH_YEAR
    parts = (years, years * 12 + int(month) - 1, seconds // SECONDS_PER_DAY, seconds // 3_600)
    return int(dict(zip(EPOCH_PARTS, parts, strict=True))[name])


def _calendar_part(name: str, value: Physical, data_type: DataType) -> int | None:
    if data_type.name == "interval":
        return _interval_part(name, *value)
    if data_type.name in TIME_UNITS:
        return int(value // (3_600 * TIME_UNITS[data_type.name]))
    if data_type.name == "timetz":
        return int(value[0] // (3_600 * MICROS))
    if data_type.name == "date":
        days, hour = value, 0
        is_infinite = abs(value) >= DATE_INFINITY
    else:
        seconds = value // TIMESTAMP_UNITS[data_type.name]
        days, hour = seconds // SECONDS_PER_DAY, seconds % SECONDS_PER_DAY // 3_600
        is_infinite = abs(value) >= INFINITY
    if is_infinite:
        return None
    year, month, day = civil_from_days(days)
    if data_type.name == "timestamptz" and year <= 0:
        year = 1 - year  # 44 of 44 BC; of all other types it is -43
    return dict(zip(CALENDAR_PARTS, (year, month, day, hour), strict=True))[name]


def _interval_part(name: str, months: int, days: int, micros: int) -> int:
    years, rest = divmod(abs(months), 12)
    hours = abs(micros) // (3_600 * MICROS)
    sign = -1 if months < 0 else 1
    parts = (sign * years, sign * rest, days, -hours if micros < 0 else hours)
    return dict(zip(CALENDAR_PARTS, parts, strict=True))[name]


def bucket_of(value: Physical, data_type: DataType, count: int) -> int | None:
    """The number of the bucket a value is in; NULL is in none.

    Not Iceberg's buckets: decimals, UUIDs and unsigned integers are hashed in another form.
    """
    if value is None:
        return None
    hashed: int = mmh3.hash(_hash_input(value, data_type), 0, signed=False)
    return (hashed & 0x7FFF_FFFF) % count


def _hash_input(value: Physical, data_type: DataType) -> bytes:
    name = data_type.name
    if name in _HASHED_AS_INTEGER:
        return struct.pack("<q", value)
    if name == "timetz":
        micros, offset = value
        return struct.pack("<q", micros << 24 | (_MAX_OFFSET - offset))
    if name in FLOATS:
        return struct.pack("<d", value + 0.0)  # makes -0.0 to 0.0
    if isinstance(data_type, Primitive) and name == "decimal":
        return _hash_input_of_decimal(value, data_type)
    return bytes(value) if name == "blob" else format_text(value, data_type).encode()


def _hash_input_of_decimal(value: Decimal, data_type: Primitive) -> bytes:
    if (data_type.precision or 0) > _MAX_INTEGER_PRECISION:
        return format_text(value, data_type).encode()
    return struct.pack("<q", int(value.scaleb(data_type.scale or 0)))


def partition_directory(keys: Sequence[tuple[Transform, str]], values: Sequence[str | None]) -> str:
    """The directory of files with these partition values, like ``region=eu/month=3/``.

    It is for people to read: the catalog alone says what is in a file.
    """
    parts = (
        f"{quote(name, safe='')}={NULL_DIRECTORY if value is None else quote(value, safe='')}/"
        for name, value in zip(key_names(keys), values, strict=True)
    )
    return "".join(parts)


def key_names(keys: Sequence[tuple[Transform, str]]) -> list[str]:
    """The names of partition keys in directories.

    Two can be the same, as of ``(a, a)``; DuckDB then cannot write to the table at all.
    """
    names: list[str] = []
    used: set[str] = set()
    for transform, column in keys:
        name = column if transform == IDENTITY else transform.name
        if fold(name) in used:
            name = f"{name}_{column}"
        names.append(name)
        used.add(fold(name))
    return names
