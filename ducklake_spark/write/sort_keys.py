"""Reads the sort keys of a table, which DuckDB may have written.

Only columns and a few functions that cannot fail are computed: an INSERT must not fail because of
its sort order, and rows in another order are no less right.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.spec.model import Table
from ducklake_spark.spec.names import backticked, fold, split_identifier

_PART = r'(?:\w+|"(?:[^"]|"")*"|`(?:[^`]|``)*`)'
_PATH = rf"{_PART}(?:\.{_PART})*"
_COLUMN = re.compile(_PATH)
_CALL = re.compile(rf'"?(\w+)"?\s*\(\s*({_PATH})\s*\)')
_TRUNCATED = re.compile(rf"date_trunc\s*\(\s*'(\w+)'\s*,\s*({_PATH})\s*\)", re.IGNORECASE)
_CAST = re.compile(rf'cast\s*\(\s*({_PATH})\s+as\s+"?(date|varchar|string)"?\s*\)', re.IGNORECASE)
_OF_TEXT: dict[str, Callable[[Expression], Expression]] = {
    "length": F.length,
    "lower": F.lower,
    "ltrim": F.ltrim,
    "md5": F.md5,
    "reverse": F.reverse,
    "rtrim": F.rtrim,
    "trim": F.trim,
    "upper": F.upper,
}
_OF_TIMES: dict[str, Callable[[Expression], Expression]] = {
    "day": F.dayofmonth,
    "dayofyear": F.dayofyear,
    "hour": F.hour,
    "minute": F.minute,
    "month": F.month,
    "quarter": F.quarter,
    "week": F.weekofyear,
    "year": F.year,
}
_UNITS = {"year", "quarter", "month", "week", "day", "hour", "minute", "second"}
_SPARK_TYPES = {"date": "date", "varchar": "string", "string": "string"}


def sort_value(text: str, table: Table) -> Expression | None:
    """Return what rows are sorted by for a key; None for a key that could fail in Spark."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    if _COLUMN.fullmatch(text):
        return _column(text, table)
    if match := _CAST.fullmatch(text):
        found = _column(match[1], table)
        return None if found is None else found.try_cast(_SPARK_TYPES[match[2].lower()])
    if match := _TRUNCATED.fullmatch(text):
        found, unit = _column(match[2], table), match[1].lower()
        if found is None or unit not in _UNITS:
            return None
        return F.date_trunc(unit, found.try_cast("timestamp"))
    if match := _CALL.fullmatch(text):
        return _call(match[1].lower(), _column(match[2], table))
    return None


def _call(name: str, value: Expression | None) -> Expression | None:
    if value is None:
        return None
    if name in _OF_TEXT:
        return _OF_TEXT[name](value.try_cast("string"))
    if name in _OF_TIMES:
        return _OF_TIMES[name](value.try_cast("timestamp"))
    return None


def _column(path: str, table: Table) -> Expression | None:
    """Return a column or a field of one, by its name in the table; None if there is none."""
    names, columns = [], table.columns
    try:
        parts = split_identifier(path)
    except DuckLakeError:
        return None
    for part in parts:
        found = next((column for column in columns if fold(column.name) == fold(part)), None)
        if found is None:
            return None
        names.append(backticked(found.name))
        columns = found.children
    return F.col(".".join(names))
