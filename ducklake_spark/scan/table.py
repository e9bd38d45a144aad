"""A table at a snapshot, or inside a transaction, as one DataFrame.

Files that Spark can read alike are read together: those with field ids, and those of each name
mapping. Only files with deletes pay for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.catalog import LakeReader, required_mapping
from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.files.matching import folders_of
from ducklake_spark.scan.defaults import missing_in, to_be_filled
from ducklake_spark.scan.deletes import without_deleted
from ducklake_spark.scan.held import Held, held_types
from ducklake_spark.scan.inlined import inlined_frame
from ducklake_spark.scan.places import (
    BEGIN_SNAPSHOT,
    PLACE,
    ROW_ID_START,
    position,
    with_lineage,
    with_places,
)
from ducklake_spark.scan.source import read_files
from ducklake_spark.scan.types import FIELD_ID
from ducklake_spark.scan.values import (
    ColumnValue,
    constant,
    read_by_id,
    read_by_name,
    shown_as_read,
)
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Column, DataFile, InlinedRow, NameMapping, Table
from ducklake_spark.spec.names import is_reserved
from ducklake_spark.spec.predicates import Predicate
from ducklake_spark.storage.failures import files_of
from ducklake_spark.storage.recorded import check_sizes

ROW_ID = "_ducklake_row_id"
SNAPSHOT_ID = "_ducklake_snapshot_id"
FILE = "_ducklake_file"
EXTRAS = (ROW_ID, SNAPSHOT_ID, FILE, PLACE)

# Columns that compaction, updates and flushes put into files, with their field ids (FORMAT 1.10).
STORED = {
    ROW_ID: ("_ducklake_internal_row_id", 2147483540),
    SNAPSHOT_ID: ("_ducklake_internal_snapshot_id", 2147483539),
}


@dataclass(frozen=True, slots=True)
class _Group:
    """Files that one read serves."""

    mapping_id: int | None
    is_partial: bool
    has_deletes: bool
    missing: frozenset[int]
    # The values of columns that are in the files' paths, as texts.
    folders: tuple[tuple[int, str | None], ...]
    held: Held


def read_table(
    session: Session,
    reader: LakeReader,
    table: Table,
    *,
    predicate: Predicate | None = None,
    columns: Collection[str] | None = None,
    extras: Collection[str] = (),
) -> DataFrame:
    """The rows of a table with its columns in order.

    `predicate` leaves out files that cannot match; rows are not filtered. `columns` names those
    that are wanted. `extras` adds ROW_ID, SNAPSHOT_ID, FILE or PLACE.
    """
    files = reader.files(table, predicate=predicate)
    return read_rows(session, reader, table, files, columns=columns, extras=extras)


def read_rows(
    session: Session,
    reader: LakeReader,
    table: Table,
    files: Sequence[DataFile],
    *,
    columns: Collection[str] | None = None,
    extras: Collection[str] = (),
) -> DataFrame:
    """The rows of some files of a table, and its rows in the catalog. A PLACE counts in `files`."""
    wanted = tuple(
        column
        for column in table.columns
        if columns is None or column.id in {table.column(name).id for name in columns}
    )
    scan = _Scan(session, reader, table, wanted, [name for name in EXTRAS if name in extras])
    return scan.frame(files)


def read_whole_files(
    session: Session,
    reader: LakeReader,
    table: Table,
    files: Sequence[DataFile],
    *,
    extras: Collection[str],
) -> list[DataFrame]:
    """All rows that files hold, deleted ones too. A PLACE counts in `files`."""
    scan = _Scan(session, reader, table, table.columns, [x for x in EXTRAS if x in extras])
    bare = [replace(f, delete_file=None, inlined_deletes=(), partial_max=None) for f in files]
    return scan.parts(bare)


def read_living_rows(
    session: Session,
    reader: LakeReader,
    table: Table,
    files: Sequence[DataFile],
    *,
    extras: Collection[str],
) -> DataFrame:
    """The rows of some files and of nothing else; at least one file. A PLACE counts in `files`."""
    scan = _Scan(session, reader, table, table.columns, [x for x in EXTRAS if x in extras])
    return reduce(DataFrame.unionAll, scan.parts(files))


@dataclass(slots=True)
class _Scan:
    session: Session
    reader: LakeReader
    table: Table
    columns: tuple[Column, ...]
    extras: list[str]

    def parts(self, files: Sequence[DataFile]) -> list[DataFrame]:
        mapped = any(file.mapping_id is not None for file in files)
        mappings = self.reader.mappings(self.table) if mapped else {}
        with files_of(self.table.name):
            groups = self._groups(files, mappings)
            return [self._read(group, members, mappings) for group, members in groups.items()]

    def frame(self, files: Sequence[DataFile]) -> DataFrame:
        parts = self.parts(files)
        rows = self.reader.inlined_rows(self.table)
        if rows or not parts:
            parts.append(self._inlined(rows))
        return reduce(DataFrame.unionAll, parts)

    def _groups(
        self, files: Sequence[DataFile], mappings: Mapping[int, NameMapping]
    ) -> dict[_Group, dict[int, DataFile]]:
        groups: defaultdict[_Group, dict[int, DataFile]] = defaultdict(dict)
        fillable = to_be_filled(self.columns)
        births = self.reader.column_births(self.table) if fillable else {}
        for file in files:
            self._refuse_unreadable(file)
        if self.extras:
            refuse_reserved(self.table)
        held = held_types(self.reader, self.table, self.columns, files, mappings)
        for ordinal, file in enumerate(files):
            partial = file.partial_max is not None and file.partial_max > self.reader.snapshot.id
            deletes = file.delete_file is not None or bool(file.inlined_deletes)
            # A mapping tells by itself what is missing.
            missing = missing_in(file, fillable if file.mapping_id is None else (), births)
            folders = self._in_path(file, mappings)
            alike = _Group(file.mapping_id, partial, deletes, missing, folders, held[ordinal])
            groups[alike][ordinal] = file
        return groups

    def _in_path(
        self, file: DataFile, mappings: Mapping[int, NameMapping]
    ) -> tuple[tuple[int, str | None], ...]:
        if file.mapping_id is None:
            return ()
        wanted = {column.id for column in self.columns}
        mapping = required_mapping(mappings, file.mapping_id, self.table)
        entries = (e for e in mapping.columns if e.is_partition)
        said = folders_of(file.path)
        return tuple(
            (e.field_id, said[e.source_name])
            for e in entries
            if e.field_id in wanted and e.source_name in said
        )

    def _refuse_unreadable(self, file: DataFile) -> None:
        kind = "encrypted" if file.encryption_key is not None else file.format
        if kind != "parquet":
            raise UnsupportedFeatureError(
                f"The file {file.path} of {self.table.name} is {kind}, which cannot be read.",
                hint="Read the table with DuckDB.",
            )

    # --- files ---

    def _read(
        self, group: _Group, files: Mapping[int, DataFile], mappings: Mapping[int, NameMapping]
    ) -> DataFrame:
        if group.mapping_id is None:
            types = dict(group.held)
            values = [read_by_id(column, types, group.missing) for column in self.columns]
        else:
            mapping = required_mapping(mappings, group.mapping_id, self.table)
            values = self._by_name(mapping, group)
        # Files with a name mapping hold no such columns: DuckDB would not find them there.
        hidden = list(self._hidden(group)) if group.mapping_id is None else []
        fields = [value.source for value in values if value.source is not None]
        check_sizes(files.values(), self.table.name)
        frame = read_files(self.session, files, T.StructType([*fields, *hidden]))
        if not (self.extras or group.is_partial or group.has_deletes) and shown_as_read(values):
            # One call of the JVM; to make an expression takes several for each column.
            return frame.toDF(*(value.column.name for value in values))
        for missing in self._hidden(group) if not hidden else ():
            frame = frame.withColumn(missing.name, F.lit(None).cast(missing.dataType))
        if group.has_deletes or {ROW_ID, SNAPSHOT_ID, PLACE} & set(self.extras):
            frame = with_places(frame, files)
        if {ROW_ID, SNAPSHOT_ID} & set(self.extras):
            frame = with_lineage(self.session, frame, files)
        if group.is_partial:
            begun = F.coalesce(F.col(STORED[SNAPSHOT_ID][0]), F.lit(0))
            frame = frame.where(begun <= self.reader.snapshot.id)
        if group.has_deletes:
            frame = without_deleted(self.session, frame, files, self.reader.snapshot.id)
        return frame.select(*(value.expression for value in values), *self._extra_values())

    def _hidden(self, group: _Group) -> Iterator[T.StructField]:
        if ROW_ID in self.extras:
            yield _with_id(*STORED[ROW_ID])
        if SNAPSHOT_ID in self.extras or group.is_partial:
            yield _with_id(*STORED[SNAPSHOT_ID])

    def _extra_values(self) -> list[Expression]:
        path = F.col("_metadata.file_path")
        known: dict[str, Callable[[], Expression]] = {
            ROW_ID: lambda: F.coalesce(F.col(STORED[ROW_ID][0]), F.col(ROW_ID_START) + position()),
            SNAPSHOT_ID: lambda: F.coalesce(F.col(STORED[SNAPSHOT_ID][0]), F.col(BEGIN_SNAPSHOT)),
            FILE: lambda: path,
            PLACE: lambda: F.col(PLACE),
        }
        return [known[name]().alias(name) for name in self.extras]

    def _by_name(self, mapping: NameMapping, group: _Group) -> list[ColumnValue]:
        """Read by the names a mapping gives; it counts even if the file has field ids."""
        entries = {entry.field_id: entry for entry in mapping.columns}
        folders = dict(group.folders)
        values = []
        for column in self.columns:
            entry = entries.get(column.id)
            if entry is None or entry.is_partition:
                # A value that the path gives is one for the whole file, like a default.
                known = column.initial_default if entry is None else folders.get(column.id)
                values.append(constant(column, known))
                continue
            if is_reserved(entry.source_name):
                raise UnsupportedFeatureError(
                    f"Column {column.name!r} of {self.table.name} is {entry.source_name!r} in an "
                    "added file, and names that begin with _ducklake_ are reserved.",
                    hint="Read the table with DuckDB, or write the file again without that name.",
                )
            values.append(read_by_name(column, entry, dict(group.held)))
        return values

    # --- rows in the catalog ---

    def _inlined(self, rows: Sequence[InlinedRow]) -> DataFrame:
        known: dict[str, tuple[pa.DataType, Callable[[InlinedRow], Any]]] = {
            ROW_ID: (pa.int64(), lambda row: row.row_id),
            SNAPSHOT_ID: (pa.int64(), lambda row: row.begin_snapshot),
            FILE: (pa.string(), lambda _: None),
            PLACE: (pa.int64(), lambda row: -1 - row.row_id),
        }
        extras = [(name, *known[name]) for name in self.extras]
        return inlined_frame(self.session, self.columns, rows, extras)


def refuse_reserved(table: Table) -> None:
    """Raise if a column of the table could be taken for one that is added to its rows."""
    for column in table.columns:
        if is_reserved(column.name):
            raise UnsupportedFeatureError(
                f"Column {column.name!r} of {table.name} has a reserved name, so the table can "
                "only be read.",
                hint="Rename the column with ALTER TABLE: names must not begin with _ducklake_.",
            )


def _with_id(name: str, field_id: int) -> T.StructField:
    return T.StructField(name, T.LongType(), True, {FIELD_ID: field_id})
