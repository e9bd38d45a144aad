"""How the columns of a foreign Parquet file are found: by name, and from the folders it is in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import pyarrow as pa

from ducklake_spark.errors import IncompatibleFileError
from ducklake_spark.files.parquet_types import can_hold, type_of
from ducklake_spark.spec.model import Column, MappedName, NameMapping, Table
from ducklake_spark.spec.names import fold
from ducklake_spark.spec.partitions import NULL_DIRECTORY
from ducklake_spark.spec.scalars import Physical
from ducklake_spark.spec.types import ListType, MapType, StructType
from ducklake_spark.spec.values import parse_text
from ducklake_spark.storage.footers import Footer, Leaf, children_of

_FOLDER = re.compile(r"([^/=]+)=([^/]*)/")


@dataclass(slots=True)
class Match:
    """Where a file has the columns of a table."""

    mapping: NameMapping
    leaves: list[Leaf]
    # Of columns that are in the path, by column id.
    values: dict[int, Physical | None]
    # Of leaves in the file that the path overrules: DuckDB then does not read them.
    overruled: list[Leaf]


def folders_of(path: str) -> dict[str, str | None]:
    """What the folders of a path say, in the way of Hive: ``region=eu/``."""
    return {
        key: None if text == NULL_DIRECTORY else unquote(text)
        for key, text in _FOLDER.findall(path)
    }


def match_columns(
    footer: Footer,
    table: Table,
    folders: Mapping[str, str | None],
    *,
    allow_missing: bool,
    ignore_extra_columns: bool,
) -> Match:
    """Find a table's columns in a file; raises IncompatibleFileError where that fails."""
    values = {
        column.id: _folder_value(column, folders[column.name], footer.path)
        for column in table.columns
        if column.name in folders
    }
    matcher = _Matcher(footer, table, values)
    mapping = matcher.match()
    if matcher.missing and not allow_missing:
        raise IncompatibleFileError(
            f"The file {footer.path!r} lacks {_listed(matcher.missing)} of {table.name}.",
            hint="Set allow_missing to have their defaults there.",
        )
    if matcher.extra and not ignore_extra_columns:
        raise IncompatibleFileError(
            f"The file {footer.path!r} has {_listed(matcher.extra)}, and {table.name} has not.",
            hint="Set ignore_extra_columns to leave them unread.",
        )
    if not mapping.columns:
        raise IncompatibleFileError(
            f"The file {footer.path!r} has no column of {table.name}.",
            hint="Check the path, or rename the columns of the file.",
        )
    return Match(mapping, matcher.leaves, values, matcher.overruled)


def _folder_value(column: Column, text: str | None, path: str) -> Physical | None:
    try:
        return None if text is None else parse_text(text, column.type)
    except ValueError as error:
        raise IncompatibleFileError(
            f"The path {path!r} gives column {column.name!r} the value {text!r}, which is no "
            f"{column.type}.",
            hint="Set hive_partitioning to false if the folders do not mean that.",
        ) from error


def _listed(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


@dataclass(slots=True)
class _Matcher:
    footer: Footer
    table: Table
    values: Mapping[int, Physical | None]
    leaves: list[Leaf] = field(default_factory=list)
    overruled: list[Leaf] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    index: int = 0  # of the leaf that comes next

    def match(self) -> NameMapping:
        columns = list(self._match(list(self.footer.schema), self.table.columns, ""))
        return NameMapping(tuple(columns))

    def _match(
        self, fields: Sequence[pa.Field], columns: Sequence[Column], prefix: str
    ) -> Iterator[MappedName]:
        """The columns, or fields of a struct, in the order of the file; then what the path has."""
        known = {fold(column.name): column for column in columns}
        self._check_names(fields, prefix)
        found: set[int] = set()
        for part in fields:
            column = known.get(fold(part.name))
            if column is None:
                self.extra.append(prefix + part.name)
                self.index += _leaf_count(part.type)
                continue
            found.add(column.id)
            if column.id in self.values:
                self._overrule(part, column)
                yield MappedName(column.name, column.id, is_partition=True)
            else:
                yield self._entry(part, column, prefix)
        for column in columns:
            if column.id in self.values and column.id not in found:
                yield MappedName(column.name, column.id, is_partition=True)
            elif column.id not in found:
                self.missing.append(prefix + column.name)

    def _check_names(self, fields: Sequence[pa.Field], prefix: str) -> None:
        seen: dict[str, str] = {}
        for name in (prefix + part.name for part in fields):
            if fold(name) in seen:
                raise IncompatibleFileError(
                    f"The file {self.footer.path!r} has two columns {seen[fold(name)]!r} and "
                    f"{name!r}, which DuckLake does not tell apart."
                )
            seen[fold(name)] = name

    def _overrule(self, part: pa.Field, column: Column) -> None:
        if not list(children_of(part.type)) and self._stored(column) is not None:
            self.overruled.append(Leaf(self.index, column, part.type))
        self.index += _leaf_count(part.type)

    def _stored(self, column: Column) -> object:
        stored = type_of(self.footer.metadata.schema.column(self.index))
        return stored if stored is not None and can_hold(column.type, stored) else None

    def _entry(self, part: pa.Field, column: Column, prefix: str) -> MappedName:
        path = prefix + part.name
        children = list(children_of(part.type))
        match column.type:
            case StructType() if pa.types.is_struct(part.type):
                parts = tuple(self._match(children, column.children, f"{path}."))
            case ListType() if len(children) == 1 and not pa.types.is_struct(part.type):
                element = self._entry(children[0], column.children[0], f"{path}.")
                # Whatever its name in the file, DuckDB finds the one child of a list, and calls
                # it so itself.
                parts = (MappedName("list", element.field_id, element.children),)
            case MapType() if pa.types.is_map(part.type):
                named = zip(("key", "value"), children, column.children, strict=True)
                parts = tuple(
                    MappedName(name, child.id, self._entry(inner, child, f"{path}.").children)
                    for name, inner, child in named
                )
            case _ if children or column.type.is_nested:
                raise self._mismatch(path, column, str(part.type))
            case _:
                self._leaf(part, column, path)
                parts = ()
        return MappedName(part.name, column.id, parts)

    def _leaf(self, part: pa.Field, column: Column, path: str) -> None:
        leaf = self.footer.metadata.schema.column(self.index)
        stored = type_of(leaf)
        if stored is None or not can_hold(column.type, stored):
            shown = str(stored) if stored is not None else str(leaf.logical_type)
            raise self._mismatch(path, column, shown)
        self.leaves.append(Leaf(self.index, column, part.type))
        self.index += 1

    def _mismatch(self, path: str, column: Column, stored: str) -> IncompatibleFileError:
        return IncompatibleFileError(
            f"Column {path!r} of the file {self.footer.path!r} is {stored}, and {self.table.name} "
            f"has {column.type}.",
            hint="Insert the rows with a cast instead, or promote the table's column.",
        )


def _leaf_count(data_type: pa.DataType) -> int:
    return sum(_leaf_count(child.type) for child in children_of(data_type)) or 1
