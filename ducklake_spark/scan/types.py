"""DuckLake's types as Spark shows them, as files hold them, and the way from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.scan import decode
from ducklake_spark.spec.model import Column
from ducklake_spark.spec.types import Primitive

FIELD_ID = "parquet.field.id"


@dataclass(frozen=True, slots=True)
class SparkType:
    """How Spark shows a type, how it reads it from a file, and the ways there and back.

    `encode` gives what Spark writes for it: a type that DuckDB casts, and whose files are read
    under `stored` like DuckDB's own. None: Spark has nothing to write.
    """

    shown: T.DataType
    stored: T.DataType
    decode: Callable[[Expression], Expression] | None = None
    encode: Callable[[Expression], Expression] | None = None
    is_writable: bool = True


def _same(data_type: T.DataType) -> SparkType:
    return SparkType(data_type, data_type)


# Milliseconds as numbers: these have infinities, which Spark's timestamps of them have not.
RAW_MILLIS = Primitive("timestamp_ms as int64")
_DIGITS = T.DecimalType(38, 0)
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
    "int128": SparkType(_DIGITS, T.DoubleType(), decode.whole_number, decode.as_double),
    "uint128": SparkType(_DIGITS, T.DoubleType(), decode.whole_number, decode.as_double),
    "float32": _same(T.FloatType()),
    "float64": _same(T.DoubleType()),
    "date": _same(T.DateType()),
    "timestamp": _same(T.TimestampNTZType()),
    "timestamp_s": _same(T.TimestampNTZType()),
    "timestamp_ms": _same(T.TimestampNTZType()),
    RAW_MILLIS.name: SparkType(T.TimestampNTZType(), T.LongType(), decode.from_millis),
    "timestamptz": _same(T.TimestampType()),
    "varchar": _same(T.StringType()),
    "json": _same(T.StringType()),
    "blob": _same(T.BinaryType()),
    "uuid": SparkType(T.StringType(), T.BinaryType(), decode.uuid_text),
    "time": SparkType(T.StringType(), T.LongType(), decode.time_text, decode.time_as_timestamp),
    "timestamp_ns": SparkType(
        T.TimestampNTZType(), T.LongType(), decode.from_nanos, is_writable=False
    ),
    "timestamptz_ns": SparkType(
        T.TimestampType(), T.LongType(), decode.from_zoned_nanos, is_writable=False
    ),
    "null": SparkType(T.NullType(), T.IntegerType(), lambda _: F.lit(None), is_writable=False),
    # Spark would write these as text, and of some text nobody could tell whose it is.
    "time_ns": SparkType(T.StringType(), T.LongType(), decode.time_ns_text, is_writable=False),
    "timetz": SparkType(T.StringType(), T.LongType(), decode.timetz_text, is_writable=False),
    "interval": SparkType(T.StringType(), T.BinaryType(), decode.interval_text, is_writable=False),
    "variant": SparkType(
        T.VariantType(), T.VariantType(), decode.present_variant, is_writable=False
    ),
    # As WKB.
    "geometry": SparkType(T.BinaryType(), T.BinaryType(), is_writable=False),
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


def refuse_unwritable(columns: Iterable[Column], relation: object, hint: str) -> None:
    """Raise UnsupportedFeatureError if Spark cannot write the values of a column."""
    for column in columns:
        for leaf in column.walk():
            if not leaf.children and not spark_type_of(leaf).is_writable:
                raise UnsupportedFeatureError(
                    f"Column {column.name!r} of {relation} holds {leaf.type}, which Spark cannot "
                    "write.",
                    hint=hint,
                )


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
    return converted(stored, column, lambda leaf: spark_type_of(leaf).decode)


def encoded(shown: Expression, column: Column) -> Expression:
    """What Spark writes for a column as shown."""
    return converted(shown, column, lambda leaf: spark_type_of(leaf).encode)


Conversion = Callable[[Expression], Expression]


def converted(
    value: Expression, column: Column, conversion_of: Callable[[Column], Conversion | None]
) -> Expression:
    """The value with its leaves converted; left alone where no leaf needs to be."""
    if not any(conversion_of(leaf) for leaf in column.walk() if not leaf.children):
        return value
    match column.type.name:
        case "list":
            element = column.children[0]
            return F.transform(value, lambda item: converted(item, element, conversion_of))
        case "map":
            key, item = column.children
            pairs = F.transform(
                F.map_entries(value),
                lambda pair: F.struct(
                    converted(pair["key"], key, conversion_of).alias("key"),
                    converted(pair["value"], item, conversion_of).alias("value"),
                ),
            )
            return F.map_from_entries(pairs)
        case "struct":
            fields = [
                converted(value[c.name], c, conversion_of).alias(c.name) for c in column.children
            ]
            return F.when(value.isNotNull(), F.struct(*fields))
        case _:
            conversion = conversion_of(column)
            return conversion(value) if conversion else value
