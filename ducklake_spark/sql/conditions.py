"""What a query demands of the single columns of a relation, and as a table's own predicate.

Only what can be proved becomes one; the rest is left to Spark, which filters all rows anyway.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

from sqlglot import exp

from ducklake_spark.spec.datetimes import MICROS
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import fold
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
from ducklake_spark.spec.types import (
    FLOATS,
    MAX_DECIMAL_PRECISION,
    SIGNED,
    UNSIGNED,
    DataType,
    Primitive,
)
from ducklake_spark.spec.values import format_text, to_physical

_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?)?")
_EXACT_IN_DOUBLE = 2**53
_DIGITS_OF_INT, _DIGITS_OF_BIGINT = 10, 20
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_UTC = {"UTC", "Etc/UTC", "GMT", "Z", "+00:00"}
# Java knows no offset beyond 18 hours. Python's rules of a time zone may differ from Java's, mostly
# before 1970, so a local time stands for all moments that it can mean anywhere.
_LARGEST_OFFSET = 18 * 3_600 * MICROS


@dataclass(frozen=True, slots=True)
class Test:
    """A column against constants: =, <, <=, >, >=, in, like, null, not null.

    `widened`: Spark may compare values of another type, made of the column's.
    """

    column: str
    operator: str
    values: tuple[exp.Expr, ...] = ()
    widened: bool = False


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Condition, ...]


Condition = Test | Both | Either


def all_of(parts: list[Condition]) -> Condition | None:
    """What all of them demand; None if that is nothing."""
    if len(parts) < 2:
        return parts[0] if parts else None
    flat = (part.parts if isinstance(part, Both) else (part,) for part in parts)
    return Both(tuple(chain.from_iterable(flat)))


def any_of(parts: list[Condition]) -> Condition:
    """What one of them at least demands."""
    flat = (part.parts if isinstance(part, Either) else (part,) for part in parts)
    return Either(tuple(chain.from_iterable(flat)))


def is_true_of_null(condition: Condition) -> bool:
    """Whether a row without any values could satisfy it."""
    match condition:
        case Test(operator=operator):
            return operator == "null"
        case Both(parts):
            return all(is_true_of_null(part) for part in parts)
        case Either(parts):
            return any(is_true_of_null(part) for part in parts)


def renamed(condition: Condition, names: Mapping[str, str]) -> Condition | None:
    """The condition over other names; what has none is left out, if it may be."""
    match condition:
        case Test(column=column):
            return replace(condition, column=names[column]) if column in names else None
        case Both(parts):
            found = [renamed(part, names) for part in parts]
            return all_of([part for part in found if part is not None])
        case Either(parts):
            found = [renamed(part, names) for part in parts]
            known = tuple(part for part in found if part is not None)
            return Either(known) if len(known) == len(found) else None


def widened(condition: Condition) -> Condition:
    """The condition about the result of a UNION, whose type may not be that of all its parts."""
    if isinstance(condition, Test):
        return replace(condition, widened=True)
    return replace(condition, parts=tuple(widened(part) for part in condition.parts))


# --- as a predicate of a table ---


def predicate_of(condition: Condition | None, table: Table, time_zone: str) -> Predicate | None:
    """The part of a condition that a table's statistics can be asked about."""
    if condition is None:
        return None
    columns = {fold(column.name): column for column in table.columns}
    return _predicate(condition, columns, time_zone)


def _predicate(
    condition: Condition, columns: Mapping[str, Column], time_zone: str
) -> Predicate | None:
    if isinstance(condition, Test):
        column = columns.get(condition.column)
        return _tested(condition, column, time_zone) if column is not None else None
    found = [_predicate(part, columns, time_zone) for part in condition.parts]
    known = tuple(part for part in found if part is not None)
    if isinstance(condition, Either):
        return AnyOf(known) if len(known) == len(found) else None
    return AllOf(known) if known else None


def _tested(test: Test, column: Column, time_zone: str) -> Predicate | None:
    operator, column_id = test.operator, column.id
    if operator == "null":
        return IsNull(column_id)
    if operator == "not null":
        return IsNotNull(column_id)
    if test.widened and not _same_when_widened(column.type, time_zone):
        return None
    if operator == "like":
        prefix = _like_prefix(test.values[0])
        return StartsWith(column_id, prefix) if prefix and column.type.name == "varchar" else None
    values = [_constant(node, column.type) for node in test.values]
    if any(value is None for value in values):
        return None
    if column.type.name == "decimal" and not _are_compared_exactly(values, column.type):
        return None
    if column.type.name == "uuid" and operator not in ("=", "in"):
        return None  # Spark compares their texts
    if column.type.name == "timestamptz" and time_zone not in _UTC:
        return AnyOf(tuple(_around(column_id, operator, value) for value in values))
    if operator == "in":
        return OneOf(column_id, tuple(values))
    compared: Operator = operator  # type: ignore[assignment]
    return Comparison(column_id, compared, values[0])


def _around(column_id: int, operator: str, local: int) -> Predicate:
    """A comparison with every moment at which some clock shows the local time."""
    earliest = Comparison(column_id, ">=", local - _LARGEST_OFFSET)
    latest = Comparison(column_id, "<=", local + _LARGEST_OFFSET)
    match operator:
        case "<" | "<=":
            return latest
        case ">" | ">=":
            return earliest
        case _:
            return AllOf((earliest, latest))


