"""Values as files hold them, made into what Spark shows, and back."""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_INFINITY = 2**63 - 1
_INFINITE_DAYS = 2**31 - 1
_TWO_32, _TWO_64 = float(2**32), float(2**64)
_LONGEST = 1e38  # a little less than that, as a double


def uuid_text(stored: Expression) -> Expression:
    """DuckDB stores 16 bytes, Spark the text: told apart by their length."""
    digits = F.lower(F.hex(stored))
    groups = [F.substring(digits, at, size) for at, size in ((1, 8), (9, 4), (13, 4), (17, 4))]
    text = F.concat_ws("-", *groups, F.substring(digits, 21, 12))
    return F.when(F.length(stored) == 16, text).otherwise(stored.cast("string"))


def time_text(stored: Expression) -> Expression:
    """Microseconds of the day as DuckDB writes a time."""
    return F.when(stored.isNotNull(), F.concat(_clock(stored, _SECOND), _fraction(stored, 6)))


def time_ns_text(stored: Expression) -> Expression:
    """The same of nanoseconds."""
    text = F.concat(_clock(stored, 1_000 * _SECOND), _fraction(stored, 9))
    return F.when(stored.isNotNull(), text)


def timetz_text(stored: Expression) -> Expression:
    """Microseconds of the day in UTC, which is all that a file keeps of a time with an offset."""
    return F.concat(time_text(stored), F.lit("+00"))


def interval_text(stored: Expression) -> Expression:
    """Months, days and milliseconds, each in four bytes, as DuckDB writes an interval.

    Spark's own intervals have either months or days. Parquet's are never negative.
    """
    digits = F.hex(stored)
    months, days, millis = (_little_endian(digits, at) for at in (1, 9, 17))
    clock = F.concat(_clock(millis, 1_000), _fraction(millis, 3))
    parts = [
        _counted(F.floor(months / 12), "year"),
        _counted(months % 12, "month"),
        _counted(days, "day"),
        F.when((millis != 0) | ((months == 0) & (days == 0)), clock),
    ]
    return F.when(stored.isNotNull(), F.concat_ws(" ", *parts))


def present_variant(stored: Expression) -> Expression:
    """DuckDB stores NULL as a variant that holds nothing."""
    return F.when(~F.is_variant_null(stored), stored)


def _clock(stored: Expression, per_second: int) -> Expression:
    seconds = F.floor(stored / per_second)
    hours = F.floor(seconds / 3_600)
    parts = (hours, F.floor(seconds / 60) % 60, seconds % 60)
    padded = (
        F.when(p < 10, F.concat(F.lit("0"), p.cast("string"))).otherwise(p.cast("string"))
        for p in parts
    )
    return F.concat_ws(":", *padded)


def _fraction(stored: Expression, digits: int) -> Expression:
    rest = stored % 10**digits
    padded = F.lpad(rest.cast("string"), digits, "0")
    return F.when(rest == 0, "").otherwise(
        F.concat(F.lit("."), F.regexp_replace(padded, "0+$", ""))
    )


def _little_endian(digits: Expression, start: int) -> Expression:
    in_order = F.concat(*(F.substring(digits, start + at, 2) for at in (6, 4, 2, 0)))
    return F.conv(in_order, 16, 10).cast("bigint")


def _counted(number: Expression, unit: str) -> Expression:
    name = F.when(number == 1, f" {unit}").otherwise(f" {unit}s")
    return F.when(number != 0, F.concat(number.cast("string"), name))


def time_as_timestamp(shown: Expression) -> Expression:
    """That moment of the first day: microseconds in the file, of which DuckDB takes the time."""
    return F.concat(F.lit("1970-01-01 "), shown).cast("timestamp_ntz")


def from_micros(micros: Expression) -> Expression:
    """That many microseconds after 1970 as a timestamp without a zone, whatever zone Spark is in.

    In days and what is left of them, for these are all that an interval takes. Both have the sign
    of the whole: each must stay within the range of an interval.
    """
    rest = micros % _DAY
    days = ((micros - rest) / _DAY).cast("int")  # exact: a day is 2^13 of something
    seconds = (rest.cast("decimal(18,0)") / F.lit(_SECOND)).cast("decimal(18,6)")
    epoch = F.lit("1970-01-01").cast("timestamp_ntz")
    return epoch + F.make_dt_interval(days, F.lit(0), F.lit(0), seconds)


