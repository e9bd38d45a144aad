"""Changes to a table's definition, as functions from one definition to the next.

Nothing is written here; a transaction compares the outcome with what it started from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ducklake_spark.catalog.sort_expressions import renamed_in, uses
from ducklake_spark.errors import AlreadyExistsError, InvalidDefinitionError
from ducklake_spark.spec.formats import WRITTEN
from ducklake_spark.spec.model import (
    COMMENT,
    NO_DEFAULT,
    Column,
    Default,
    PartitionField,
    SortKey,
    Table,
)
from ducklake_spark.spec.names import (
    as_duckdb_writes,
    check_column_name,
    check_identifier,
    check_text,
    fold,
    quote,
    split_identifier,
)
from ducklake_spark.spec.partitions import check_transform, parse_partition_expression
from ducklake_spark.spec.types import (
    ONLY_READ,
    DataType,
    Primitive,
    StructType,
    children_of,
    parse_type,
    widens_to,
)
from ducklake_spark.spec.values import cast_text, to_physical


@dataclass(frozen=True, slots=True)
class Field:
    """A column to be created. `type` is a type or its text; `default` a Python value or,
    as `expression`, SQL that DuckDB understands."""

    name: str
    type: DataType | str
    nullable: bool = True
    default: object = None
    expression: str | None = None
    comment: str | None = None

    @property
    def data_type(self) -> DataType:
        return parse_type(self.type) if isinstance(self.type, str) else self.type


# --- making columns ---


def new_columns(fields: Sequence[Field]) -> tuple[Column, ...]:
    """The column trees of a new table: ids from 1, depth first (FORMAT 1.4)."""
    if not fields:
        raise InvalidDefinitionError("A table needs at least one column.")
    _check_distinct([field.name for field in fields], "columns")
    ids = iter(range(1, 1_000_000))
    return tuple(make_column(field, ids) for field in fields)


def make_column(field: Field, ids: Iterator[int]) -> Column:
    """A column with its nested fields, under the next ids."""
    column = _grow(field.name, field.data_type, ids)
    default, initial = _default_of(field)
    tags = with_tag({}, COMMENT, field.comment)
    return replace(
        column,
        nullable=field.nullable,
        default=replace(default, kind=column.default.kind) if default is NO_DEFAULT else default,
        initial_default=initial,
        tags=tags,
    )


def _grow(name: str, data_type: DataType, ids: Iterator[int]) -> Column:
    check_column_name(name)
    if data_type.name == "unknown":
        raise InvalidDefinitionError(f"Column {name!r} has no known type.")
    if data_type.name in ONLY_READ:
        raise InvalidDefinitionError(
            f"Column {name!r} has the type {data_type}, which DuckLake {WRITTEN.version} lacks.",
            hint="Use another type, such as timestamptz for timestamptz_ns.",
        )
    column_id = next(ids)
    nested = children_of(data_type)
    if isinstance(data_type, StructType):
        if not nested:
            raise InvalidDefinitionError(f"The struct {name!r} has no fields.")
        _check_distinct([child for child, _ in nested], f"fields of {name!r}")
    # DuckDB leaves the kind of default empty for nested types (FORMAT 1.12).
    default = Default("NULL", "") if nested else NO_DEFAULT
    children = tuple(_grow(child, child_type, ids) for child, child_type in nested)
    return Column(
        id=column_id,
        name=name,
        type=data_type,
        order=column_id,
        default=default,
        children=children,
    )


def _check_distinct(names: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if fold(name) in seen:
            raise InvalidDefinitionError(f"Two {what} are named {name!r}.")
        seen.add(fold(name))


def _default_of(field: Field) -> tuple[Default, str | None]:
    """The default for new rows, and for rows that are there already (FORMAT 1.13)."""
    if field.expression is not None:
        return _computed(field.expression, field.name), None
    if field.default is None:
        return NO_DEFAULT, None
    text = literal_text(field.default, field.data_type, field.name)
    return Default(text), text


def _computed(expression: str, name: str) -> Default:
    if not expression.strip():
        raise InvalidDefinitionError(
            f"The default of column {name!r} is an empty expression.",
            hint="Leave it out for no default; give '' as a value for an empty text.",
        )
    return Default(check_text(expression, f"the default of column {name!r}"), "expression")


def literal_text(value: object, data_type: DataType, name: str) -> str:
    """The stored text of a literal default."""
    if not isinstance(data_type, Primitive):
        raise InvalidDefinitionError(
            f"Column {name!r} of type {data_type} cannot have a literal default.",
            hint="Nested columns start as NULL; give an expression as default for new rows.",
        )
    try:
        text = cast_text(to_physical(value, data_type), data_type)
    except (TypeError, ValueError) as error:
        raise InvalidDefinitionError(
            f"{value!r} is no default for column {name!r} of type {data_type}: {error}.",
            hint="Give a value of that type, or an SQL expression as expression.",
        ) from error
    if text == "NULL":
        raise InvalidDefinitionError(
            f"The text 'NULL' cannot be the default of column {name!r}: "
            "DuckLake stores it for columns without one.",
        )
    return check_text(text, f"the default of column {name!r}")


# --- changing columns ---


def add_column(table: Table, parent: str | None, field: Field, ids: Iterator[int]) -> Table:
    """The table with one more column, or one more field in the struct at `parent`."""
    if not field.nullable and field.default is None:
        raise InvalidDefinitionError(
            f"Column {field.name!r} cannot be added to {table.name} as NOT NULL: "
            "its rows would hold NULL.",
            hint="Give it a default, or add it and set NOT NULL once it is filled.",
        )
    if field.expression is not None:
        raise InvalidDefinitionError(
            f"Column {field.name!r} cannot be added to {table.name} with a computed default.",
            hint="Add it without one, then set the default for new rows.",
        )
    column = make_column(field, ids)
    if parent is None:
        _check_free(table.columns, field.name, f"column of {table.name}")
        return replace(table, columns=(*table.columns, column))

    def grow(struct: Column) -> Column:
        if not isinstance(struct.type, StructType):
            raise InvalidDefinitionError(
                f"{parent!r} of {table.name} is a {struct.type}, not a struct."
            )
        _check_free(struct.children, field.name, f"field of {parent!r}")
        return struct.with_children((*struct.children, column))

    return _changed(table, parent, grow)


def drop_column(table: Table, path: str) -> Table:
    """The table without a column or nested field."""
    column = table.column(path)
    gone = {c.id for c in column.walk()}
    used = _users_of(table, path, gone)
    if used:
        raise InvalidDefinitionError(
            f"Column {path!r} of {table.name} is used by its {used}.",
            hint=f"Reset the {used} first.",
        )

    _refuse_fixed_child(table, path, "dropped")
    return _changed(table, path, lambda _: None)


def rename_column(table: Table, path: str, new_name: str) -> Table:
    """The table with a column or field under another name; sort expressions follow."""
    check_column_name(new_name)
    column = table.column(path)
    _refuse_fixed_child(table, path, "renamed")
    siblings = [c for c in _siblings(table, path) if c.id != column.id]
    _check_free(tuple(siblings), new_name, f"column beside {path!r}")
    renamed = _changed(table, path, lambda c: replace(c, name=new_name))
    if table.sort is None:
        return renamed
    keys = tuple(
        replace(key, expression=renamed_in(key.expression, path, new_name))
        for key in table.sort.keys
    )
    return replace(renamed, sort=replace(table.sort, keys=keys))


def set_type(table: Table, path: str, data_type: DataType | str) -> Table:
    """The table with a column promoted to a type that holds all its values."""
    new = parse_type(data_type) if isinstance(data_type, str) else data_type
    column = table.column(path)
    if column.type == new:
        return table
    if not widens_to(column.type, new):
        raise InvalidDefinitionError(
            f"Column {path!r} of {table.name} cannot become {new}: its values are {column.type}.",
            hint="Only widening promotions are possible, such as int32 to int64. For others add "
            "a new column, or replace the table.",
        )
    for partition in table.partition_fields:
        if partition.column_id == column.id:
            check_transform(partition.transform, new)
    return _changed(table, path, lambda c: replace(c, type=new))


def set_nullable(table: Table, path: str, nullable: bool) -> Table:
    """The table with NOT NULL set or dropped on a top-level column."""
    if len(split_identifier(path)) > 1:
        raise InvalidDefinitionError(
            f"{path!r} of {table.name} is a nested field; only columns can be NOT NULL."
        )
    return _changed(table, path, lambda c: replace(c, nullable=nullable))


def set_default(
    table: Table, path: str, value: object = None, *, expression: str | None = None
) -> Table:
    """The table with another default for new rows; None and no expression drop it."""
    if len(split_identifier(path)) > 1:
        raise InvalidDefinitionError(
            f"{path!r} of {table.name} is a nested field; only columns can have a default."
        )
    column = table.column(path)
    # Nested types keep a kind of their own for it (FORMAT 1.12).
    default = replace(NO_DEFAULT, kind="" if column.type.is_nested else NO_DEFAULT.kind)
    if expression is not None:
        default = _computed(expression, path)
    elif value is not None:
        default = Default(literal_text(value, column.type, path))
    return _changed(table, path, lambda c: replace(c, default=default))


def set_column_tag(table: Table, path: str, key: str, value: str | None) -> Table:
    """The table with a tag of a column set, or removed by None."""
    return _changed(table, path, lambda c: replace(c, tags=with_tag(c.tags, key, value)))


def with_tag(tags: Mapping[str, str], key: str, value: str | None) -> dict[str, str]:
    """The tags with one of them set, or removed by None."""
    check_identifier(key, "tag")
    others = {k: v for k, v in tags.items() if k != key}
    return others if value is None else others | {key: check_text(value, f"the {key}")}


# --- partitioning and sort order ---


def partition_fields(table: Table, expressions: Sequence[str]) -> tuple[PartitionField, ...]:
    """The keys that expressions such as ``month(ts)`` or ``bucket(8, id)`` name."""
    fields = []
    for expression in expressions:
        transform, name = parse_partition_expression(expression)
        column = next((c for c in table.columns if fold(c.name) == fold(name)), None)
        column = column or table.column(as_duckdb_writes(name))
        check_transform(transform, column.type)
        fields.append(PartitionField(column.id, transform))
    if len(set(fields)) < len(fields):
        raise InvalidDefinitionError(
            f"{table.name} cannot be partitioned by {', '.join(expressions)}: a key is there twice."
        )
    return tuple(fields)


def sort_keys(table: Table, expressions: Sequence[str | SortKey]) -> tuple[SortKey, ...]:
    """The keys that texts such as ``ts desc nulls last`` name; plain columns must exist."""
    keys = []
    for text in expressions:
        key = text if isinstance(text, SortKey) else parse_sort_key(text)
        check_text(key.expression, "a sort key")
        if re.fullmatch(r'\w+|"(?:[^"]|"")*"|`(?:[^`]|``)*`', key.expression):
            column = table.column(key.expression)
            key = replace(key, expression=as_duckdb_writes(column.name))
        keys.append(key)
    return tuple(keys)


_SORT_KEY = re.compile(r"\s*(.+?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*", re.I | re.S)


def parse_sort_key(text: str) -> SortKey:
    """One key of an ORDER BY: an expression, its direction, and where NULLs go."""
    match = _SORT_KEY.fullmatch(text)
    if match is None:
        raise InvalidDefinitionError(
            f"{text!r} is no sort key.", hint="Write a column, such as: ts desc nulls last."
        )
    expression, direction, nulls = match.groups()
    return SortKey(
        expression,
        descending=(direction or "").lower() == "desc",
        nulls_first=(nulls or "").lower() == "first",
    )


# --- the column tree ---


def _changed(table: Table, path: str, change: Callable[[Column], Column | None]) -> Table:
    table.column(path)  # or an error that suggests similar names
    columns = _edited(table.columns, split_identifier(path), change)
    if not columns:
        raise InvalidDefinitionError(
            f"{path!r} is the last column of {table.name}.", hint="Drop the table instead."
        )
    return replace(table, columns=columns)


def _edited(
    columns: tuple[Column, ...], parts: Sequence[str], change: Callable[[Column], Column | None]
) -> tuple[Column, ...]:
    edited: list[Column] = []
    for column in columns:
        if fold(column.name) != fold(parts[0]):
            edited.append(column)
        elif len(parts) > 1:
            children = _edited(column.children, parts[1:], change)
            if not children:
                raise InvalidDefinitionError(f"{parts[1]!r} is the last field of {parts[0]!r}.")
            edited.append(column.with_children(children))
        elif (result := change(column)) is not None:
            edited.append(result)
    return tuple(edited)


def _siblings(table: Table, path: str) -> tuple[Column, ...]:
    parts = split_identifier(path)
    if len(parts) == 1:
        return table.columns
    return table.column(".".join(quote(part) for part in parts[:-1])).children


def _check_free(columns: Sequence[Column], name: str, what: str) -> None:
    if any(fold(column.name) == fold(name) for column in columns):
        raise AlreadyExistsError(f"There is already a {what} named {name!r}.")


def _refuse_fixed_child(table: Table, path: str, verb: str) -> None:
    parts = split_identifier(path)
    if len(parts) < 2:
        return
    parent = table.column(".".join(quote(part) for part in parts[:-1]))
    if not isinstance(parent.type, StructType):
        raise InvalidDefinitionError(
            f"{path!r} of {table.name} is part of a {parent.type.name} and cannot be {verb}."
        )


def _users_of(table: Table, path: str, column_ids: set[int]) -> str | None:
    if any(key.column_id in column_ids for key in table.partition_fields):
        return "partitioning"
    return "sort order" if any(uses(key.expression, path) for key in table.sort_keys) else None
