"""Spark's types as a lake's."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.sql.types import fields_of


@pytest.mark.parametrize(
    ("spark", "expected"),
    [
        (T.BooleanType(), "boolean"),
        (T.ByteType(), "int8"),
        (T.ShortType(), "int16"),
        (T.IntegerType(), "int32"),
        (T.LongType(), "int64"),
        (T.FloatType(), "float32"),
        (T.DoubleType(), "float64"),
        (T.DecimalType(38, 3), "decimal(38,3)"),
        (T.StringType(), "varchar"),
        (T.VarcharType(5), "varchar"),
        (T.BinaryType(), "blob"),
        (T.DateType(), "date"),
        (T.TimestampType(), "timestamptz"),
        (T.TimestampNTZType(), "timestamp"),
        (T.NullType(), "int32"),
        (T.ArrayType(T.StructType().add("a", T.MapType(T.StringType(), T.LongType()))), None),
    ],
)
def test_types(spark: T.DataType, expected: str | None) -> None:
    (field,) = fields_of(T.StructType().add("x", spark))
    assert field.name == "x"
    if expected is not None:
        assert str(field.type) == expected


@pytest.mark.parametrize(
    "spark",
    [
        T.DayTimeIntervalType(),
        T.CalendarIntervalType(),
        T.ArrayType(T.YearMonthIntervalType()),
    ],
)
def test_what_no_table_can_hold(spark: T.DataType) -> None:
    with pytest.raises(InvalidDefinitionError, match="Column 'x'"):
        fields_of(T.StructType().add("x", spark))
