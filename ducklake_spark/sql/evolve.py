"""What must change inside the columns of a table before it can hold the rows of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import types as T

from ducklake_spark.scan import shown_type
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import fold
from ducklake_spark.spec.types import DataType, widens_to
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
    clause = f"ALTER COLUMN {path} TYPE {type_text(wanted)}"
    safe = _is_safe(column.type, wanted)
    (found.widened if safe else found.retyped).append(clause)


def _is_safe(old: DataType, new: DataType) -> bool:
    return widens_to(old, new) and (old.name, new.name) != _ASKED_FOR


def _wanted(field: T.StructField) -> DataType:
    return fields_of(T.StructType([field]))[0].data_type
