"""The values that the state machine writes: their types, their literals, and their order."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Cell = Any  # None, int, float, str, date, datetime (UTC), Decimal, or a tuple for a struct

UTC = datetime.UTC
LONG = "long " * 600


def _utc(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


# Around changes of time zone rules, where Python's and Java's databases differ.
TIMES = tuple(
    map(
        _utc,
        (
            "2024-02-29 10:11:12.123456",
            "1900-01-01 00:00:00",
            "1919-05-01 12:00:00",
            "1943-08-15 03:30:00",
            "1964-06-01 10:00:00",
            "1969-12-31 23:59:59.999999",
            "2024-07-01 00:00:00",
            "2100-12-31 23:00:00",
        ),
    )
)
_FLOATS = (1.5, 0.0, -0.0, 9.0, math.nan, math.inf, -math.inf)


@dataclass(frozen=True)
class Kind:
    """A type of column; `wider` is the type that it can be promoted to."""

    name: str
    spark: str
    duck: str
    values: tuple[Cell, ...] = field(repr=False)
    wider: str | None = None

    def __repr__(self) -> str:
        return self.name


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("int", "INT", "INTEGER", (0, 1, 7, -1, 2**31 - 1, -(2**31)), "long"),
        Kind("long", "BIGINT", "BIGINT", (0, 1, 7, 2**31, 2**63 - 1, -(2**63))),
        Kind("float", "FLOAT", "FLOAT", (*_FLOATS, 3.4028234663852886e38), "double"),
        Kind("double", "DOUBLE", "DOUBLE", (*_FLOATS, 1e300, 5e-324)),
        Kind(
            "text",
            "STRING",
            "VARCHAR",
            ("a", "", "it's", "NULL", "b\\c", "é☃", "\uffff", "😀", LONG, LONG + "z"),
        ),
        Kind("date", "DATE", "DATE", tuple(time.date() for time in TIMES)),
        Kind("time", "TIMESTAMP", "TIMESTAMPTZ", TIMES),
        Kind(
            "decimal",
            "DECIMAL(9,2)",
            "DECIMAL(9,2)",
            (Decimal("0.00"), Decimal("-1.25"), Decimal("9999999.99")),
            "wide decimal",
        ),
        Kind(
            "wide decimal",
            "DECIMAL(18,2)",
            "DECIMAL(18,2)",
            (Decimal("0.00"), Decimal("-1.25"), Decimal("9999999999999999.99")),
        ),
        Kind(
            "struct",
            "STRUCT<x: DOUBLE>",
            "STRUCT(x DOUBLE)",
            ((1.5,), (math.nan,), (None,), (-math.inf,), (9.0,)),
        ),
    )
}


# --- order and equality ---


def rank(cell: Cell) -> Any:
    """Return what cells of one type are ordered by: in both engines NaN is above infinity."""
    if isinstance(cell, float):
        return (1, 0.0) if math.isnan(cell) else (0, cell)
    return cell


def key(cell: Cell) -> Any:
    """Return what makes a cell equal to another one: NaN equals NaN, and -0.0 differs from 0.0."""
    if isinstance(cell, float):
        return "NaN" if math.isnan(cell) else repr(cell)
    if isinstance(cell, tuple):
        return tuple(map(key, cell))
    return cell


# --- literals ---


@dataclass(frozen=True)
class Dialect:
    """How an engine writes a value. `local_times` are texts of times in the session's zone."""

    name: str
    local_times: Mapping[datetime.datetime, str] = field(default_factory=dict, repr=False)

    def type(self, kind: Kind) -> str:
        return kind.spark if self.name == "spark" else kind.duck

    def literal(self, cell: Cell, kind: Kind, *, local: bool = False) -> str:
        """Return the SQL of a value; `local` writes a time without its zone where it can."""
        if cell is None:
            return f"CAST(NULL AS {self.type(kind)})"
        match kind.name:
            case "text":
                return self._text(cell)
            case "date":
                return f"DATE '{cell}'"
            case "time":
                return self._time(cell, local)
            case "struct":
                return self._struct(self.literal(cell[0], KINDS["double"]))
            case "float" | "double":
                return f"CAST('{_float(cell)}' AS {self.type(kind)})"
            case _:
                return f"CAST({cell} AS {self.type(kind)})"

    def _text(self, text: str) -> str:
        if self.name == "spark":
            text = text.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{text}'"
        text = text.replace("'", "''")
        return f"'{text}'"

    def _time(self, time: datetime.datetime, local: bool) -> str:
        name = "TIMESTAMP" if self.name == "spark" else "TIMESTAMPTZ"
        if local and time in self.local_times:
            return f"{name} '{self.local_times[time]}'"
        return f"{name} '{time.replace(tzinfo=None)}+00:00'"

    def _struct(self, x: str) -> str:
        return f"named_struct('x', {x})" if self.name == "spark" else f"{{'x': {x}}}"


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


DUCK = Dialect("duck")


def short(sql: str) -> str:
    """Return a statement with its long texts abridged, for people."""
    return sql.replace(LONG, "long … ")
