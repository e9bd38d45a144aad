"""Fits the columns of a DataFrame to those of a table.

Columns and the fields of structs are matched by name; those that are missing take their default.
`ducklake_spark.write.conversion` decides which values are converted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

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
from ducklake_spark.write.conversion import (
    IS_TEXT_OF,
    POLICY,
    ROUNDED_TIMES,
    Target,
    convert,
    fit,
)

_WITH_DUCKDB = "Write to the table with DuckDB, or use timestamp for the column."


def assigned(frame: DataFrame, table: Table, *, keep: Sequence[str] = ()) -> DataFrame:
    """The frame with the table's columns, in order, under the types that Spark shows for them.

    Columns to `keep` follow as they are.
    """
    names = [name for name in frame.columns if name not in keep]
    refuse_reserved(table)
    refuse_unwritable(table.columns, table.name, _WITH_DUCKDB)
    types = {field.name: field.dataType for field in frame.schema.fields}
    if len({fold(name) for name in names}) < len(names):
        raise InvalidDefinitionError(
            f"Two columns to write to {table.name} have the same name: {', '.join(names)}."
        )
    if frame.columns == [*(column.name for column in table.columns), *keep] and all(
        _fits(types[column.name], column) for column in table.columns
    ):
        return frame
    sources = {name: (F.col(backticked(name)), types[name]) for name in names}
    policy = cache(partial(_policy_of, frame))  # on Connect, each reading is a round trip
    return frame.select(*_Assignment(table, "", policy).fields(sources, table.columns), *keep)


def _policy_of(frame: DataFrame) -> str:
    return (frame.sparkSession.conf.get(POLICY, None) or "ANSI").upper()


class _Assignment:
    """Values for the columns of a table, or for the fields at a path inside one."""

    def __init__(self, table: Table, path: str, policy: Callable[[], str]) -> None:
        self._table = table
        self._path = path
        self._policy = policy

    def _inside(self, column: Column) -> _Assignment:
        return _Assignment(self._table, f"{self._path}{column.name}.", self._policy)

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
            return fit(F.expr(text).cast(shown_type(column)), self._target(column))
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
        inside = self._inside(column)
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
        inside = self._inside(column)
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
        return convert(value, given, self._target(column), self._policy)

    def _target(self, column: Column) -> Target:
        return Target(self._table, self._path + column.name, column)


def _fits(given: T.DataType, column: Column) -> bool:
    """Whether a nested value can be taken as it is: same shape, and no leaf needs a look."""
    looked_at = any(
        leaf.type.name in (*IS_TEXT_OF, *ROUNDED_TIMES) or leaf.type.name.startswith("uint")
        for leaf in column.walk()
    )
    return given == shown_type(column) and not looked_at