def from_millis(stored: Expression) -> Expression:
    """Milliseconds as Spark's timestamp."""
    is_infinite = stored.isin(_INFINITY, -_INFINITY)
    return from_micros(F.when(is_infinite, stored).otherwise(stored * F.lit(1000)))


def midnight(day: Expression) -> Expression:
    """The begin of a day as a timestamp without a zone; infinite days are infinite moments."""
    return from_micros(_micros_of(day))


def midnight_of_utc(day: Expression) -> Expression:
    """The begin of a day in UTC."""
    return F.timestamp_micros(_micros_of(day))


def _micros_of(day: Expression) -> Expression:
    number = F.unix_date(day).cast("bigint")
    infinity = F.signum(number.cast("double")).cast("bigint") * F.lit(_INFINITY)
    is_infinite = F.abs(number) >= _INFINITE_DAYS
    return F.when(is_infinite, infinity).otherwise(number * F.lit(_DAY))


def micros_of(shown: Expression) -> Expression:
    """A timestamp without a zone as microseconds after 1970, whatever zone Spark is in.

    Spark's own functions take it for a time of the session's zone, where some times do not exist.
    """
    return F.unix_micros(F.concat(shown.cast("string"), F.lit("Z")).cast("timestamp_ltz"))


def is_infinite(shown: Expression, type_name: str) -> Expression:
    """Whether a date or a timestamp, with a zone or without one, is no moment of the calendar."""
    match type_name:
        case "date":
            return F.abs(F.unix_date(shown)) >= _INFINITE_DAYS
        case "timestamptz":
            return F.abs(F.unix_micros(shown)) >= _INFINITY
    first, last = (from_micros(F.lit(sign * (_INFINITY - 1))) for sign in (-1, 1))
    return ~shown.between(first, last)


def whole_number(stored: Expression) -> Expression:
    """A double without a fraction as a decimal of all its digits.

    A cast takes no more than the 17 digits that tell doubles apart. In three pieces, each of which
    is exact: they differ from the double in nothing but trailing zeros.
    """
    high = (stored / _TWO_64).cast("bigint")
    rest = stored - high.cast("double") * _TWO_64
    middle = (rest / _TWO_32).cast("bigint")
    low = (rest - middle.cast("double") * _TWO_32).cast("bigint")
    whole = _digits(high) * _constant(2**64) + _digits(middle) * _constant(2**32)
    too_long = F.concat(
        F.lit("A 128-bit integer has more than the 38 digits that Spark's decimals can have: "),
        stored.cast("string"),
    )
    return F.when(
        F.abs(stored) > _LONGEST, F.raise_error(too_long).cast("decimal(38,0)")
    ).otherwise((whole + _digits(low)).cast("decimal(38,0)"))


def _digits(number: Expression) -> Expression:
    return number.cast("decimal(20,0)")


def _constant(number: int) -> Expression:
    return F.lit(str(number)).cast("decimal(20,0)")


def as_double(shown: Expression) -> Expression:
    """A decimal without a fraction as a double; one that no double is exactly is refused."""
    stored = shown.cast("double")
    inexact = F.concat(
        F.lit("DuckLake's files hold 128-bit integers as doubles, and none of these is exactly "),
        shown.cast("string"),
        F.lit(". A column of decimal(38,0) can hold it."),
    )
    is_exact = stored.isNull() | (whole_number(stored) == shown)
    return F.when(is_exact, stored).otherwise(F.raise_error(inexact).cast("double"))


def from_nanos(stored: Expression) -> Expression:
    """Nanoseconds as Spark's timestamp, which ends at microseconds: more is refused, not cut."""
    return from_micros(_whole_micros(stored, "timestamp_ns"))


def from_zoned_nanos(stored: Expression) -> Expression:
    """The same of nanoseconds in UTC."""
    return F.timestamp_micros(_whole_micros(stored, "timestamptz_ns"))


def _whole_micros(stored: Expression, type_name: str) -> Expression:
    too_fine = F.concat(
        F.lit(f"A {type_name} value has digits below microseconds, which Spark cannot hold: "),
        stored.cast("string"),
    )
    # Decimals divide exactly; a double has too few digits for nanoseconds.
    micros = (stored.cast("decimal(20,0)") / F.lit(1000)).cast("bigint")
    is_infinite = stored.isin(_INFINITY, -_INFINITY)
    return (
        F.when(is_infinite, stored)
        .when(stored % 1000 != 0, F.raise_error(too_fine).cast("bigint"))
        .otherwise(micros)
    )
