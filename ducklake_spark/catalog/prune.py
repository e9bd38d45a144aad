"""Lets the catalog database leave out files whose statistics rule them out.

What comes back is a superset of the files that matter; `might_match` then decides on real values.
So a condition here may keep too much and must never drop what it cannot prove.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    false,
    intersect,
    literal,
    or_,
    select,
    union_all,
)

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
    columns_of,
)
from ducklake_spark.spec.stats import has_counts
from ducklake_spark.spec.types import FLOATS, SIGNED, UNSIGNED, DataType
from ducklake_spark.spec.values import format_text

_s = tables.file_column_stats.c
# SQLite reads numbers beyond 64 bits as the greatest one within, which therefore says nothing.
_LEAST, _GREATEST = -(2**63), 2**63 - 2
# A column promoted from date to timestamp has texts of both shapes; only one of them sorts.
_SHAPES = {
    "date": TimeShape.DATE,
    "timestamp": TimeShape.TIMESTAMP,
    "timestamp_s": TimeShape.TIMESTAMP,
    "timestamp_ms": TimeShape.TIMESTAMP,
    "timestamp_ns": TimeShape.TIMESTAMP,
    "timestamptz": TimeShape.UTC,
    "timestamptz_ns": TimeShape.UTC,
}
# Databases read decimal text into doubles with different care for the last digit, and the text of
# a column promoted from float32 stands for the 32-bit float nearest to it.
_MARGIN = 1e-6
_LEAST_MARGIN = 1e-44  # the smallest 32-bit floats have hardly a digit
# Longer lists, and conditions that databases would find too long or too deep to parse, are left to
# `might_match`.
_MAX_VALUES = 50
_MAX_PARTS = 100
_MAX_DEPTH = 4


def not_ruled_out(
    database: CatalogDatabase,
    table_id: int,
    predicate: Predicate,
    types: Mapping[int, DataType],
) -> ColumnElement[bool] | None:
    """A condition on ducklake_data_file, or None if the database can contribute nothing."""
    f = tables.data_file.c
    among = select(f.data_file_id).where(f.table_id == table_id)
    demands = _by_column(predicate) if isinstance(predicate, AllOf) else [predicate]
    found = [
        _ruled_out(database, table_id, demand, types)
        for demand in demands
        if _size(demand) <= _MAX_PARTS and _depth(demand) <= _MAX_DEPTH
    ]
    conditions = [
        database.difference(f.data_file_id, among, excluded)
        for excluded in found
        if excluded is not None
    ]
    return and_(*conditions) if conditions else None


def _size(predicate: Predicate) -> int:
    parts = predicate.parts if isinstance(predicate, (AllOf, AnyOf)) else ()
    return sum(map(_size, parts)) or 1


def _depth(predicate: Predicate) -> int:
    parts = predicate.parts if isinstance(predicate, (AllOf, AnyOf)) else ()
    return 1 + max(map(_depth, parts), default=0)


def _ruled_out(
    database: CatalogDatabase,
    table_id: int,
    predicate: Predicate,
    types: Mapping[int, DataType],
) -> Select[Any] | None:
    """The ids of files that hold no row for which the predicate is true."""
    columns = columns_of(predicate)
    if len(columns) == 1:
        (column_id,) = columns
        proof = _proof(database, predicate, types[column_id])
        if proof is None:
            return None
        of_column = and_(_s.table_id == table_id, _s.column_id == column_id)
        return select(_s.data_file_id).where(
            of_column, database.covered(tables.file_column_stats), proof
        )
    if not isinstance(predicate, (AllOf, AnyOf)):
        return None
    found = [_ruled_out(database, table_id, part, types) for part in _by_column(predicate)]
    known = [select(excluded.subquery()) for excluded in found if excluded is not None]
    if not known or (isinstance(predicate, AnyOf) and len(known) < len(found)):
        return None
    combined = union_all(*known) if isinstance(predicate, AllOf) else intersect(*known)
    return select(combined.subquery())


def _by_column(predicate: AllOf | AnyOf) -> list[Predicate]:
    """The parts, those about the same column taken together: one look at its statistics does."""
    groups: defaultdict[frozenset[int], list[Predicate]] = defaultdict(list)
    for part in predicate.parts:
        groups[frozenset(columns_of(part))].append(part)
    if len(groups) == 1 and len(columns_of(predicate)) > 1:
        return list(predicate.parts)
    return [type(predicate)(tuple(parts)) for parts in groups.values()]


def _proof(
    database: CatalogDatabase, predicate: Predicate, data_type: DataType
) -> ColumnElement[bool] | None:
    """Which statistics rows of a column prove that no row of their file satisfies the predicate."""
    if not has_counts(data_type):
        return None
    match predicate:
        case AllOf(parts) | AnyOf(parts):
            proofs = [_proof(database, part, data_type) for part in parts]
            known = [proof for proof in proofs if proof is not None]
            if isinstance(predicate, AllOf):
                return or_(*known) if known else None
            return and_(*known) if len(known) == len(proofs) else None
        case IsNull():
            return _s.null_count == 0
        case IsNotNull():
            return _s.value_count == 0
        case StartsWith(prefix=prefix):
            return _proof(database, Comparison(predicate.column_id, ">=", prefix), data_type)
        case Comparison(operator=operator, value=value):
            return _outside(database, data_type, operator, value)
        case OneOf(values=values) if 0 < len(values) <= _MAX_VALUES:
            parts = tuple(Comparison(predicate.column_id, "=", value) for value in values)
            return _proof(database, AnyOf(parts), data_type)
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
        if not _LEAST <= value <= _GREATEST:
            return None
        return database.integer(low), database.integer(high), value, value
    if name in FLOATS or name == "decimal":
        middle = float(value)
        if not math.isfinite(middle):
            return None
        margin = abs(middle) * _MARGIN + _LEAST_MARGIN
        return (
            database.number(low),
            database.number(high),
            database.comparable(middle - margin),
            database.comparable(middle + margin),
        )
    if (shape := _SHAPES.get(name)) is not None:
        text = format_text(value, data_type)
        if not shape.fits(text):
            return None
        # Of a second's fractions only the second counts: some writers leave zeros at their end.
        least = text[: len("2024-01-15 10:00:00")]
        greatest = least if shape is TimeShape.DATE else least + ":"
        return (
            database.shaped(low, shape),
            database.shaped(high, shape),
            database.bytewise(literal(least)),
            database.bytewise(literal(greatest)),
        )
    if name == "varchar" and "\x00" not in value:
        exact = database.bytewise(literal(value))
        return database.bytewise(low), database.bytewise(high), exact, exact
    return None
