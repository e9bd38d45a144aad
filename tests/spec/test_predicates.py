"""What statistics may rule out: never a file that holds a row the query asks for."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

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
    might_match,
)
from ducklake_spark.spec.stats import ColumnStats
from ducklake_spark.spec.types import DataType, parse_type
from ducklake_spark.spec.values import format_text

INT, TEXT, FLOAT = parse_type("int32"), parse_type("varchar"), parse_type("float64")
OPERATORS: tuple[Operator, ...] = ("=", "<", "<=", ">", ">=")
Row = dict[int, Any]

# Few different values, so that predicates often hit their edges.
VALUES: dict[str, Callable[[random.Random], Any]] = {
    "int32": lambda rng: rng.randint(-5, 5),
    "uint64": lambda rng: rng.choice((0, 1, 2**63, 2**64 - 1)),
    "float64": lambda rng: rng.choice((-math.inf, -1.5, -0.0, 0.0, 0.1, 1e300, math.inf, math.nan)),
    "float32": lambda rng: rng.choice((-1.5, 0.0, 0.5, 2.0**-149, math.nan)),
    "decimal(4,2)": lambda rng: Decimal(rng.randint(-5, 5)).scaleb(-2),
    "varchar": lambda rng: rng.choice(("", "a", "ab", "abc", "b", "é", "z", "Z", "\U0001f600")),
    "date": lambda rng: rng.randint(-2, 3),
    "timestamp": lambda rng: rng.randint(-2, 3) * 500_000,
    "boolean": lambda rng: rng.random() < 0.5,
    "blob": lambda rng: rng.choice((b"", b"\x00", b"a", b"\xff")),
    "interval": lambda rng: (0, rng.randint(0, 3), 0),
    "int128": lambda rng: rng.randint(-(2**100), 2**100),
}


def _matches(predicate: Predicate, row: Row) -> bool:
    """Whether the predicate is true of a row, by SQL's rules; NaN is above all numbers."""
    match predicate:
        case AllOf(parts):
            return all(_matches(part, row) for part in parts)
        case AnyOf(parts):
            return any(_matches(part, row) for part in parts)
        case IsNull(column):
            return row[column] is None
        case IsNotNull(column):
            return row[column] is not None
    value = row[predicate.column_id]
    if value is None:
        return False
    match predicate:
        case Comparison(operator=operator, value=other):
            return _compares(value, operator, other)
        case OneOf(values=values):
            return any(_compares(value, "=", other) for other in values)
        case StartsWith(prefix=prefix):
            return str(value).startswith(prefix)


def _compares(value: Any, operator: Operator, other: Any) -> bool:
    left, right = _ranked(value), _ranked(other)
    outcomes: dict[str, bool] = {"=": left == right, "<": left < right, ">": left > right}
    return outcomes["="] or outcomes[operator[0]] if operator[1:] else outcomes[operator]


