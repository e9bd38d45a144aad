"""What must change inside the columns of a table before it can hold the rows of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import types as T

from ducklake_spark.scan import shown_type
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import fold
from ducklake_spark.spec.types import (
    MAX_DECIMAL_PRECISION,
    DataType,
    Primitive,
    decimal,
    widens_to,
)
from ducklake_spark.sql.tokens import quoted
from ducklake_spark.sql.types import fields_of, type_text

# Which moment a time without a zone was depends on who says so: never done unasked.
_ASKED_FOR = ("timestamp", "timestamptz")


@dataclass(slots=True)
class Alterations:
    """Clauses of ALTER TABLE. `widened` lose no value; `retyped` are refused if they would.

    `added` and `dropped` are fields within columns, at any depth.
    """

    widened: list[str] = field(default_factory=list)
    retyped: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def alterations(table: Table, rows: T.StructType) -> Alterations:
    """What is different in the columns that a table and some rows have in common."""
    found = Alterations()
    columns = {fold(column.name): column for column in table.columns}
    for given in rows.fields:
        column = columns.get(fold(given.name))
        if column is not None:
            _compare(found, quoted(column.name), column, given.dataType)
    return found


def conforming_columns(table: Table, rows: T.StructType) -> list[tuple[str, str]] | None:
    """Return names and types for a copy of rows that is compared with a table.

    Return None if the types of the rows serve as they are. Otherwise, fields of structs have the
    table's names, order and wider types, and a NULL without a type has the type of the table.
    """
    columns = {fold(column.name): column for column in table.columns}
    given = [(columns.get(fold(field.name)), field) for field in rows.fields]
    wanted = T.StructType(
        [
            T.StructField(
                column.name if column else one.name,
                _conform(column, one.dataType) if column else one.dataType,
            )
            for column, one in given
        ]
    )
    types = [[one.dataType.simpleString() for one in schema.fields] for schema in (wanted, rows)]
    if types[0] == types[1]:  # whether NULL is possible does not matter
        return None
    return [(field.name, type_text(field.data_type)) for field in fields_of(wanted)]


def _conform(column: Column, given: T.DataType) -> T.DataType:
    match column.type.name, given:
        case _, T.NullType():
            return shown_type(column)
        case "struct", T.StructType(fields=fields):
            return T.StructType(_conform_fields(column, fields))
        case "list", T.ArrayType(elementType=element):
            return T.ArrayType(_conform_part(column.children[0], element))
        case "map", T.MapType(keyType=key, valueType=value):
            of_key, of_value = column.children
            return T.MapType(_conform_part(of_key, key), _conform_part(of_value, value))
    return given


def _conform_fields(column: Column, fields: list[T.StructField]) -> list[T.StructField]:
    """Return the table's fields in its order, then the fields that it does not have."""
    given = {fold(one.name): one for one in fields}
    known = []
    for child in column.children:
        one = given.pop(fold(child.name), None)
        kind = shown_type(child) if one is None else _conform_part(child, one.dataType)
        known.append(T.StructField(child.name, kind))
    return [*known, *given.values()]


def _conform_part(column: Column, given: T.DataType) -> T.DataType:
    """Return the type of a part of a column: the table's, if that holds every value."""
    if column.children or isinstance(given, (T.NullType, T.ArrayType, T.MapType, T.StructType)):
        return _conform(column, given)
    is_safe = _is_safe(_wanted(T.StructField(column.name, given)), column.type)
    return shown_type(column) if is_safe else given


def _compare(found: Alterations, path: str, column: Column, given: T.DataType) -> None:
    match column.type.name, given:
        case "struct", T.StructType(fields=fields):
            _compare_fields(found, path, column, fields)
        case ("list", T.ArrayType()) | ("map", T.MapType()):
            for child, part in zip(column.children, _parts(given), strict=True):
                _compare(found, f"{path}.{quoted(child.name)}", child, part)
        case _ if given != shown_type(column) and not isinstance(given, T.NullType):
            _compare_leaves(found, path, column, given)


def _compare_fields(
    found: Alterations, path: str, column: Column, fields: list[T.StructField]
) -> None:
    known = {fold(child.name): child for child in column.children}
    for one in fields:
        child = known.pop(fold(one.name), None)
        inner = f"{path}.{quoted(child.name if child else one.name)}"
        if child is None:
            found.added.append(f"ADD COLUMN {inner} {type_text(_wanted(one))}")
        else:
            _compare(found, inner, child, one.dataType)
    found.dropped += [f"DROP COLUMN {path}.{quoted(gone.name)}" for gone in known.values()]


def _parts(given: T.DataType) -> Iterator[T.DataType]:
    match given:
        case T.ArrayType(elementType=element):
            yield element
        case T.MapType(keyType=key, valueType=value):
            yield from (key, value)


def _compare_leaves(found: Alterations, path: str, column: Column, given: T.DataType) -> None:
    wanted = _wanted(T.StructField(column.name, given))
    if _is_safe(wanted, column.type):
        return  # The column holds all these values as it is.
    wanted = _holding_both(column.type, wanted)
    clause = f"ALTER COLUMN {path} TYPE {type_text(wanted)}"
    safe = _is_safe(column.type, wanted)
    (found.widened if safe else found.retyped).append(clause)


def _holding_both(old: DataType, new: DataType) -> DataType:
    """Return the decimal that holds all values of two decimals; else the new type."""
    if not (isinstance(old, Primitive) and isinstance(new, Primitive)):
        return new
    if old.precision is None or new.precision is None:
        return new
    scales = (old.scale or 0, new.scale or 0)
    whole = max(old.precision - scales[0], new.precision - scales[1])
    precision = whole + max(scales)
    return decimal(precision, max(scales)) if precision <= MAX_DECIMAL_PRECISION else new


def _is_safe(old: DataType, new: DataType) -> bool:
    return widens_to(old, new) and (old.name, new.name) != _ASKED_FOR


def _wanted(field: T.StructField) -> DataType:
    return fields_of(T.StructType([field]))[0].data_type
