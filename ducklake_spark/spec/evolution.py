"""Values written under an older definition of a column, as the current definition shows them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.model import Column
from ducklake_spark.spec.scalars import exact_decimal
from ducklake_spark.spec.types import FLOATS, SIGNED, UNSIGNED, DataType, Primitive
from ducklake_spark.spec.values import parse_text

# How many of a type's units make a second. All times count from the same moment, so a wider type
# is a matter of scale. The infinities are the same number in every unit (spec.values).
_PER_SECOND = {
    "timestamp_s": 1,
    "timestamp_ms": 1_000,
    "timestamp": 1_000_000,
    "timestamptz": 1_000_000,
    "timestamp_ns": 1_000_000_000,
    "timestamptz_ns": 1_000_000_000,
}
_INFINITE_DAYS = 2**31 - 1
_INFINITE_TIME = 2**63 - 1
_SECONDS_PER_DAY = 86_400
_INTEGERS = {*SIGNED, *UNSIGNED, "int128", "uint128", "boolean"}


def reshape(value: Any, old: Column, new: Column) -> Any:
    """A value of the column's old tree as one of its new tree; fields are matched by id."""
    if value is None:
        return None
    if not old.children or not new.children:
        return convert(value, old.type, new.type)
    match new.type.name:
        case "list":
            return [reshape(item, old.children[0], new.children[0]) for item in value]
        case "map":
            return [
                tuple(
                    reshape(part, *sides)
                    for part, *sides in zip(entry, old.children, new.children, strict=True)
                )
                for entry in value
            ]
        case _:
            known = {child.id: child for child in old.children}
            return {child.name: _field(value, known.get(child.id), child) for child in new.children}


def _field(struct: dict[str, Any], old: Column | None, new: Column) -> Any:
    return initial_value(new) if old is None else reshape(struct[old.name], old, new)


def initial_value(column: Column) -> Any:
    """What rows have in a column that was added after them."""
    if column.initial_default is None or column.type.is_nested:
        return None
    return parse_text(column.initial_default, column.type)


def convert(value: Any, old: DataType, new: DataType) -> Any:
    """A value of one primitive type as one of a wider type."""
    if old == new or not isinstance(old, Primitive) or not isinstance(new, Primitive):
        return value
    conversion = _conversion(old, new)
    if conversion is None:
        raise UnsupportedFeatureError(
            f"A {old} stored in the catalog cannot be read as {new}.",
            hint="Flush the table's inlined data with DuckDB (ducklake_flush_inlined_data).",
        )
    return conversion(value)


def _conversion(old: Primitive, new: Primitive) -> Callable[[Any], Any] | None:
    if new.name in FLOATS and (old.name in _INTEGERS or old.name in (*FLOATS, "decimal")):
        return float
    if new.name == "decimal" and (old.name in _INTEGERS or old.name == "decimal"):
        return lambda value: exact_decimal(Decimal(value), new)
    if new.name in _INTEGERS and old.name in _INTEGERS:
        return int
    if new.name in _PER_SECOND and old.name in _PER_SECOND:
        return _scaler(_PER_SECOND[new.name], _PER_SECOND[old.name], _INFINITE_TIME)
    if new.name in _PER_SECOND and old.name == "date":
        return _scaler(_SECONDS_PER_DAY * _PER_SECOND[new.name], 1, _INFINITE_DAYS)
    return None


def _scaler(times: int, divided_by: int, infinite: int) -> Callable[[int], int]:
    def scale(value: int) -> int:
        if abs(value) == infinite:
            return _INFINITE_TIME if value > 0 else -_INFINITE_TIME
        return value * times // divided_by  # in integers: a float has not enough digits

    return scale
