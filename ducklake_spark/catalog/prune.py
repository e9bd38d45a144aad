"""Lets the catalog database leave out files whose statistics rule them out.

What comes back is a superset of the files that matter; `might_match` then decides on real values.
So a condition here may keep too much and must never drop what it cannot prove.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, false, literal, or_, select

from ducklake_spark.catalog.dialects import CatalogDatabase, TimeShape
from ducklake_spark.spec import tables
from ducklake_spark.spec.predicates import (
    AllOf,
    AnyOf,
    Comparison,
    IsNotNull,
    IsNull,
    OneOf,
    Operator,
    Predicate,
    StartsWith,
)
from ducklake_spark.spec.stats import has_counts
from ducklake_spark.spec.types import FLOATS, SIGNED, UNSIGNED, DataType
from ducklake_spark.spec.values import format_text

_s = tables.file_column_stats.c
_INT64 = range(-(2**63), 2**63)
# A column promoted from date to timestamp has texts of both shapes; only one of them sorts.
_SHAPES = {
    "date": TimeShape.DATE,
    "timestamp": TimeShape.TIMESTAMP,
    "timestamp_s": TimeShape.TIMESTAMP,
    "timestamp_ms": TimeShape.TIMESTAMP,
    "timestamp_ns": TimeShape.TIMESTAMP,
    "timestamptz": TimeShape.UTC,
}
# Databases read decimal text into doubles with different care for the last digit, and the text of
# a column promoted from float32 stands for the 32-bit float nearest to it.
_MARGIN = 1e-6
# Longer lists are left to `might_match`.
_MAX_VALUES = 50


def not_ruled_out(
    database: CatalogDatabase,
    table_id: int,
    predicate: Predicate,
    types: Mapping[int, DataType],
) -> ColumnElement[bool] | None:
    """A condition on ducklake_data_file, or None if the database can contribute nothing."""
    match predicate:
        case AllOf(parts):
            conditions = [not_ruled_out(database, table_id, part, types) for part in parts]
            known = [condition for condition in conditions if condition is not None]
            return and_(*known) if known else None
        case AnyOf(parts):
            conditions = [not_ruled_out(database, table_id, part, types) for part in parts]
            known = [condition for condition in conditions if condition is not None]
            return or_(*known) if known and len(known) == len(parts) else None
    ruled_out = _ruled_out(database, predicate, types[predicate.column_id])
    if ruled_out is None:
        return None
    excluded = select(_s.data_file_id).where(
        _s.table_id == table_id, _s.column_id == predicate.column_id, ruled_out
    )
    return tables.data_file.c.data_file_id.not_in(excluded)


def _ruled_out(
    database: CatalogDatabase,
    predicate: Comparison | OneOf | StartsWith | IsNull | IsNotNull,
    data_type: DataType,
) -> ColumnElement[bool] | None:
    """Which statistics rows prove that no row of their file satisfies the predicate."""
    if not has_counts(data_type):
        return None
    match predicate:
        case IsNull():
            return _s.null_count == 0
        case IsNotNull():
            return _s.value_count == 0
        case StartsWith(prefix=prefix):
            text = database.bytewise(_s.max_value)
            return text < prefix if data_type.name == "varchar" else None
        case Comparison(operator=operator, value=value):
            return _outside(database, data_type, operator, value)
        case OneOf(values=values) if 0 < len(values) <= _MAX_VALUES:
            parts = [_outside(database, data_type, "=", value) for value in values]
            known = [part for part in parts if part is not None]
            return and_(*known) if len(known) == len(parts) else None
        case _:
            return None


def _outside(
    database: CatalogDatabase, data_type: DataType, operator: Operator, value: Any
) -> ColumnElement[bool] | None:
    sides = _comparable(database, data_type, value)
    if sides is None:
        return None
    low, high, least, greatest = sides
    below = high < least if operator in ("=", ">=") else high <= least
    above = low > greatest if operator in ("=", "<=") else low >= greatest
    match operator:
        case "=":
            proof = or_(below, above)
        case "<" | "<=":
            proof = above
        case _:
            proof = below
    if data_type.name in FLOATS:
        proof = and_(proof, _s.contains_nan == false())
    return proof


def _comparable(
    database: CatalogDatabase, data_type: DataType, value: Any
) -> tuple[ColumnElement[Any], ColumnElement[Any], Any, Any] | None:
    """min and max as the database can compare them, and the value as a range around it."""
    name = data_type.name
    low, high = _s.min_value, _s.max_value
    if name in SIGNED or name in UNSIGNED:
        if value not in _INT64:
            return None
        return database.integer(low), database.integer(high), value, value
    if name in FLOATS or name == "decimal":
        middle = float(value)
        if not math.isfinite(middle):
            return None
        margin = abs(middle) * _MARGIN + 1e-300
        return database.number(low), database.number(high), middle - margin, middle + margin
    if (shape := _SHAPES.get(name)) is not None:
        text = format_text(value, data_type)
        if not re.match(shape.value, text):
            return None
        exact = database.bytewise(literal(text))
        return database.shaped(low, shape), database.shaped(high, shape), exact, exact
    if name == "varchar" and "\x00" not in value:
        exact = database.bytewise(literal(value))
        return database.bytewise(low), database.bytewise(high), exact, exact
    return None
