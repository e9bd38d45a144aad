"""Fits the columns of a DataFrame to those of a table, as ANSI store assignment does.

What could only lose meaning is refused before anything runs; what may not fit, such as a large
number, stops the job at the row that does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import (
    InvalidDefinitionError,
    NotFoundError,
    UnsupportedFeatureError,
)
from ducklake_spark.scan.types import shown_type, spark_type_of
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import backticked, fold

_NUMBERS = (T.NumericType,)
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)
# Types of DuckLake whose values Spark shows as text.
_TEXT_SHAPES = {
    "uuid": r"(?i)^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$",
    "time": r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?$",
}


def assigned(frame: DataFrame, table: Table, *, keep: Sequence[str] = ()) -> DataFrame:
    """The frame with the table's columns, in order, under the types that Spark shows for them.

    Columns are matched by name; those that are missing take the table's default. Columns to
    `keep` follow as they are.
    """
    names = [name for name in frame.columns if name not in keep]
    given = {fold(name): name for name in names}
    _check_names(names, table)
    types = {field.name: field.dataType for field in frame.schema.fields}
    _refuse_unwritable(table)
    values = []
    for column in table.columns:
        source = given.get(fold(column.name))
        if source is None:
            values.append(default_value(column).alias(column.name))
        else:
            value = _cast(F.col(backticked(source)), types[source], column, table)
            values.append(value.alias(column.name))
    return frame.select(*values, *keep)


def _check_names(names: Sequence[str], table: Table) -> None:
    if len({fold(name) for name in names}) < len(names):
        raise InvalidDefinitionError(
            f"Two columns to write to {table.name} have the same name: {', '.join(names)}."
        )
    known = {fold(column.name) for column in table.columns}
    for name in names:
        if fold(name) not in known:
            near = [column.name for column in table.columns]
            raise NotFoundError(f"Column {name!r} of {table.name}", near=near, wanted=name)


def _refuse_unwritable(table: Table) -> None:
    for leaf in table.walk():
        if not leaf.children and not spark_type_of(leaf).is_writable:
            raise UnsupportedFeatureError(
                f"Column {leaf.name!r} of {table.name} is {leaf.type}, which Spark cannot write.",
                hint="Write to the table with DuckDB, or use timestamp for the column.",
            )


def default_value(column: Column) -> Expression:
    """What a new row gets for a column that is not given."""
    if column.default.is_none:
        return F.lit(None).cast(shown_type(column))
    if column.default.kind == "expression":
        return F.expr(column.default.value or "NULL").cast(shown_type(column))
    return F.lit(column.default.value).cast(shown_type(column))


def _cast(value: Expression, given: T.DataType, column: Column, table: Table) -> Expression:
    wanted = shown_type(column)
    if not _may_assign(given, wanted):
        raise InvalidDefinitionError(
            f"Column {column.name!r} of {table.name} is {column.type}, and the value to write is "
            f"{given.simpleString()}, which is not converted on its own.",
            hint=f"Convert it in the query: CAST({column.name} AS {wanted.simpleString()}).",
        )
    fitted = value if given == wanted else value.cast(wanted)
    fitted = _in_range(fitted, column)
    shape = _TEXT_SHAPES.get(column.type.name)
    if shape is None:
        return fitted
    wrong = F.raise_error(F.concat(F.lit(f"Not a {column.type} for {column.name}: "), fitted))
    return F.when(fitted.isNull() | fitted.rlike(shape), fitted).otherwise(wrong)


def _in_range(value: Expression, column: Column) -> Expression:
    """Spark has no unsigned types: the wider signed one must stay within their range."""
    name = column.type.name
    if not name.startswith("uint") or name == "uint128":
        return value
    most = F.lit(str(2 ** int(name.removeprefix("uint")) - 1)).cast("decimal(20,0)")
    wrong = F.raise_error(
        F.concat(F.lit(f"Out of range of {name} for {column.name}: "), value.cast("string"))
    )
    return F.when(value.isNull() | value.between(F.lit(0), most), value).otherwise(wrong)


def _may_assign(given: T.DataType, wanted: T.DataType) -> bool:
    if given == wanted or isinstance(given, T.NullType):
        return True
    if isinstance(given, T.ArrayType) and isinstance(wanted, T.ArrayType):
        return _may_assign(given.elementType, wanted.elementType)
    if isinstance(given, T.MapType) and isinstance(wanted, T.MapType):
        keys = _may_assign(given.keyType, wanted.keyType)
        return keys and _may_assign(given.valueType, wanted.valueType)
    if isinstance(given, T.StructType) and isinstance(wanted, T.StructType):
        pairs = zip(given.fields, wanted.fields, strict=False)
        return len(given.fields) == len(wanted.fields) and all(
            fold(mine.name) == fold(its.name) and _may_assign(mine.dataType, its.dataType)
            for mine, its in pairs
        )
    if isinstance(wanted, T.StringType):
        return not isinstance(given, (T.ArrayType, T.MapType, T.StructType, T.BinaryType))
    return (isinstance(given, _NUMBERS) and isinstance(wanted, _NUMBERS)) or (
        isinstance(given, _TIMES) and isinstance(wanted, _TIMES)
    )
