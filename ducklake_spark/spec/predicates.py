"""What a query demands of single columns, and whether a file's statistics rule it out.

There is no NOT: a caller pushes it inwards or leaves the demand out. Statistics that are missing
or unusable rule nothing out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ducklake_spark.spec.stats import ColumnStats, bounds, has_counts, holds_only_nulls
from ducklake_spark.spec.types import DataType

Operator = Literal["=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Comparison:
    """column <operator> value; the value is physical and never NULL."""

    column_id: int
    operator: Operator
    value: Any


@dataclass(frozen=True, slots=True)
class OneOf:
    """column IN (values)."""

    column_id: int
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """column LIKE 'prefix%'."""

    column_id: int
    prefix: str


@dataclass(frozen=True, slots=True)
class IsNull:
    column_id: int


@dataclass(frozen=True, slots=True)
class IsNotNull:
    column_id: int


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Predicate, ...]


Predicate = Comparison | OneOf | StartsWith | IsNull | IsNotNull | AllOf | AnyOf


def columns_of(predicate: Predicate) -> set[int]:
    """The ids of the columns a predicate is about."""
    match predicate:
        case AllOf(parts) | AnyOf(parts):
            return set().union(*(columns_of(part) for part in parts))
        case _:
            return {predicate.column_id}


def might_match(
    predicate: Predicate, stats: Mapping[int, ColumnStats], types: Mapping[int, DataType]
) -> bool:
    """Whether a file with these statistics can hold a row for which the predicate is true."""
    match predicate:
        case AllOf(parts):
            return all(might_match(part, stats, types) for part in parts)
        case AnyOf(parts):
            return any(might_match(part, stats, types) for part in parts)
    known = stats.get(predicate.column_id)
    if known is None or known.value_count is None or known.null_count is None:
        return True
    if not has_counts(types[predicate.column_id]):
        return True
    match predicate:
        case IsNull():
            return known.null_count > 0
        case IsNotNull():
            return known.value_count > 0
    if holds_only_nulls(known, types[predicate.column_id]):
        return False
    low, high = bounds(known, types[predicate.column_id])
    return _bounds_allow(predicate, low, high)


def _bounds_allow(predicate: Comparison | OneOf | StartsWith, low: Any, high: Any) -> bool:
    match predicate:
        case Comparison(operator=operator, value=value):
            return _overlaps(operator, value, low, high)
        case OneOf(values=values):
            return any(_overlaps("=", value, low, high) for value in values)
        case StartsWith(prefix=prefix):
            starts_in_time = low is None or low <= prefix or str(low).startswith(prefix)
            return starts_in_time and _overlaps(">=", prefix, low, high)


def _overlaps(operator: Operator, value: Any, low: Any, high: Any) -> bool:
    if operator in ("=", "<=") and low is not None and low > value:
        return False
    if operator in ("=", ">=") and high is not None and high < value:
        return False
    if operator == "<" and low is not None and low >= value:
        return False
    return not (operator == ">" and high is not None and high <= value)
