"""Values of primitive types, and DuckDB's text of them in statistics and partition values.

Use them through `spec.values`.
"""

from __future__ import annotations

import math
import re
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, TypeAlias

from ducklake_spark.spec import datetimes
from ducklake_spark.spec.datetimes import MICROS
from ducklake_spark.spec.types import MAX_DECIMAL_PRECISION, ZONED, DataType, Primitive

# The data type says which Python type a value has; a static checker cannot follow it there.
Physical: TypeAlias = Any

INTEGER_RANGES = {
    f"{prefix}int{bits}": (range(2**bits) if prefix else range(-(2 ** (bits - 1)), 2 ** (bits - 1)))
    for bits in (8, 16, 32, 64, 128)
    for prefix in ("", "u")
}
# How many of a type's units make a second.
TIME_UNITS = {"time": MICROS, "time_ns": 10**9}
TIMESTAMP_UNITS = {
    "timestamp_s": 1,
    "timestamp_ms": 1_000,
    "timestamp": MICROS,
    "timestamp_ns": 10**9,
    "timestamptz": MICROS,
    "timestamptz_ns": 10**9,
}

_BOOLEANS = {"0": False, "false": False, "f": False, "1": True, "true": True, "t": True}
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_SPECIAL_FLOAT = re.compile(r"[+-]?(inf|infinity|nan)", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"([0-9A-Fa-f]{2})*")
_ESCAPED_BYTE = re.compile(r"\\x([0-9A-Fa-f]{2})|([\x00-\x5B\x5D-\x7F])")


def parse_text(text: str, data_type: DataType) -> Physical:
    """The value that DuckDB's text of it stands for. A blob's text has escapes (``\\x00``).

    Raises ValueError if the text is not one of the type's.
    """
    name = data_type.name
    if isinstance(data_type, Primitive) and name == "decimal":
        return parse_decimal(text, data_type)
    if name in INTEGER_RANGES:
        return _parse_integer(text, name)
    if name in TIMESTAMP_UNITS:
        return datetimes.parse_timestamp(text, TIMESTAMP_UNITS[name], zoned=name in ZONED)
    if name in TIME_UNITS:
        return datetimes.parse_time(text, TIME_UNITS[name])
    if name not in _PARSERS:
        raise ValueError(f"a {data_type} has no text of its own")
    return _PARSERS[name](text)


def format_text(value: Physical, data_type: DataType) -> str:
    """The text that DuckDB writes into the statistics of data files (FORMAT 1.14).

    It differs from CAST(… AS VARCHAR) for booleans (0, 1) and blobs (hexadecimal).
    """
    name = data_type.name
    if isinstance(data_type, Primitive) and name == "decimal":
        text = f"{value:.{data_type.scale}f}"
        # DuckDB writes no zero before the point where the type has no digit there.
        return text.replace("0.", ".", 1) if data_type.precision == data_type.scale else text
    if name in INTEGER_RANGES:
        return str(value)
    if name in TIMESTAMP_UNITS:
        text = datetimes.format_timestamp(value, TIMESTAMP_UNITS[name])
        is_finite = abs(value) < datetimes.INFINITY
        return f"{text}+00" if name in ZONED and is_finite else text
    if name in TIME_UNITS:
        return datetimes.format_time(value, TIME_UNITS[name])
    if name not in _FORMATTERS:
        raise ValueError(f"a {data_type} has no text of its own")
    return _FORMATTERS[name](value)


def cast_text(value: Physical, data_type: DataType) -> str:
    """The text of DuckDB's CAST(… AS VARCHAR), which is in partition values and defaults."""
    match data_type.name:
        case "boolean":
            return "true" if value else "false"
        case "blob":
            return format_blob_escaped(value)
        case _:
            return format_text(value, data_type)


def parse_decimal(text: str, data_type: Primitive) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"not a {data_type}: {text!r}")
    return exact_decimal(Decimal(text), data_type)


def exact_decimal(value: Decimal, data_type: Primitive) -> Decimal:
    """The number at the type's scale. Raises ValueError if that would change it."""
    with localcontext() as context:
        context.prec = 2 * MAX_DECIMAL_PRECISION
        scale, precision = data_type.scale or 0, data_type.precision or MAX_DECIMAL_PRECISION
        if not value.is_finite() or value.adjusted() >= MAX_DECIMAL_PRECISION:
            raise ValueError(f"{value} does not fit {data_type}")
        exact = value.quantize(Decimal(1).scaleb(-scale))
        if exact != value or abs(exact) >= Decimal(1).scaleb(precision - scale):
            raise ValueError(f"{value} does not fit {data_type}")
    return exact


