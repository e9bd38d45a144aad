"""What must change inside columns, as clauses that ALTER TABLE understands."""

from __future__ import annotations

import uuid

from pyspark.sql import types as T

from ducklake_spark.catalog import Field
from ducklake_spark.catalog.alter import new_columns
from ducklake_spark.spec.model import Table
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.types import parse_type
from ducklake_spark.sql import alterations, conforming_columns


def _table(fields: list[Field]) -> Table:
    columns = tuple(new_columns(fields))
    name = QualifiedName("main", "t")
    return Table(1, uuid.uuid4(), 0, name, StoredPath("t/"), "lake/main/t/", columns)


def test_names_of_fields_are_quoted_where_they_must_be() -> None:
    fields = [Field("s", parse_type("struct(a int32)")), Field("n", parse_type("int32"))]
    table = _table(fields)
    inner = T.StructType([T.StructField("b c", T.LongType()), T.StructField("d", T.DateType())])
    given = T.StructType(
        [
            T.StructField("s", T.StructType([T.StructField("a", T.LongType()),
                                             T.StructField("x y", T.ArrayType(inner))])),
            T.StructField("n", T.LongType()),
        ]
    )  # fmt: skip
    found = alterations(table, given)
    assert found.added == ["ADD COLUMN `s`.`x y` array<struct<`b c`:bigint,d:date>>"]
    assert found.widened == ["ALTER COLUMN `s`.`a` TYPE bigint", "ALTER COLUMN `n` TYPE bigint"]


def test_a_copy_of_rows_has_the_structs_of_the_table() -> None:
    kind = "struct(a int64, b varchar, c date)"
    table = _table([Field("S", parse_type(kind)), Field("l", parse_type(f"{kind}[]"))])
    inner = T.StructType(
        [
            T.StructField("new", T.DateType()),
            T.StructField("B", T.NullType()),
            T.StructField("a", T.IntegerType()),
        ]
    )
    given = T.StructType(
        [
            T.StructField("s", inner),
            T.StructField("L", T.ArrayType(inner)),
            T.StructField("n", T.LongType()),
        ]
    )
    wanted = "struct<a:bigint,b:string,c:date,new:date>"
    assert conforming_columns(table, given) == [
        ("S", wanted),
        ("l", f"array<{wanted}>"),
        ("n", "bigint"),
    ]
    assert conforming_columns(table, T.StructType([T.StructField("n", T.LongType())])) is None


def test_a_decimal_with_more_digits_after_the_point_loses_none_before_it() -> None:
    table = _table([Field(name, parse_type("decimal(10,2)")) for name in "abc"])
    kinds = (T.DecimalType(10, 4), T.DecimalType(9, 2), T.DecimalType(38, 38))
    fields = [T.StructField(name, kind) for name, kind in zip("abc", kinds, strict=True)]
    found = alterations(table, T.StructType(fields))
    assert found.widened == ["ALTER COLUMN `a` TYPE decimal(12,4)"]
    assert found.retyped == ["ALTER COLUMN `c` TYPE decimal(38,38)"]
