"""DuckLake's bucket numbers, computed by Spark's workers (FORMAT 1.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.scan.decode import micros_of
from ducklake_spark.spec.model import Column
from ducklake_spark.spec.partitions import bucket_of
from ducklake_spark.spec.types import SIGNED, UNSIGNED, DataType, Primitive

_INTEGER, _TEXT, _BYTES = Primitive("int64"), Primitive("varchar"), Primitive("blob")
_MAX_INTEGER_PRECISION = 18


def bucket_number(value: Expression, column: Column, count: int) -> Expression:
    """The number of the bucket that a value is in; NULL is in none."""
    hashed, kind = _hash_input(value, column)
    # As text: pandas would turn integers into floats where there is a NULL among them.
    given = hashed.cast("string") if kind is _INTEGER else hashed
    return _numbering(kind, count)(given)


def _hash_input(value: Expression, column: Column) -> tuple[Expression, DataType]:
    """What is hashed for a type: a 64-bit integer, or bytes."""
    data_type = column.type
    match data_type.name:
        case name if name in SIGNED or name == "boolean":
            return value.cast("bigint"), _INTEGER
        case "date":
            return F.unix_date(value).cast("bigint"), _INTEGER
        case "timestamptz":
            return F.unix_micros(value), _INTEGER
        case "timestamp":
            return micros_of(value), _INTEGER
        case name if name in UNSIGNED or name in ("varchar", "json", "uuid"):
            return value.cast("string"), _TEXT
        case "blob":
            return value, _BYTES
        case "decimal" if isinstance(data_type, Primitive):
            scale, precision = data_type.scale or 0, data_type.precision or 38
            if precision > _MAX_INTEGER_PRECISION:
                text = value.cast("string")
                # DuckDB writes no zero before the point where the type has no digit there.
                bare = F.regexp_replace(text, r"^(-?)0\.", "$1.")
                return bare if precision == scale else text, _TEXT
            return (value * F.lit(10**scale)).cast("bigint"), _INTEGER
        case _:
            raise UnsupportedFeatureError(
                f"Spark cannot write to a table that is partitioned by buckets of {column.name!r}, "
                f"a {data_type}.",
                hint="Bucket by a column of integers, dates, timestamps, decimals or text.",
            )


def _numbering(data_type: DataType, count: int) -> Callable[[Expression], Expression]:
    read = int if data_type is _INTEGER else _same

    def number(values: pd.Series) -> pd.Series:
        known = values.dropna().unique()
        buckets = {value: bucket_of(read(value), data_type, count) for value in known}
        return values.map(buckets).astype("Int32")

    udf: Callable[[Expression], Expression] = pandas_udf(number, "int")  # type: ignore[call-overload]
    return udf


def _same(value: Any) -> Any:
    return value
