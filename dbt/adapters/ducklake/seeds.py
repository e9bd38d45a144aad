"""The rows of a seed as a DataFrame of texts, for SQL to cast."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from dbt.adapters.ducklake.column import DuckLakeColumn

if TYPE_CHECKING:
    import agate
    from pyspark.sql import DataFrame, SparkSession

_BIGINT = 2**63
_DECIMAL = 10**38


def number_type(values: Iterable[Decimal | None]) -> str:
    """Return the type that holds all numbers of a column."""
    numbers = [value for value in values if value is not None]
    if not numbers:  # nothing says that all are whole
        return "double"
    if not all(number.is_finite() and _is_whole(number) for number in numbers):
        return "double"
    if all(-_BIGINT <= number < _BIGINT for number in numbers):
        return "bigint"
    return "decimal(38,0)" if all(abs(number) < _DECIMAL for number in numbers) else "double"


def seed_frame(spark: SparkSession, table: agate.Table, types: Mapping[str, str]) -> DataFrame:
    """Return every value as the text that a cast to its column's type reads."""
    columns = []
    for at, name in enumerate(table.column_names):
        is_integer = DuckLakeColumn(name, types[name]).is_integer()
        texts = [_text(row[at], is_integer) for row in table.rows]
        columns.append(pa.array(texts, pa.string()))
    rows = pa.Table.from_arrays(columns, list(table.column_names))
    return spark.createDataFrame(rows).coalesce(1)  # a file that a person wrote makes one file


def _text(value: Any, is_integer: bool) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, Decimal):
        return _digits(value)
    return _whole_digits(value) if is_integer and isinstance(value, str) else str(value)


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def _digits(number: Decimal) -> str:
    """Spell out a number: Spark reads 1E+3 and 1.0 as a double, and not as an integer."""
    if not number.is_finite():
        return str(number)
    return format(number.to_integral_value() if _is_whole(number) else number, "f")


def _whole_digits(text: str) -> str:
    """Spell out a whole number. Return any other text unchanged, for Spark to reject."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return text
    return _digits(number) if number.is_finite() and abs(number) < _BIGINT else text
