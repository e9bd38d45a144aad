"""Arguments of procedures and table functions: expressions become values, and find the parameters
that a Python function declares."""

from __future__ import annotations

import datetime
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import NoneType
from typing import Any, Union, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import ConfigError, StatementError
from ducklake_spark.spec.moments import Moment, moment_of, utc_now
from ducklake_spark.sql.parse_changes import arguments
from ducklake_spark.sql.scope import Scope
from ducklake_spark.sql.tokens import Cursor, literal, quoted

# Zones that Spark knows beside those with names: +02:00, -8, GMT+2, UTC+01:30.
_OFFSET = re.compile(
    r"(?:UTC|UT|GMT)?([+-])([01]?\d)(?::?(\d{1,2}))?(?::?(\d{2}))?", re.ASCII | re.IGNORECASE
)
# DuckDB names the schema and the table of one function so and of the other so.
_OTHER_NAMES = {
    "table": "table_name",
    "schema": "schema_name",
    "schema_name": "schema",
}
_MOMENT = frozenset(get_args(Moment))
_SHOWN = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    object: "a value",
    list[str]: "texts",
    list[int]: "whole numbers",
    Moment: "a duration or a time",
}


@dataclass(frozen=True, slots=True)
class Given:
    """Values of arguments: those by place, and those by name."""

    by_place: Sequence[Any]
    by_name: Mapping[str, Any]


def evaluated(scope: Scope, text: str) -> Given:
    """Arguments as values; Spark evaluates them, so that any expression may be one."""
    given = arguments(Cursor(f"({text})"))
    if not given:
        return Given([], {})
    listed = ", ".join(f"{expression} AS a{at}" for at, (_, expression) in enumerate(given))
    frame = scope.query(f"SELECT {listed}")
    row = frame.select(*map(_tellable, frame.schema)).toArrow().to_pylist()[0]
    values = [(name, row[f"a{at}"]) for at, (name, _) in enumerate(given)]
    return Given(
        [value for name, value in values if name is None],
        {name: value for name, value in values if name is not None},
    )


def _tellable(field: T.StructField) -> Column:
    """A value as Arrow tells it, which knows neither months nor lists of nothing."""
    value = F.col(field.name)
    match field.dataType:
        case T.YearMonthIntervalType():
            months = value.cast("interval month").cast("int").cast("string")
            value = F.concat(months, F.lit(" months"))
        case T.ArrayType(elementType=T.NullType()):
            value = value.cast("array<string>")
    return value.alias(field.name)


def _text(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int() | float() | Decimal():
            return str(value)
        case list() | tuple():
            return f"array({', '.join(map(_text, value))})"
        case _:  # a date is what YAML makes of an argument, and as a text it is one again
            return literal(str(value))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function, `type` without the None it may take."""

    name: str
    type: Any
    default: Any
    takes_null: bool

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def __str__(self) -> str:
        default = ""
        if not self.is_required and self.default is not None:
            default = f", default {str(self.default).lower()}"
        return (
            f"{self.name} ({_SHOWN[self.type]}{', optional' if self.default is None else default})"
        )


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes by name, and what its rows are."""

    name: str
    parameters: tuple[Parameter, ...]
    row: type

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Signature:
        """The keyword parameters of a function, which returns a list of dataclass rows."""
        hints = get_type_hints(function)
        declared = inspect.signature(function).parameters.values()
        parameters = (
            Parameter(p.name, *_required(hints[p.name], p.default))
            for p in declared
            if p.kind is inspect.Parameter.KEYWORD_ONLY
        )
        (row,) = get_args(hints["return"])
        return cls(function.__name__, tuple(parameters), row)

    def bound(self, given: Given, zone: str) -> dict[str, Any]:
        """The arguments under the names of the parameters, each of its parameter's type.

        `zone` is that of times that do not say theirs.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        if len(given.by_place) > len(known):
            raise self.error(f"takes {len(known)} arguments at most")
        values = dict(zip(known, given.by_place, strict=False))
        for name, value in given.by_name.items():
            parameter = name if name in known else _OTHER_NAMES.get(name, name)
            if parameter not in known:
                raise self.error(f"has no argument {name!r}")
            if parameter in values:
                raise self.error(f"was given {parameter} twice")
            values[parameter] = value
        missing = [p.name for p in self.parameters if p.is_required and p.name not in values]
        if missing:
            raise self.error(f"needs {' and '.join(missing)}")
        return {
            name: self._fitted(parameter, values[name], zone)
            if name in values
            else parameter.default
            for name, parameter in known.items()
        }

    def call_text(self, lake: str, values: Mapping[str, Any]) -> str:
        """The CALL with these arguments; those that are None are left out where they may be."""
        required = {parameter.name for parameter in self.parameters if parameter.is_required}
        given = [
            f"{name} => {_text(value)}"
            for name, value in values.items()
            if value is not None or name in required
        ]
        return f"CALL {quoted(lake)}.{self.name}({', '.join(given)})"

    def _fitted(self, parameter: Parameter, value: Any, zone: str) -> Any:
        if value is None and parameter.takes_null:
            return None
        fitted = _converted(value, parameter.type, zone)
        if fitted is None:
            shown = "NULL" if value is None else repr(value)
            raise self.error(f"cannot take {shown} for {parameter.name}")
        return fitted

    def error(self, problem: str) -> StatementError:
        """An error that lists the arguments there are."""
        listed = ", ".join(map(str, self.parameters)) or "none"
        return StatementError(f"{self.name} {problem}.", hint=f"Its arguments: {listed}.")


def _required(hint: Any, default: Any) -> tuple[Any, Any, bool]:
    """The type, the default, and whether NULL means something."""
    if hint is object:
        return object, default, True
    parts = get_args(hint) if get_origin(hint) not in (list, tuple) else (hint,)
    takes_null = NoneType in parts
    others = [part for part in (parts or (hint,)) if part is not NoneType]
    kind = Moment if set(others) == _MOMENT else Union[tuple(others)]  # noqa: UP007 - made here
    return kind, default, takes_null


def _converted(value: Any, wanted: Any, zone: str) -> Any:
    """The value as its parameter wants it, None if it cannot be."""
    if wanted is object:
        return value
    if wanted is Moment:
        return _moment(value, zone)
    if get_origin(wanted) is list:
        (item,) = get_args(wanted)
        items = [_converted(v, item, zone) for v in (value if isinstance(value, list) else [value])]
        return None if None in items else items
    if wanted is float and isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) and wanted is not bool:
        return None
    return value if isinstance(value, wanted) else None


def _moment(value: Any, zone: str) -> datetime.datetime | None:
    if not isinstance(value, get_args(Moment)):
        return None
    return moment_of(value, now=utc_now(), zone=_zone(zone))


def _zone(name: str) -> datetime.tzinfo:
    try:
        return ZoneInfo("UTC" if name == "Z" else name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        offset = _OFFSET.fullmatch(name)
        if offset is None:
            raise ConfigError(
                f"Times without a zone cannot be read in the session's time zone, {name!r}.",
                hint="Give the time with its offset, such as '2024-01-15 12:00:00+02:00', or set "
                "spark.sql.session.timeZone to the name of a region.",
            ) from error
        hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
        ahead = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return datetime.timezone(-ahead if offset[1] == "-" else ahead)
