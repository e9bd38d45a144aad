"""How each column of a table comes from what Spark reads of a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.scan.defaults import default_metadata, filled, stored_default
from ducklake_spark.scan.held import as_held, promoted
from ducklake_spark.scan.types import FIELD_ID, decoded, spark_type_of, stored_type
from ducklake_spark.spec.model import Column, MappedName
from ducklake_spark.spec.names import backticked
from ducklake_spark.spec.types import Primitive


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """A column of the table: the field that Spark reads for it, if there is one, and how its value
    is shown."""

    column: Column
    source: T.StructField | None
    show: Callable[[Expression], Expression]

    @property
    def expression(self) -> Expression:
        stored = F.lit(None) if self.source is None else F.col(backticked(self.source.name))
        return self.show(stored).alias(self.column.name)


def shown_as_read(values: Sequence[ColumnValue]) -> bool:
    """Whether each column is shown just as Spark reads it."""
    any_value = F.lit(None)
    return all(value.source and value.show(any_value) is any_value for value in values)


def read_by_id(
    column: Column, types: Mapping[int, Primitive], missing: Collection[int]
) -> ColumnValue:
    """A column found by its field id, with its default where `missing` says that a file lacks it.

    `types` says which leaves files hold as another type.
    """
    held = as_held(column, types)
    default = default_metadata(column) if held is column else {}  # there, so not missing
    metadata = {FIELD_ID: column.id} | default

    def show(stored: Expression) -> Expression:
        return promoted(decoded(filled(stored, held, missing), held), column, types)

    field = T.StructField(_stored_name(column), stored_type(held), True, metadata)
    return ColumnValue(column, field, show)


def _stored_name(column: Column) -> str:
    # Unlike any name a file or a metadata column may have.
    return f"_ducklake_column_{column.id}"


def constant(column: Column, value: str | None) -> ColumnValue:
    """A column that is not in the files, and has one value for all of their rows."""
    constant = replace(column, initial_default=value)

    def show(_: Expression) -> Expression:
        return decoded(stored_default(constant, stored_type(column, with_ids=False)), column)

    return ColumnValue(column, None, show)


def read_by_name(column: Column, entry: MappedName, types: Mapping[int, Primitive]) -> ColumnValue:
    """A column that files hold under the name of an entry."""
    held = as_held(column, types)

    def show(stored: Expression) -> Expression:
        return promoted(decoded(_reshaped(stored, held, entry), held), column, types)

    field = T.StructField(entry.source_name, _named_type(held, entry), True)
    return ColumnValue(column, field, show)


def _named_type(column: Column, entry: MappedName) -> T.DataType:
    """The type to read a column under, its nested fields under the names in the file."""
    match column.type.name:
        case "list":
            return T.ArrayType(_named_type(column.children[0], entry.children[0]))
        case "map":
            key, value = (
                _named_type(child, part)
                for child, part in zip(column.children, entry.children, strict=True)
            )
            return T.MapType(key, value)
        case "struct":
            sources = {part.field_id: part for part in entry.children}
            return T.StructType(
                [
                    T.StructField(sources[c.id].source_name, _named_type(c, sources[c.id]))
                    for c in column.children
                    if c.id in sources
                ]
            )
        case _:
            return spark_type_of(column).stored


def _reshaped(stored: Expression, column: Column, entry: MappedName) -> Expression:
    """A value read under the file's names, with the fields the table has now."""
    if not column.children or _named_type(column, entry) == stored_type(column, with_ids=False):
        return stored
    match column.type.name:
        case "list":
            child, part = column.children[0], entry.children[0]
            return F.transform(stored, lambda item: _reshaped(item, child, part))
        case "map":
            (key, value), (key_part, value_part) = column.children, entry.children
            pairs = F.transform(
                F.map_entries(stored),
                lambda pair: F.struct(
                    _reshaped(pair["key"], key, key_part).alias("key"),
                    _reshaped(pair["value"], value, value_part).alias("value"),
                ),
            )
            return F.map_from_entries(pairs)
        case _:
            sources = {part.field_id: part for part in entry.children}
            fields = [
                (
                    _reshaped(stored.getField(sources[c.id].source_name), c, sources[c.id])
                    if c.id in sources
                    else stored_default(c, stored_type(c, with_ids=False))
                ).alias(c.name)
                for c in column.children
            ]
            return F.when(stored.isNotNull(), F.struct(*fields))