def to_float32(value: float) -> float:
    """The nearest 32-bit float; infinite beyond their range."""
    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single


def parse_blob_hex(text: str) -> bytes:
    """A blob from statistics of a data file: ``00FF61``."""
    if not _HEX.fullmatch(text):
        raise ValueError(f"not hexadecimal: {text!r}")
    return bytes.fromhex(text)


def parse_blob_escaped(text: str) -> bytes:
    """A blob from partition values, defaults and inlined rows: ``\\x00\\xFFa``."""
    parts, at = bytearray(), 0
    while at < len(text):
        match = _ESCAPED_BYTE.match(text, at)
        if match is None:
            raise ValueError(f"not a blob: {text!r}")
        parts += bytes.fromhex(match[1]) if match[1] else match[2].encode()
        at = match.end()
    return bytes(parts)


def format_blob_escaped(value: bytes) -> str:
    r"""DuckDB's CAST of a blob to text: all but harmless ASCII as ``\xHH``."""
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"\\'\"" else f"\\x{byte:02X}"
        for byte in value
    )


def _parse_boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError(f"not a boolean: {text!r}")
    return value


def _parse_integer(text: str, name: str) -> int:
    if not _INTEGER.fullmatch(text) or int(text) not in INTEGER_RANGES[name]:
        raise ValueError(f"not an {name}: {text!r}")
    return int(text)


def _parse_float(text: str) -> float:
    if not (_DECIMAL.fullmatch(text) or _SPECIAL_FLOAT.fullmatch(text)):
        raise ValueError(f"not a number: {text!r}")
    value = float(text)
    if math.isinf(value) and not _SPECIAL_FLOAT.fullmatch(text):
        raise ValueError(f"number out of range: {text!r}")
    return value


def _parse_float32(text: str) -> float:
    value = _parse_float(text)
    single = to_float32(value)
    if math.isinf(single) and not math.isinf(value):
        raise ValueError(f"number out of range: {text!r}")
    return single


def _format_float(value: float) -> str:
    # DuckDB keeps the sign of NaN, Python's repr does not.
    return "-nan" if math.isnan(value) and math.copysign(1, value) < 0 else repr(value)


def _format_float32(value: float) -> str:
    if not value or not math.isfinite(value):
        return _format_float(value)
    short = _shortest_decimal(abs(value))
    return _format_float(value if short is None else math.copysign(short, value))


def _shortest_decimal(value: float) -> float | None:
    """The shortest decimal that rounds to this positive 32-bit float and to no other.

    None in the close calls where DuckDB's algorithm (Grisu3) gives up: the decimal would lie
    on the edge of the numbers that round to the float, or another is as near to it.
    """
    mantissa, exponent = math.frexp(value)
    half = Fraction(2) ** (max(exponent - 24, -149) - 1)
    is_lower_neighbour_nearer = mantissa == 0.5 and exponent - 24 > -149
    width = half + (half / 2 if is_lower_neighbour_nearer else half)
    upper = Fraction(value) + half
    step = Fraction(10) ** math.ceil(math.log10(value) + 1)
    while upper % step > width:
        step /= 10
    distance = upper % step  # of the decimal from the upper edge
    while distance + step <= width and abs(distance + step - half) < half - distance:
        distance += step
    is_tie = distance + step <= width and distance + step - half == half - distance
    if is_tie or distance in (0, width):
        return None
    return float(upper - distance)


def _parse_uuid(text: str) -> uuid.UUID:
    if not _UUID.fullmatch(text):
        raise ValueError(f"not a uuid: {text!r}")
    return uuid.UUID(text)


_PARSERS: dict[str, Callable[[str], Physical]] = {
    "boolean": _parse_boolean,
    "float32": _parse_float32,
    "float64": _parse_float,
    "date": datetimes.parse_date,
    "timetz": datetimes.parse_timetz,
    "interval": datetimes.parse_interval,
    "varchar": str,
    "json": str,
    "blob": parse_blob_escaped,
    "uuid": _parse_uuid,
}
_FORMATTERS: dict[str, Callable[[Any], str]] = {
    "boolean": lambda value: "1" if value else "0",
    "float32": _format_float32,
    "float64": _format_float,
    "date": datetimes.format_date,
    "timetz": lambda value: datetimes.format_timetz(*value),
    "interval": lambda value: datetimes.format_interval(*value),
    "varchar": str,
    "json": str,
    "blob": lambda value: value.hex().upper(),
    "uuid": str,
}
