"""What a transaction has changed and not committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from ducklake_spark.catalog.compaction import Compaction
from ducklake_spark.catalog.options import Scope
from ducklake_spark.spec.model import (
    DataFile,
    Macro,
    NewDataFile,
    Schema,
    Table,
    View,
)
from ducklake_spark.spec.paths import StoredPath

D = TypeVar("D", Schema, Table, View, Macro)


class StagedDelete(Protocol):
    """A delete file that is written, and not yet part of the lake.

    One that replaces an earlier delete file holds a snapshot id per position, so it is tied to the
    snapshot it was written for and is written again should the commit become another one.
    """

    @property
    def path(self) -> StoredPath:
        """Relative to the table's directory, or complete."""

    @property
    def delete_count(self) -> int:
        """How many positions it holds, those of the file it replaces included."""

    @property
    def file_size_bytes(self) -> int: ...

    @property
    def footer_size(self) -> int | None: ...

    @property
    def snapshot_id(self) -> int | None:
        """The commit it is written for; None if it fits any."""

    def written_for(self, snapshot_id: int) -> StagedDelete:
        """The same positions for another commit."""


@dataclass(slots=True)
class Entry(Generic[D]):
    """A schema, table, view or macro before and after: None before it was there or once it went."""

    base: D | None
    current: D | None


@dataclass(slots=True)
class LocalFile:
    """A data file added here; `delete` holds what was deleted from it again.

    Its columns and partition values are those of the table it was written for, whatever came after.
    """

    id: int
    new: NewDataFile
    written_for: Table
    delete: StagedDelete | None = None

    @property
    def partition_id(self) -> int | None:
        spec = self.written_for.partition
        return spec.id if spec is not None and spec.fields else None


@dataclass(slots=True)
class LocalDelete:
    """Positions deleted from a committed data file."""

    file: DataFile
    staged: StagedDelete


@dataclass(slots=True)
class DataChanges:
    """What happened to the rows of one table."""

    added: dict[int, LocalFile] = field(default_factory=dict)
    ended: dict[int, DataFile] = field(default_factory=dict)
    deletes: dict[int, LocalDelete] = field(default_factory=dict)
    inlined_deletes: set[int] = field(default_factory=set)
    # A DELETE looked for rows to delete, whether or not it found any: concurrent inserts conflict.
    searched: bool = False
    # Rows that only move; no other change goes with them.
    compactions: list[Compaction] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        changed = self.added or self.ended or self.deletes or self.inlined_deletes
        return not (changed or self.compactions)

    @property
    def staged_deletes(self) -> dict[int, StagedDelete]:
        """By the data file they are for."""
        own = {i: file.delete for i, file in self.added.items() if file.delete}
        return own | {i: delete.staged for i, delete in self.deletes.items()}

    def copy(self) -> DataChanges:
        return DataChanges(
            {key: replace(file) for key, file in self.added.items()},
            dict(self.ended),
            dict(self.deletes),
            set(self.inlined_deletes),
            self.searched,
            list(self.compactions),
        )


TableData = tuple[Table, DataChanges]
OptionKey = tuple[str, Scope, int | None]


@dataclass(slots=True)
class LocalChanges:
    """Everything a transaction changed."""

    schemas: dict[int, Entry[Schema]] = field(default_factory=dict)
    tables: dict[int, Entry[Table]] = field(default_factory=dict)
    views: dict[int, Entry[View]] = field(default_factory=dict)
    macros: dict[int, Entry[Macro]] = field(default_factory=dict)
    data: dict[int, TableData] = field(default_factory=dict)
    options: dict[OptionKey, str | None] = field(default_factory=dict)
    # Columns that were made NOT NULL, by table and column: what was new here may hold rows too.
    required: set[tuple[int, int]] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        relations = (*changed(self.tables), *changed(self.views))
        others = (*changed(self.schemas), *changed(self.macros))
        written = any(not data.is_empty for _, data in self.written())
        return not (relations or others or written or self.options)

    def copy(self) -> LocalChanges:
        """The changes so far, which later ones leave as they are."""
        return LocalChanges(
            {key: replace(entry) for key, entry in self.schemas.items()},
            {key: replace(entry) for key, entry in self.tables.items()},
            {key: replace(entry) for key, entry in self.views.items()},
            {key: replace(entry) for key, entry in self.macros.items()},
            {key: (table, data.copy()) for key, (table, data) in self.data.items()},
            dict(self.options),
            set(self.required),
        )

    def of(self, table: Table) -> DataChanges:
        """The data changes of a table, to be added to."""
        return self.data.setdefault(table.id, (table, DataChanges()))[1]

    def seen(self, table: Table) -> DataChanges:
        """The data changes of a table, to be looked at."""
        return self.data[table.id][1] if table.id in self.data else DataChanges()

    def written(self) -> Iterator[tuple[Table, DataChanges]]:
        """The tables whose rows changed, as they are defined by now."""
        for table, data in self.data.values():
            entry = self.tables.get(table.id)
            current = entry.current if entry else table
            if current is not None and not (data.is_empty and not data.searched):
                yield current, data


def changed(entries: Mapping[int, Entry[D]]) -> Iterator[tuple[int, Entry[D]]]:
    """The entries that end up different from where they began."""
    return ((i, e) for i, e in entries.items() if e.base != e.current)
