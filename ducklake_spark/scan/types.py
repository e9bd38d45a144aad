"""DuckLake's types as Spark shows them, as files hold them, and the way from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.model import Column
from ducklake_spark.spec.types import Primitive

FIELD_ID = "parquet.field.id"


@dataclass(frozen=True, slots=True)
class SparkType:
    """How Spark shows a type; how it reads it from a file; and how it gets from there to here."""

    shown: T.DataType
    stored: T.DataType
    decode: Callable[[Expression], Expression] | None = None


def _same(data_type: T.DataType) -> SparkType:
    return SparkType(data_type, data_type)


def _uuid_text(stored: Expression) -> Expression:
    """DuckDB stores 16 bytes, Spark the text: told apart by their length."""
    digits = F.lower(F.hex(stored))
    groups = [F.substring(digits, at, size) for at, size in ((1, 8), (9, 4), (13, 4), (17, 4))]
    text = F.concat_ws("-", *groups, F.substring(digits, 21, 12))
    return F.when(F.length(stored) == 16, text).otherwise(stored.cast("string"))


def _time_text(stored: Expression) -> Expression:
    """Microseconds of the day as DuckDB writes a time."""
    clock = [F.floor(stored / unit) % limit for unit, limit in _CLOCK]
    seconds = F.concat_ws(":", *(F.lpad(part.cast("string"), 2, "0") for part in clock))
    fraction = F.lpad((stored % 1_000_000).cast("string"), 6, "0")
    with_fraction = F.concat(seconds, F.lit("."), F.regexp_replace(fraction, "0+$", ""))
    text = F.when(stored % 1_000_000 == 0, seconds).otherwise(with_fraction)
    return F.when(stored.isNotNull(), text)


def _from_nanos(stored: Expression) -> Expression:
    """Nanoseconds as Spark's timestamp, which ends at microseconds: more is refused, not cut."""
    too_fine = F.concat(
        F.lit("A timestamp_ns value has digits below microseconds, which Spark cannot hold: "),
        stored.cast("string"),
    )
    # Decimals divide exactly; a double has too few digits for nanoseconds.
    micros = (stored.cast("decimal(20,0)") / F.lit(1000)).cast("bigint")
    exact = F.when(stored % 1000 != 0, F.raise_error(too_fine).cast("bigint")).otherwise(micros)
    return F.timestamp_micros(exact).cast("timestamp_ntz")


_CLOCK = ((3_600_000_000, 24), (60_000_000, 60), (1_000_000, 60))

_TYPES: dict[str, SparkType] = {
    "boolean": _same(T.BooleanType()),
    "int8": _same(T.ByteType()),
    "int16": _same(T.ShortType()),
    "int32": _same(T.IntegerType()),
    "int64": _same(T.LongType()),
    "uint8": _same(T.ShortType()),
    "uint16": _same(T.IntegerType()),
    "uint32": _same(T.LongType()),
    "uint64": _same(T.DecimalType(20, 0)),
    # DuckDB itself stores these as doubles (FORMAT 1.11).
    "int128": _same(T.DoubleType()),
    "uint128": _same(T.DoubleType()),
    "float32": _same(T.FloatType()),
    "float64": _same(T.DoubleType()),
    "date": _same(T.DateType()),
    "timestamp": _same(T.TimestampNTZType()),
    "timestamp_s": _same(T.TimestampNTZType()),
    "timestamp_ms": _same(T.TimestampNTZType()),
    "timestamptz": _same(T.TimestampType()),
    "varchar": _same(T.StringType()),
    "json": _same(T.StringType()),
    "blob": _same(T.BinaryType()),
    "uuid": SparkType(T.StringType(), T.BinaryType(), _uuid_text),
    "time": SparkType(T.StringType(), T.LongType(), _time_text),
    "timestamp_ns": SparkType(T.TimestampNTZType(), T.LongType(), _from_nanos),
}


def spark_type_of(column: Column) -> SparkType:
    """The Spark side of a primitive column, or an error that names the type."""
    data_type = column.type
    if isinstance(data_type, Primitive) and data_type.name == "decimal":
        return _same(T.DecimalType(data_type.precision or 38, data_type.scale or 0))
    known = _TYPES.get(data_type.name)
    if known is None:
        raise UnsupportedFeatureError(
            f"Column {column.name!r} has type {data_type}, which Spark cannot read.",
            hint="Leave the column out, or change its type with DuckDB.",
        )
    return known


def shown_type(column: Column) -> T.DataType:
    """The type of the column as a DataFrame shows it."""
    return _tree(column, lambda leaf: spark_type_of(leaf).shown, with_ids=False)


def stored_type(column: Column, *, with_ids: bool = True) -> T.DataType:
    """The type under which Spark reads the column from a file."""
    return _tree(column, lambda leaf: spark_type_of(leaf).stored, with_ids=with_ids)


def _tree(column: Column, leaf: Callable[[Column], T.DataType], *, with_ids: bool) -> T.DataType:
    children = [_tree(child, leaf, with_ids=with_ids) for child in column.children]
    match column.type.name:
        case "list":
            return T.ArrayType(children[0])
        case "map":
            return T.MapType(children[0], children[1])
        case "struct":
            return T.StructType(
                [
                    T.StructField(child.name, kind, True, {FIELD_ID: child.id} if with_ids else {})
                    for child, kind in zip(column.children, children, strict=True)
                ]
            )
        case _:
            return leaf(column)


def decoded(stored: Expression, column: Column) -> Expression:
    """The column as shown, from the column as stored."""
    if not any(spark_type_of(leaf).decode for leaf in column.walk() if not leaf.children):
        return stored
    match column.type.name:
        case "list":
            return F.transform(stored, lambda item: decoded(item, column.children[0]))
        case "map":
            key, value = column.children
            pairs = F.transform(
                F.map_entries(stored),
                lambda pair: F.struct(
                    decoded(pair["key"], key).alias("key"), decoded(pair["value"], value).alias("v")
                ),
            )
            return F.map_from_entries(pairs)
        case "struct":
            fields = [decoded(stored[c.name], c).alias(c.name) for c in column.children]
            return F.when(stored.isNotNull(), F.struct(*fields))
        case _:
            decode = spark_type_of(column).decode
            return decode(stored) if decode else stored
