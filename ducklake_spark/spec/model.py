"""What a lake consists of at one snapshot, as immutable values.

Ids below zero belong to things a transaction made and has not committed yet.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ducklake_spark.errors import NotFoundError
from ducklake_spark.spec.changes import Change
from ducklake_spark.spec.names import QualifiedName, fold, split_identifier
from ducklake_spark.spec.partitions import Transform
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.stats import ColumnStats
from ducklake_spark.spec.types import (
    DataType,
    ListType,
    MapType,
    StructType,
    list_of,
    map_of,
    struct_of,
)

COMMENT = "comment"
DELETE_FORMATS = ("parquet", "puffin")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the whole lake; its id is its place in the history."""

    id: int
    time: datetime.datetime
    schema_version: int
    next_catalog_id: int
    next_file_id: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A snapshot with what was said and done to make it."""

    snapshot: Snapshot
    changes: tuple[Change, ...]
    author: str | None
    message: str | None
    extra_info: str | None


@dataclass(frozen=True, slots=True)
class Default:
    """A column's default as stored: a literal's text, or an SQL expression (FORMAT 1.13)."""

    value: str | None
    kind: str = "literal"
    dialect: str | None = "duckdb"

    @property
    def is_none(self) -> bool:
        return self.value is None or (self.kind != "expression" and self.value == "NULL")


NO_DEFAULT = Default("NULL")


@dataclass(frozen=True, slots=True)
class Column:
    """A column or a nested field. `id` is the field id in Parquet files."""

    id: int
    name: str
    type: DataType
    order: int
    nullable: bool = True
    initial_default: str | None = None
    default: Default = NO_DEFAULT
    children: tuple[Column, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def comment(self) -> str | None:
        return self.tags.get(COMMENT)

    def walk(self) -> Iterator[Column]:
        """This column and everything nested in it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def with_children(self, children: tuple[Column, ...]) -> Column:
        """The column with other fields, its type following them."""
        named = tuple((child.name, child.type) for child in children)
        match self.type:
            case StructType():
                data_type: DataType = struct_of(*named)
            case ListType():
                data_type = list_of(named[0][1])
            case MapType():
                data_type = map_of(named[0][1], named[1][1])
            case _:
                data_type = self.type
        return replace(self, type=data_type, children=children)


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One key of a partition specification."""

    column_id: int
    transform: Transform


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """How new files of a table are partitioned. No fields: partitioning was reset."""

    id: int
    fields: tuple[PartitionField, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of a sort order: an SQL expression over the table's columns."""

    expression: str
    descending: bool = False
    nulls_first: bool = False
    dialect: str = "duckdb"


@dataclass(frozen=True, slots=True)
class SortOrder:
    """How rows are sorted when files are written or compacted."""

    id: int
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """A namespace of tables, views and macros; with a parent if it is nested in another one."""

    id: int
    uuid: uuid.UUID
    name: str
    path: StoredPath
    begin_snapshot: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    parent_id: int | None = None


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table as a listing shows it, without its columns."""

    id: int
    schema_id: int
    name: QualifiedName
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def comment(self) -> str | None:
        return self.tags.get(COMMENT)


@dataclass(frozen=True, slots=True)
class Table:
    """A table's definition. `location` is the directory its relative file paths start from.

    `mark` is the key that marks the names of new files (spec.file_names).
    """

    id: int
    uuid: uuid.UUID
    schema_id: int
    name: QualifiedName
    path: StoredPath
    location: str
    columns: tuple[Column, ...]
    partition: PartitionSpec | None = None
    sort: SortOrder | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    begin_snapshot: int | None = None
    mark: str = ""

    @property
    def comment(self) -> str | None:
        return self.tags.get(COMMENT)

    @property
    def partition_fields(self) -> tuple[PartitionField, ...]:
        return self.partition.fields if self.partition else ()

    @property
    def sort_keys(self) -> tuple[SortKey, ...]:
        return self.sort.keys if self.sort else ()

    def walk(self) -> Iterator[Column]:
        """All columns with everything nested in them, depth first."""
        for column in self.columns:
            yield from column.walk()

    def column(self, path: str) -> Column:
        """A column by name, or a nested field by dotted path (``address.city``)."""
        first, *rest = split_identifier(path)
        found = self._among(self.columns, first, path)
        for part in rest:
            found = self._among(found.children, part, path)
        return found

    def _among(self, columns: tuple[Column, ...], name: str, path: str) -> Column:
        for column in columns:
            if fold(column.name) == fold(name):
                return column
        near = [column.name for column in columns]
        raise NotFoundError(f"Column {path!r} of {self.name}", near=near, wanted=name)


@dataclass(frozen=True, slots=True)
class View:
    """A view: the SQL as stored, in the dialect it claims."""

    id: int
    uuid: uuid.UUID
    schema_id: int
    name: QualifiedName
    sql: str
    dialect: str = "duckdb"
    column_aliases: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    begin_snapshot: int | None = None

    @property
    def comment(self) -> str | None:
        return self.tags.get(COMMENT)

    @staticmethod
    def column_key(column: str) -> str:
        """Return the key of the tag that comments on a column."""
        return f"{COMMENT}.{column}"

    def column_tag(self, column: str) -> str:
        """The tag with a column's comment, in whatever case the column was named then."""
        wanted = self.column_key(column)
        return next((tag for tag in self.tags if fold(tag) == fold(wanted)), wanted)

    def column_comment(self, column: str) -> str | None:
        return self.tags.get(self.column_tag(column))


