"""Fits the columns of a DataFrame to those of a table, as ANSI store assignment does.

What could only lose meaning is refused before anything runs; what may not fit, such as a large
number, stops the job at the row that does not. Columns and the fields of structs are matched by
name; those that are missing take their default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import (
    InvalidDefinitionError,
    NotFoundError,
)
from ducklake_spark.scan.defaults import new_default
from ducklake_spark.scan.table import refuse_reserved
from ducklake_spark.scan.types import refuse_unwritable, shown_type
from ducklake_spark.spec.catalog_sql import check_expression
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import backticked, fold
from ducklake_spark.spec.types import MAX_DECIMAL_PRECISION

_NUMBERS = (T.NumericType,)
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)
_UUID = r"(?i)^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"
_WITH_DUCKDB = "Write to the table with DuckDB, or use timestamp for the column."
_TIME = r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?$"


def assigned(frame: DataFrame, table: Table, *, keep: Sequence[str] = ()) -> DataFrame:
    """The frame with the table's columns, in order, under the types that Spark shows for them.

    Columns to `keep` follow as they are.
    """
    names = [name for name in frame.columns if name not in keep]
    refuse_reserved(table)
    refuse_unwritable(table.columns, table.name, _WITH_DUCKDB)
    known = {field.name: field.dataType for field in frame.schema.fields if field.name not in keep}
    if len({fold(name) for name in names}) < len(names):
        raise InvalidDefinitionError(
            f"Two columns to write to {table.name} have the same name: {', '.join(names)}."
        )
    sources = {name: (F.col(backticked(name)), data_type) for name, data_type in known.items()}
    return frame.select(*_Assignment(table, "").fields(sources, table.columns), *keep)


class _Assignment:
    """Values for the columns of a table, or for the fields at a path inside one."""

    def __init__(self, table: Table, path: str) -> None:
        self._table = table
        self._path = path

    def fields(
        self, sources: dict[str, tuple[Expression, T.DataType]], columns: Sequence[Column]
    ) -> list[Expression]:
        """The columns in order from sources by name."""
        wanted = {fold(column.name) for column in columns}
        for name in sources:
            if fold(name) not in wanted:
                raise NotFoundError(
                    f"Column {self._path + name!r} of {self._table.name}",
                    near=[column.name for column in columns],
                    wanted=name,
                )
        given = {fold(name): source for name, source in sources.items()}
        return [
            (
                self.value(*given[fold(column.name)], column)
                if fold(column.name) in given
                else self._default(column)
            ).alias(column.name)
            for column in columns
        ]

    def _default(self, column: Column) -> Expression:
        """What a new row gets for a column that is not given."""
        if column.default.is_none or column.type.is_nested:
            return F.lit(None).cast(shown_type(column))
        if column.default.kind == "expression":
            origin = f"The default of column {column.name!r} of {self._table.name}"
            text = check_expression(column.default.value or "NULL", origin)
            return F.expr(text).cast(shown_type(column))
        try:
            return F.expr(new_default(column)).cast(shown_type(column))
        except ValueError as error:
            raise InvalidDefinitionError(
                f"The default of column {self._path + column.name!r} of {self._table.name}, "
                f"{column.default.value!r}, is no {column.type}: {error}.",
                hint="Give the column a value in the query, or set its default anew.",
            ) from error

    def value(self, value: Expression, given: T.DataType, column: Column) -> Expression:
        """A value of a given type as one of the column."""
        inside = _Assignment(self._table, f"{self._path}{column.name}.")
        match column.type.name, given:
            case _, T.NullType():
                return value.cast(shown_type(column))
            case "struct", T.StructType():
                fields = {f.name: (value.getField(f.name), f.dataType) for f in given.fields}
                parts = inside.fields(fields, column.children)
                return (
                    value if _fits(given, column) else F.when(value.isNotNull(), F.struct(*parts))
                )
            case "list", T.ArrayType(elementType=element):
                (child,) = column.children
                inside.value(F.lit(None), element, child)  # checked in any case
                if _fits(given, column):
                    return value
                return F.transform(value, lambda item: inside.value(item, element, child))
            case "map", T.MapType(keyType=key_type, valueType=value_type):
                return self._map(value, given, column, (key_type, value_type))
        return self._leaf(value, given, column)

    def _map(
        self,
        value: Expression,
        given: T.DataType,
        column: Column,
        types: tuple[T.DataType, T.DataType],
    ) -> Expression:
        inside = _Assignment(self._table, f"{self._path}{column.name}.")
        parts = list(zip(("key", "value"), types, column.children, strict=True))
        for _, kind, child in parts:
            inside.value(F.lit(None), kind, child)  # checked in any case
        if _fits(given, column):
            return value
        pairs = F.transform(
            F.map_entries(value),
            lambda pair: F.struct(
                *(inside.value(pair[name], kind, child).alias(name) for name, kind, child in parts)
            ),
        )
        return F.map_from_entries(pairs)

    def _leaf(self, value: Expression, given: T.DataType, column: Column) -> Expression:
        name, wanted = self._path + column.name, shown_type(column)
        if not _may_assign(given, wanted):
            raise InvalidDefinitionError(
                f"Column {name!r} of {self._table.name} is {column.type}, and the value to write "
                f"is {given.simpleString()}, which is not converted on its own.",
                hint=f"Convert it in the query: CAST({name} AS {wanted.simpleString()}).",
            )
        fitted = value if given == wanted else value.cast(wanted)
        fitted = _in_range(fitted, column)
        if column.type.name == "uuid":  # one text for each, as DuckDB shows it and hashes it
            fitted = F.lower(fitted)
        is_one = _IS_TEXT_OF.get(column.type.name)
        if is_one is None:
            return fitted
        wrong = F.raise_error(F.concat(F.lit(f"Not a {column.type} for {name}: "), fitted))
        return F.when(fitted.isNull() | is_one(fitted), fitted).otherwise(wrong)


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


# Types of DuckLake whose values Spark shows as text, and whether a text is one.
_IS_TEXT_OF: dict[str, Callable[[Expression], Expression]] = {
    "uuid": lambda text: text.rlike(_UUID),
    "time": lambda text: text.rlike(_TIME),
    "json": _is_json,
}


def _fits(given: T.DataType, column: Column) -> bool:
    """Whether a nested value can be taken as it is: same shape, and no leaf needs a look."""
    looked_at = any(
        leaf.type.name in _IS_TEXT_OF or leaf.type.name.startswith("uint") for leaf in column.walk()
    )
    return given == shown_type(column) and not looked_at


def _in_range(value: Expression, column: Column) -> Expression:
    """Spark has no unsigned types: the wider signed one must stay within their range."""
    name = column.type.name
    if not name.startswith("uint"):
        return value
    most = min(2 ** int(name.removeprefix("uint")), 10**MAX_DECIMAL_PRECISION) - 1
    limit = F.lit(str(most)).cast(T.DecimalType(MAX_DECIMAL_PRECISION, 0))
    wrong = F.raise_error(
        F.concat(F.lit(f"Out of range of {name} for {column.name}: "), value.cast("string"))
    )
    return F.when(value.isNull() | value.between(F.lit(0), limit), value).otherwise(wrong)


def _may_assign(given: T.DataType, wanted: T.DataType) -> bool:
    if given == wanted:
        return True
    if isinstance(wanted, T.StringType):
        return not isinstance(given, (T.ArrayType, T.MapType, T.StructType, T.BinaryType))
    return (isinstance(given, _NUMBERS) and isinstance(wanted, _NUMBERS)) or (
        isinstance(given, _TIMES) and isinstance(wanted, _TIMES)
    )