def _are_compared_exactly(numbers: Sequence[Decimal], data_type: DataType) -> bool:
    """Whether a decimal holds all digits of the column and of the numbers: else Spark rounds."""
    if not isinstance(data_type, Primitive):
        return False
    scale = data_type.scale or 0
    wholes, scales = [(data_type.precision or MAX_DECIMAL_PRECISION) - scale], [scale]
    for number in numbers:
        _, digits, exponent = number.as_tuple()
        scales.append(-int(exponent))
        wholes.append(len(digits) + int(exponent))
        if not exponent:  # an integer, of which only the type may count
            wholes.append(_DIGITS_OF_INT if abs(number) < 2**31 else _DIGITS_OF_BIGINT)
    return max(wholes) + max(scales) <= MAX_DECIMAL_PRECISION


def _same_when_widened(data_type: DataType, time_zone: str) -> bool:
    """Whether values compare alike as any type that a UNION can make of them."""
    if data_type.name in ("timestamp", "timestamp_s", "timestamp_ms"):
        return time_zone in _UTC
    return data_type.name in (*SIGNED, *UNSIGNED, *FLOATS, "boolean", "date", "timestamptz")


def predicate_text(predicate: Predicate, table: Table) -> str:
    """A predicate as a person reads it."""
    names = {column.id: column for column in table.columns}

    def text(part: Predicate) -> str:
        match part:
            case AllOf(parts):
                return " and ".join(map(text, parts))
            case AnyOf(parts):
                return "(" + " or ".join(map(text, parts)) + ")"
        column = names[part.column_id]
        match part:
            case Comparison(operator=operator, value=value):
                return f"{column.name} {operator} {format_text(value, column.type)}"
            case OneOf(values=values):
                listed = ", ".join(format_text(value, column.type) for value in values)
                return f"{column.name} in ({listed})"
            case StartsWith(prefix=prefix):
                return f"{column.name} like {prefix}%"
            case IsNull():
                return f"{column.name} is null"
            case _:
                return f"{column.name} is not null"

    return text(predicate)


def _like_prefix(pattern: exp.Expr) -> str | None:
    if not (isinstance(pattern, exp.Literal) and pattern.is_string) or "\\" in pattern.this:
        return None
    return str(re.split("[%_]", pattern.this)[0])


def _constant(node: exp.Expr, data_type: DataType) -> Any:
    """The value as the type holds it; None where Spark would compare in some other type.

    A time without a time zone is taken to be in UTC.
    """
    convert = _CONVERSIONS.get(data_type.name)
    try:
        return convert(node, data_type) if convert else None
    except (ValueError, TypeError, InvalidOperation, OverflowError):
        return None


def _number(node: exp.Expr) -> Decimal | None:
    if isinstance(node, exp.Neg):
        positive = _number(node.this)
        return None if positive is None else -positive
    if isinstance(node, exp.Cast) and _is_number(node.this) and node.this.this.isdecimal():
        # sqlglot's reading of 10L. A type that rounds would give another number.
        node = node.this if node.to.is_type(*_WHOLE) else node
    return Decimal(node.this) if _is_number(node) else None


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _integer(node: exp.Expr, *_: object) -> Any:
    number = _number(node)
    if number is None or number != int(number) or abs(number) >= _EXACT_IN_DOUBLE:
        return None
    return int(number)


def _float(node: exp.Expr, *_: object) -> Any:
    number = _number(node)
    return None if number is None else float(number)


def _decimal(node: exp.Expr, *_: object) -> Any:
    # With an exponent it is a double, which Spark would compare as such.
    number = _number(node)
    return None if number is None or "e" in node.sql().lower() else number


def _text(node: exp.Expr, *_: object) -> Any:
    return node.this if isinstance(node, exp.Literal) and node.is_string else None


def _uuid(node: exp.Expr, data_type: DataType) -> Any:
    text = _text(node)
    return to_physical(text, data_type) if text is not None and text == text.lower() else None


def _boolean(node: exp.Expr, *_: object) -> Any:
    return bool(node.this) if isinstance(node, exp.Boolean) else None


def _moment(node: exp.Expr) -> tuple[str, datetime.datetime] | None:
    """The type a constant claims, empty for a plain string, and the moment it names."""
    claimed = ""
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        claimed, node = node.to.sql("spark").upper(), node.this
    text = node.this if isinstance(node, exp.Literal) and node.is_string else None
    if text is None or not _ISO.fullmatch(text):
        return None
    moment = datetime.datetime.fromisoformat(text)
    return None if claimed == "DATE" and moment.time() != datetime.time() else (claimed, moment)


def _date(node: exp.Expr, data_type: DataType) -> Any:
    found = _moment(node)
    if found is None or found[0] not in ("", "DATE") or found[1].time() != datetime.time():
        return None
    return to_physical(found[1].date(), data_type)


def _timestamp(node: exp.Expr, data_type: DataType) -> Any:
    found = _moment(node)
    if found is None or found[0] not in ("", "DATE", "TIMESTAMP_NTZ"):
        return None
    return to_physical(found[1], data_type)


def _timestamptz(node: exp.Expr, data_type: DataType) -> Any:
    found = _moment(node)
    if found is None or found[0] not in ("", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"):
        return None
    return to_physical(found[1], data_type)


_Conversion = Callable[[exp.Expr, DataType], Any]
_CONVERSIONS: Mapping[str, _Conversion] = (
    dict.fromkeys((*SIGNED, *UNSIGNED), _integer)
    | dict.fromkeys(FLOATS, _float)
    | dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms"), _timestamp)
    | {
        "decimal": _decimal,
        "varchar": _text,
        "uuid": _uuid,
        "boolean": _boolean,
        "date": _date,
        "timestamptz": _timestamptz,
    }
)