@dataclass(frozen=True, slots=True)
class MacroParameter:
    name: str
    type: str
    default: str | None
    default_type: str | None


@dataclass(frozen=True, slots=True)
class MacroImplementation:
    dialect: str
    sql: str
    kind: str
    parameters: tuple[MacroParameter, ...]


@dataclass(frozen=True, slots=True)
class Macro:
    """A function in SQL, or one that gives a table."""

    id: int
    schema_id: int
    name: QualifiedName
    implementations: tuple[MacroImplementation, ...]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MappedName:
    """One entry of a name mapping: which Parquet column holds which field."""

    source_name: str
    field_id: int | None
    children: tuple[MappedName, ...] = ()
    is_partition: bool = False


@dataclass(frozen=True, slots=True)
class NameMapping:
    """How the columns of a Parquet file without field ids are found (FORMAT 1.15)."""

    columns: tuple[MappedName, ...]
    kind: str = "map_by_name"


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """The rows of one data file that are gone, as a Parquet file of positions or a deletion vector.

    Where it has a snapshot id per position, a reader at an earlier snapshot uses only the positions
    up to it; `partial_max` is the newest of these, if the catalog says so (FORMAT 1.9).
    """

    id: int
    path: str
    delete_count: int
    file_size_bytes: int
    footer_size: int | None
    begin_snapshot: int
    partial_max: int | None = None
    format: str = "parquet"
    encryption_key: str | None = None

    @property
    def is_readable(self) -> bool:
        """Whether this package can read the file: Parquet or a deletion vector, not encrypted."""
        return self.format in DELETE_FORMATS and self.encryption_key is None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file that a snapshot sees, with what is deleted from it there.

    `further_deletes`: a flush by DuckDB leaves a second delete file behind where older snapshots
    see a file that was rewritten before.
    """

    id: int
    path: str
    record_count: int
    file_size_bytes: int
    footer_size: int | None
    row_id_start: int | None
    begin_snapshot: int
    partition_id: int | None = None
    partition_values: tuple[str | None, ...] = ()
    mapping_id: int | None = None
    partial_max: int | None = None
    format: str = "parquet"
    encryption_key: str | None = None
    delete_file: DeleteFile | None = None
    further_deletes: tuple[DeleteFile, ...] = ()
    inlined_deletes: tuple[int, ...] = ()
    stats: Mapping[int, ColumnStats] = field(default_factory=dict)
    order: int | None = None

    @property
    def paths(self) -> list[str]:
        """The complete paths of the file and of its delete files."""
        deletes = (self.delete_file, *self.further_deletes)
        return [self.path, *(delete.path for delete in deletes if delete is not None)]

    @property
    def deleted_rows(self) -> int:
        """How many of its rows are deleted, by delete files or in the catalog."""
        deletes = (self.delete_file, *self.further_deletes)
        return sum(d.delete_count for d in deletes if d is not None) + len(self.inlined_deletes)

    @property
    def live_rows(self) -> int:
        return self.record_count - self.deleted_rows


@dataclass(frozen=True, slots=True)
class NewDataFile:
    """A Parquet file that was written and shall become part of a table.

    `path` is relative to the table's directory, or complete. `takes_row_ids`: its
    rows get the table's next ids; else the file holds their ids itself (FORMAT 1.10).
    """

    path: StoredPath
    record_count: int
    file_size_bytes: int
    footer_size: int | None
    stats: tuple[ColumnStats, ...] = ()
    partition_values: tuple[str | None, ...] = ()
    mapping: NameMapping | None = None
    takes_row_ids: bool = True


@dataclass(frozen=True, slots=True)
class InlinedRow:
    """A row that lives in the catalog itself. Values are physical, by column id."""

    row_id: int
    begin_snapshot: int
    end_snapshot: int | None
    values: Mapping[int, object]


@dataclass(frozen=True, slots=True)
class InlinedLives:
    """All rows, ended ones too, of an inlined table, which has the columns of its time."""

    columns: tuple[Column, ...]
    rows: tuple[InlinedRow, ...]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A data file with all that was deleted from it up to a snapshot, and when.

    `inlined_deletes` are positions with the snapshot that deleted each. `end_snapshot` is the one
    that deleted all that was left.
    """

    file: DataFile
    end_snapshot: int | None
    delete_files: tuple[DeleteFile, ...]
    inlined_deletes: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What may hold a table's changes between two snapshots, both included.

    `rewrites` are snapshots that moved rows and changed none.
    """

    start: int
    end: int
    files: tuple[ChangedFile, ...]
    rows: tuple[InlinedRow, ...]
    rewrites: frozenset[int]


@dataclass(frozen=True, slots=True)
class TableStats:
    """What the catalog keeps per table: counts only ever grow (FORMAT 1.14)."""

    record_count: int
    next_row_id: int
    file_size_bytes: int
