"""Defaults: what rows show in columns and fields that were added after them, and new rows get.

A file lacks a column that was added later. Spark shows a default for a column that is missing in
a file, but not for a field inside a struct, and not for bytes; there the age of the file tells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.scan.types import Conversion, converted, spark_type_of
from ducklake_spark.spec.model import Column, DataFile
from ducklake_spark.spec.values import INFINITY, format_text, parse_text

_LONG_DIGITS = 18
_PER_MICRO = {"timestamp_s": 1_000_000, "timestamp_ms": 1_000, "timestamp": 1}


def default_metadata(column: Column) -> dict[str, str]:
    """What Spark shows for a column that a file lacks: an SQL literal of the stored type."""
    literal = _literal(column)
    if literal is None or not _is_known_to_spark(column):
        return {}
    return {"EXISTS_DEFAULT": literal, "CURRENT_DEFAULT": literal}


def stored_default(column: Column, data_type: T.DataType) -> Expression:
    """The same as an expression; NULL where there is no default."""
    literal = _literal(column)
    return F.lit(None).cast(data_type) if literal is None else F.expr(literal)


def new_default(column: Column) -> str:
    """What new rows get in a primitive column with a literal default: SQL of the type shown."""
    text = column.default.value or ""
    if column.type.name in ("time", "uuid"):
        return _quoted(format_text(parse_text(text, column.type), column.type))
    if column.type.name in ("int128", "uint128"):  # exact until they are written
        return _cast(text, spark_type_of(column).shown)
    return _sql(column, text)


def to_be_filled(columns: Collection[Column]) -> frozenset[int]:
    """Columns and fields with defaults that Spark does not show for files without them."""
    return frozenset(
        leaf.id
        for column in columns
        for leaf in column.walk()
        if _literal(leaf) is not None and not (leaf is column and _is_known_to_spark(leaf))
    )


def missing_in(
    file: DataFile, fillable: Collection[int], births: Mapping[int, int]
) -> frozenset[int]:
    """Those of the columns that were added after a file; merged files are of one shape."""
    return frozenset(i for i in fillable if births.get(i, 0) > file.begin_snapshot)


def filled(stored: Expression, column: Column, missing: Collection[int]) -> Expression:
    """A stored value with the defaults of the fields that its file lacks."""

    def default_of(leaf: Column) -> Conversion | None:
        if leaf.id not in missing:
            return None
        return lambda _: stored_default(leaf, spark_type_of(leaf).stored)

    return converted(stored, column, default_of)


def _is_known_to_spark(column: Column) -> bool:
    # Its vectorised reader has no constants of bytes, and no decimals beyond 64 bits.
    stored = spark_type_of(column).stored
    if isinstance(stored, T.DecimalType):
        return stored.precision <= _LONG_DIGITS
    return not isinstance(stored, T.BinaryType)


def _literal(column: Column) -> str | None:
    """The initial default in SQL, as files hold it; whatever time zone the session has."""
    if column.initial_default is None or column.type.is_nested:
        return None
    return _sql(column, column.initial_default)


def _sql(column: Column, text: str) -> str:
    value = parse_text(text, column.type)
    match column.type.name:
        case "date":
            return f"date_from_unix_date({value})"
        case name if name in _PER_MICRO:
            micros = value if abs(value) >= INFINITY else value * _PER_MICRO[name]
            return f"TIMESTAMP_NTZ '1970-01-01 00:00:00' + {_interval(micros)}"
        case "timestamptz":
            return f"timestamp_micros({value})"
        case "time" | "timestamp_ns" | "timestamptz_ns":
            return f"CAST('{value}' AS bigint)"
        case "blob":
            return f"X'{value.hex()}'"
        case "uuid":
            return f"X'{value.hex}'"
        case "int128" | "uint128" if int(float(value)) != value:
            raise UnsupportedFeatureError(
                f"Older rows of column {column.name!r} have its default, {value}: files hold a "
                f"{column.type} as a double, and none is exactly that.",
                hint="Leave the column out, or read the table with DuckDB.",
            )
    return _cast(text, spark_type_of(column).stored)


def _interval(micros: int) -> str:
    days, rest = divmod(abs(micros), 86_400_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return f"INTERVAL '{'-' if micros < 0 else ''}{days} {clock}' DAY TO SECOND"


def _cast(text: str, data_type: T.DataType) -> str:
    return f"CAST({_quoted(text)} AS {data_type.simpleString()})"


def _quoted(text: str) -> str:
    """The text as strings side by side, so that Spark replaces no `${…}` in it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$' '{")
    return f"'{escaped}'"
