"""Converts a value to the type of its column, as `spark.sql.storeAssignmentPolicy` says.

ANSI converts numbers to numbers, dates and timestamps to each other, text to every scalar type, and
scalars to text. A value that the column cannot hold is an error. STRICT allows only what Spark
calls a safe cast. LEGACY writes NULL for a value that cannot be converted.

The conversions do not depend on `spark.sql.ansi.enabled`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.scan.types import shown_type
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.types import INTEGERS, MAX_DECIMAL_PRECISION

POLICY = "spark.sql.storeAssignmentPolicy"
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)
_SCALARS = (T.NumericType, T.BooleanType, T.StringType)
_NESTED = (T.ArrayType, T.MapType, T.StructType)
_INTEGER_DIGITS: dict[type[T.DataType], int] = {
    T.ByteType: 3,
    T.ShortType: 5,
    T.IntegerType: 10,
    T.LongType: 20,
}
_PRECEDENCE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType)
_UUID = r"(?i)^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"
_TIME = r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?$"
_FINITE_TIMES = ("-290000-01-01 00:00:00", "+294000-01-01 00:00:00")
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Target:
    """The column, or the field inside a column, that receives a value."""

    table: Table
    name: str
    column: Column

    @property
    def spark_type(self) -> T.DataType:
        return shown_type(self.column)

    @property
    def is_integer(self) -> bool:
        return self.column.type.name in INTEGERS

    def reject(self, value: Expression, reason: str) -> Expression:
        """Return an expression that fails, with an error that names the value and the column."""
        text = F.substring(value.cast("string"), 1, _SHOWN_CHARACTERS)
        column = f"column {self.name!r} ({self.column.type}) of {self.table.name}"
        message = F.concat(F.lit("Cannot write "), text, F.lit(f" to {column}: {reason}"))
        return F.raise_error(message).cast(self.spark_type)


def convert(
    value: Expression, given: T.DataType, target: Target, policy: Callable[[], str]
) -> Expression:
    """Return a value of a scalar type as one of the target, or raise InvalidDefinitionError."""
    fitted = value if given == target.spark_type else _as_target(value, given, target, policy())
    return fit(fitted, target)


def fit(value: Expression, target: Target) -> Expression:
    """Check and round a value of the Spark type of the target for a type that Spark lacks."""
    return _round_time(_require_text_of(_require_unsigned(value, target), target), target)


def _as_target(value: Expression, given: T.DataType, target: Target, policy: str) -> Expression:
    wanted = target.spark_type
    if not _may_assign(given, target, policy):
        strictly = f" under {POLICY}={policy}" if policy == "STRICT" else ""
        raise InvalidDefinitionError(
            f"Column {target.name!r} of {target.table.name} is {target.column.type}. A value of "
            f"type {given.simpleString()} is not converted to it automatically{strictly}.",
            hint=f"Convert it in the query: CAST({target.name} AS {wanted.simpleString()}).",
        )
    return value.try_cast(wanted) if policy == "LEGACY" else _cast(value, given, target)


# --- which types may be converted ---


def _may_assign(given: T.DataType, target: Target, policy: str) -> bool:
    wanted = target.spark_type
    if isinstance(wanted, T.StringType):
        return not isinstance(given, (*_NESTED, T.BinaryType))
    if isinstance(given, _TIMES) and isinstance(wanted, _TIMES):
        # Spark's STRICT allows all of these but those that drop the time of the day.
        return policy != "STRICT" or not isinstance(wanted, T.DateType)
    if policy == "STRICT":
        return _is_safe(given, wanted)
    if isinstance(given, T.StringType):
        return not isinstance(wanted, _NESTED)
    if policy == "LEGACY" and isinstance(given, _SCALARS) and isinstance(wanted, _SCALARS):
        return True
    return isinstance(given, T.NumericType) and isinstance(wanted, T.NumericType)


def _is_safe(given: T.DataType, wanted: T.DataType) -> bool:
    """Return whether the range of a numeric type includes the range of another one."""
    if type(given) in _PRECEDENCE and type(wanted) in _PRECEDENCE:
        return _PRECEDENCE.index(type(given)) < _PRECEDENCE.index(type(wanted))
    if isinstance(wanted, T.DecimalType):
        # No decimal is wide enough for a float.
        precision, scale = _INTEGER_DIGITS.get(type(given), MAX_DECIMAL_PRECISION + 1), 0
        if isinstance(given, T.DecimalType):
            precision, scale = given.precision, given.scale
        return precision - scale <= wanted.precision - wanted.scale and scale <= wanted.scale
    if isinstance(given, T.DecimalType) and type(wanted) in _INTEGER_DIGITS:
        # A bigint has 19 digits, but not every number of 19 digits is one.
        return given.scale == 0 and given.precision < min(_INTEGER_DIGITS[type(wanted)], 19)
    return False


# --- conversions that fail where a value does not fit ---


def _cast(value: Expression, given: T.DataType, target: Target) -> Expression:
    wanted = target.spark_type
    if isinstance(wanted, T.StringType) or isinstance(given, _TIMES) or _is_safe(given, wanted):
        return value.cast(wanted)
    if isinstance(given, T.StringType):
        return _from_text(value, target)
    if target.is_integer and isinstance(given, (T.FractionalType, T.DecimalType)):
        return _whole(value, given, target)
    fitted = value.try_cast(wanted)
    does_not_fit = fitted.isNull()
    if isinstance(wanted, T.FloatType) and isinstance(given, T.DoubleType):
        does_not_fit = _is_infinite(fitted) & ~_is_infinite(value)
    return F.when(value.isNotNull() & does_not_fit, _out_of_range(value, target)).otherwise(fitted)


def _from_text(text: Expression, target: Target) -> Expression:
    wanted = target.spark_type
    fitted = text.try_cast(wanted)
    is_invalid = fitted.isNull()
    if target.is_integer and isinstance(wanted, T.DecimalType):
        # To a decimal, Spark would round the text of a fraction.
        is_invalid = is_invalid | ~text.rlike(r"^\s*[+-]?\d+\s*$")
    if isinstance(wanted, (T.FloatType, T.DoubleType)):
        # Spark reads '1e999' as infinity.
        is_invalid = is_invalid | (_is_infinite(fitted) & ~text.rlike("(?i)inf"))
    reason = f"it is not a valid {target.column.type}."
    return F.when(text.isNotNull() & is_invalid, target.reject(_quote(text), reason)).otherwise(
        fitted
    )


def _whole(value: Expression, given: T.DataType, target: Target) -> Expression:
    """Convert a number to an integer, and reject a fractional part."""
    fitted = value.try_cast(target.spark_type)
    is_out_of_range = fitted.isNull()
    if isinstance(given, T.DecimalType):
        has_fraction = value % F.lit(1) != 0
    else:
        has_fraction = F.rint(value) != value
        # A double cannot hold the largest bigint. Spark would write that bigint for 2^63.
        limit = F.lit(2.0**63)
        if isinstance(target.spark_type, T.LongType):
            is_out_of_range = is_out_of_range | (value >= limit)
    cast = f"CAST({target.name} AS {target.spark_type.simpleString()})"
    reason = f"the value has a fractional part. Use round({target.name}) or {cast} in the query."
    return (
        F.when(value.isNull(), fitted)
        .when(has_fraction, target.reject(value, reason))
        .when(is_out_of_range, _out_of_range(value, target))
        .otherwise(fitted)
    )


def _out_of_range(value: Expression, target: Target) -> Expression:
    return target.reject(
        value, "the value is out of range. Change the value or the type of the column."
    )


def _is_infinite(value: Expression) -> Expression:
    return F.abs(value) == float("inf")


def _quote(text: Expression) -> Expression:
    return F.concat(F.lit("'"), F.substring(text, 1, _SHOWN_CHARACTERS), F.lit("'"))


# --- types of DuckLake that Spark lacks ---


def _require_unsigned(value: Expression, target: Target) -> Expression:
    """Check the range of an unsigned column, which Spark shows as a wider signed type."""
    name = target.column.type.name
    if not name.startswith("uint"):
        return value
    most = min(2 ** int(name.removeprefix("uint")), 10**MAX_DECIMAL_PRECISION) - 1
    limit = F.lit(str(most)).cast(T.DecimalType(MAX_DECIMAL_PRECISION, 0))
    is_in_range = value.between(F.lit(0), limit)
    return F.when(value.isNull() | is_in_range, value).otherwise(_out_of_range(value, target))


def _round_time(value: Expression, target: Target) -> Expression:
    """Round to the whole seconds or milliseconds of the column, in the same way as DuckDB.

    DuckDB rounds halves away from 1970, and does so when it reads a file with more digits.
    """
    digits = ROUNDED_TIMES.get(target.column.type.name)
    if digits is None:
        return value
    # Infinity is the last microsecond that there is: rounded up, it would overflow.
    is_finite = value.between(*(F.lit(text).cast("timestamp_ntz") for text in _FINITE_TIMES))
    seconds = F.extract(F.lit("SECOND"), value)
    half = F.lit(Decimal(5).scaleb(-digits - 1))
    is_after_1970 = value >= F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
    scale = F.lit(digits)
    rounded = F.when(is_after_1970, F.round(seconds, scale)).otherwise(
        F.ceil(seconds - half, scale)
    )
    moved = value + F.make_dt_interval(secs=(rounded - seconds).cast(T.DecimalType(18, 6)))
    return F.when(is_finite, moved).otherwise(value)


def _require_text_of(value: Expression, target: Target) -> Expression:
    """Check the text of a type that Spark shows as text."""
    kind = target.column.type.name
    is_one = IS_TEXT_OF.get(kind)
    if is_one is None:
        return value
    if kind == "uuid":  # DuckDB shows and hashes lower case only
        value = F.lower(value)
    wrong = target.reject(_quote(value), f"it is not a valid {kind}.")
    return F.when(value.isNull() | is_one(value), value).otherwise(wrong)


def _is_json(text: Expression) -> Expression:
    """Whether DuckDB takes a text for JSON; with one that it does not, it can read no row.

    Spark looks no further than to where a value ends, so each text is put within brackets of both
    kinds. What is strict about quotes and characters within strings minds names that come twice.
    """
    in_list = F.concat(F.lit("["), text, F.lit("]"))
    in_object = F.concat(F.lit('{"v":'), text, F.lit("}"))
    is_one = (F.json_array_length(in_list) == 1) & (F.size(F.json_object_keys(in_object)) == 1)
    is_strict = F.try_parse_json(in_list).isNotNull() & F.try_parse_json(in_object).isNotNull()
    return F.coalesce(is_one & (~text.rlike(r"[\x00-\x1f']") | is_strict), F.lit(False))


# The digits of a second that a column keeps.
ROUNDED_TIMES = {"timestamp_s": 0, "timestamp_ms": 3}
IS_TEXT_OF: dict[str, Callable[[Expression], Expression]] = {
    "uuid": lambda text: text.rlike(_UUID),
    "time": lambda text: text.rlike(_TIME),
    "json": _is_json,
}