def _ranked(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return (1, 0.0) if math.isnan(value) else (0, value)


def _stats(column_id: int, values: Sequence[Any], data_type: DataType) -> ColumnStats:
    present = [value for value in values if value is not None]
    ordered = [value for value in present if value == value]
    low, high = (min(ordered), max(ordered)) if ordered else (None, None)
    is_float = data_type.name.startswith("float")
    return ColumnStats(
        column_id=column_id,
        column_size_bytes=1,
        value_count=len(present),
        null_count=len(values) - len(present),
        min_value=None if low is None else format_text(low, data_type),
        max_value=None if high is None else format_text(high, data_type),
        contains_nan=len(ordered) < len(present) if is_float else None,
    )


def _predicate(rng: random.Random, types: dict[int, str], depth: int = 2) -> Predicate:
    if depth and rng.random() < 0.4:
        parts = tuple(_predicate(rng, types, depth - 1) for _ in range(rng.randint(1, 3)))
        return AllOf(parts) if rng.random() < 0.5 else AnyOf(parts)
    column = rng.choice(list(types))
    make = VALUES[types[column]]
    kinds: list[Callable[[], Predicate]] = [
        lambda: Comparison(column, rng.choice(OPERATORS), make(rng)),
        lambda: OneOf(column, tuple(make(rng) for _ in range(rng.randint(0, 3)))),
        lambda: IsNull(column),
        lambda: IsNotNull(column),
    ]
    if types[column] == "varchar":
        kinds.append(
            lambda: StartsWith(column, rng.choice(("", "a", "ab", "é", "Z", "\U0001f600")))
        )
    return rng.choice(kinds)()


@pytest.mark.parametrize("seed", range(40))
def test_no_file_with_a_row_that_matches_is_ruled_out(seed: int) -> None:
    rng = random.Random(seed)
    ruled_out = 0
    for _ in range(60):
        types = dict(enumerate(rng.sample(sorted(VALUES), 3), start=1))
        parsed = {column: parse_type(text) for column, text in types.items()}
        rows = [
            {c: None if rng.random() < 0.3 else VALUES[text](rng) for c, text in types.items()}
            for _ in range(rng.randint(1, 3))
        ]
        stats = {c: _stats(c, [row[c] for row in rows], parsed[c]) for c in types}
        if rng.random() < 0.2:
            stats.pop(rng.choice(list(stats)))
        predicate = _predicate(rng, types)
        kept = might_match(predicate, stats, parsed)
        ruled_out += not kept
        assert kept or not any(_matches(predicate, row) for row in rows), (seed, predicate, rows)
    assert ruled_out, f"seed {seed}: nothing was ever ruled out"


def _file(low: str | None, high: str | None, **changes: Any) -> ColumnStats:
    known = {"value_count": 3, "null_count": 0, "contains_nan": None} | changes
    return ColumnStats(1, 1, min_value=low, max_value=high, **known)


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        (Comparison(1, "=", 9), False), (Comparison(1, "=", 10), True),
        (Comparison(1, "=", 20), True),
        (Comparison(1, "=", 21), False), (Comparison(1, "<", 10), False),
        (Comparison(1, "<", 11), True),
        (Comparison(1, "<=", 10), True), (Comparison(1, "<=", 9), False),
        (Comparison(1, ">", 20), False),
        (Comparison(1, ">", 19), True), (Comparison(1, ">=", 20), True),
        (Comparison(1, ">=", 21), False),
        (OneOf(1, (1, 2, 30)), False), (OneOf(1, (1, 15)), True), (OneOf(1, ()), False),
        (IsNull(1), False), (IsNotNull(1), True),
        (AllOf((Comparison(1, ">", 5), Comparison(1, "<", 9))), False),
        (AnyOf((Comparison(1, "<", 9), Comparison(1, ">", 19))), True),
        (AllOf(()), True), (AnyOf(()), False),
    ],
)  # fmt: skip
def test_bounds_rule_out_just_what_they_prove(predicate: Predicate, kept: bool) -> None:
    assert might_match(predicate, {1: _file("10", "20")}, {1: INT}) == kept


@pytest.mark.parametrize(
    ("prefix", "kept"),
    [
        ("a", False),
        ("b", True),
        ("bc", True),
        ("bb", False),
        ("c", True),
        ("cz", False),
        ("", True),
    ],
)
def test_a_prefix_is_looked_for_between_the_bounds(prefix: str, kept: bool) -> None:
    assert might_match(StartsWith(1, prefix), {1: _file("bc", "ca")}, {1: TEXT}) == kept


@pytest.mark.parametrize(
    "stats",
    [
        _file(None, None),
        _file("10", "20", value_count=None),
        _file("10", "20", null_count=None),
        _file("x", "y"),
        _file(None, "20"),
    ],
)
def test_statistics_that_are_missing_or_make_no_sense_rule_nothing_out(stats: ColumnStats) -> None:
    assert might_match(Comparison(1, "<", 5), {1: stats}, {1: INT})
    assert might_match(Comparison(1, "=", 15), {1: stats}, {1: INT})


def test_a_file_without_statistics_is_kept() -> None:
    assert might_match(Comparison(1, "=", 5), {}, {1: INT})


@pytest.mark.parametrize("contains_nan", [None, True])
def test_bounds_of_floats_count_only_if_there_is_surely_no_nan(contains_nan: bool | None) -> None:
    stats = {1: _file("1.0", "2.0", contains_nan=contains_nan)}
    assert might_match(Comparison(1, ">", 5.0), stats, {1: FLOAT})
    assert not might_match(
        Comparison(1, ">", 5.0), {1: _file("1.0", "2.0", contains_nan=False)}, {1: FLOAT}
    )


def test_a_file_of_nulls_alone_matches_nothing_but_is_null() -> None:
    stats = {1: _file(None, None, value_count=0, null_count=3)}
    assert might_match(IsNull(1), stats, {1: INT})
    for predicate in (Comparison(1, ">=", 0), OneOf(1, (1,)), IsNotNull(1)):
        assert not might_match(predicate, stats, {1: INT})


def test_a_predicate_tells_its_columns() -> None:
    predicate = AllOf((IsNull(1), AnyOf((Comparison(2, "=", 1), StartsWith(3, "a"))), OneOf(4, ())))
    assert columns_of(predicate) == {1, 2, 3, 4}
    assert columns_of(AllOf(())) == set()
