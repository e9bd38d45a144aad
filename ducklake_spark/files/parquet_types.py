"""Which type a leaf of a foreign Parquet file has, and which columns can hold it.

As DuckDB's ducklake_add_data_files decides, except where it takes what it then cannot read.
"""

from __future__ import annotations

import json
from typing import Any

from ducklake_spark.spec.types import FLOATS, SIGNED, UNSIGNED, DataType, Primitive

_PLAIN = {
    "BOOLEAN": "boolean",
    "INT32": "int32",
    "INT64": "int64",
    "INT96": "timestamp",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "BYTE_ARRAY": "blob",
    "FIXED_LEN_BYTE_ARRAY": "blob",
}
_LOGICAL = {
    "String": "varchar",
    "Enum": "varchar",
    "JSON": "json",
    "BSON": "blob",
    "UUID": "uuid",
    "Date": "date",
    "Interval": "interval",
}
_TIMESTAMPS = {
    "milliseconds": "timestamp_ms",
    "microseconds": "timestamp",
    "nanoseconds": "timestamp_ns",
}
# DuckDB reads nearly any of these as any other.
_ZONELESS = {"timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"}
_TOO_COARSE_FOR_NANOS = {"timestamp_s", "timestamp_ms"}


def type_of(leaf: Any) -> Primitive | None:
    """The type of a leaf of a Parquet schema, None if no column has such a type."""
    logical = json.loads(leaf.logical_type.to_json())
    kind = logical["Type"]
    match kind:
        case "None" | "Null":
            name: str | None = _PLAIN[leaf.physical_type]
        case "Int":
            name = f"{'int' if logical['isSigned'] else 'uint'}{logical['bitWidth']}"
        case "Decimal":
            return Primitive("decimal", logical["precision"], logical["scale"])
        case "Timestamp":
            # Files of old have UTC in them and mean no zone.
            zoned = logical["isAdjustedToUTC"] and not logical["is_from_converted_type"]
            name = "timestamptz" if zoned else _TIMESTAMPS[logical["timeUnit"]]
        case "Time":
            name = "time" if logical["timeUnit"] == "microseconds" else None
        case _:
            name = _LOGICAL.get(kind)
    return None if name is None else Primitive(name)


def can_hold(column: DataType, stored: Primitive) -> bool:
    """Whether a column of a type can hold all values of a stored one."""
    if column == stored:
        return True
    for family in (SIGNED, UNSIGNED, FLOATS):
        if column.name in family and stored.name in family:
            return family.index(column.name) >= family.index(stored.name)
    if column.name in SIGNED and stored.name in UNSIGNED:
        return SIGNED.index(column.name) > UNSIGNED.index(stored.name)
    if column.name in _ZONELESS:
        too_fine = stored.name == "timestamp_ns" and column.name in _TOO_COARSE_FOR_NANOS
        return stored.name in _ZONELESS and not too_fine
    if isinstance(column, Primitive) and column.name == stored.name == "decimal":
        return _digits(column) >= _digits(stored) and (column.scale or 0) >= (stored.scale or 0)
    return False


def _digits(decimal: Primitive) -> int:
    return (decimal.precision or 0) - (decimal.scale or 0)
