"""The lake as a transaction sees it: its snapshot with what the transaction changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ducklake_spark.catalog.local_changes import (
    Entry,
    LocalChanges,
    LocalDelete,
    LocalFile,
    OptionKey,
    StagedDelete,
)
from ducklake_spark.catalog.options import Option, Scope
from ducklake_spark.catalog.reader import (
    Name,
    SnapshotReader,
    qualified,
    required_schema,
    required_table,
    required_view,
)
from ducklake_spark.catalog.store import LakeFacts
from ducklake_spark.spec.model import (
    Column,
    DataFile,
    DeleteFile,
    InlinedRow,
    Macro,
    NameMapping,
    Schema,
    Snapshot,
    Table,
    TableEntry,
    View,
)
from ducklake_spark.spec.names import QualifiedName, fold
from ducklake_spark.spec.paths import Area, StoredPath
from ducklake_spark.spec.predicates import Predicate
from ducklake_spark.spec.types import DataType

D = TypeVar("D", Table, View, Macro)
T = TypeVar("T", TableEntry, View, Macro)


class LocalReader:
    """Base plus local changes: what a transaction's own reads see."""

    def __init__(self, base: SnapshotReader, facts: LakeFacts) -> None:
        self.base = base
        self.changes = LocalChanges()
        self._facts = facts
        # Data as it was when it was looked at: what is deleted from it was decided then.
        self._shown_files: defaultdict[int, dict[int, DataFile]] = defaultdict(dict)
        self._shown_rows: defaultdict[int, set[int]] = defaultdict(set)

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot the transaction started from."""
        return self.base.snapshot

    # --- schemas ---

    def schemas(self) -> list[Schema]:
        """All schemas."""
        local = self.changes.schemas
        kept = [local[s.id].current if s.id in local else s for s in self.base.schemas()]
        new = [entry.current for entry in local.values() if entry.base is None]
        return [schema for schema in (*kept, *new) if schema is not None]

    def nested_schemas(self) -> list[Schema]:
        """The schemas that are nested in another one, whose tables cannot be read."""
        return self.base.nested_schemas()

    def schema(self, name: str) -> Schema:
        """The schema of that name; raises NotFoundError."""
        return required_schema(self, name)

    @property
    def area(self) -> Area:
        """Where files of the lake may be."""
        return self.base.area

    def location(self, schema: Schema, path: StoredPath) -> str:
        """Return the folder of a table, which must be where files of the lake may be."""
        location = path.under(schema.path.under(self._facts.data_path))
        self.area.check(location, "The folder")
        return location

    # --- tables and views ---

    def tables(self, schema: str) -> list[TableEntry]:
        """The tables of a schema, without their columns."""
        found = self.schema(schema)
        local = self.changes.tables
        kept = [e for e in self._committed(found, self.base.tables) if e.id not in local]
        mine = (entry.current for entry in local.values())
        return kept + [
            TableEntry(t.id, t.schema_id, t.name, t.tags)
            for t in mine
            if t and t.schema_id == found.id
        ]

    def table(self, name: Name) -> Table:
        """The table of that name; raises NotFoundError."""
        return required_table(self, name)

    def find_table(self, name: Name) -> Table | None:
        """The table of that name in an existing schema, if there is one."""
        return self._find(name, self.changes.tables, self.base.find_table)

    def views(self, schema: str) -> list[View]:
        """The views of a schema."""
        found = self.schema(schema)
        local = self.changes.views
        kept = [v for v in self._committed(found, self.base.views) if v.id not in local]
        mine = (entry.current for entry in local.values())
        return kept + [v for v in mine if v and v.schema_id == found.id]

    def view(self, name: Name) -> View:
        """The view of that name; raises NotFoundError."""
        return required_view(self, name)

    def find_view(self, name: Name) -> View | None:
        """The view of that name in an existing schema, if there is one."""
        return self._find(name, self.changes.views, self.base.find_view)

    def macros(self, schema: str) -> list[Macro]:
        """The macros of a schema."""
        found = self.schema(schema)
        local = self.changes.macros
        kept = [m for m in self._committed(found, self.base.macros) if m.id not in local]
        mine = (entry.current for entry in local.values())
        return kept + [m for m in mine if m and m.schema_id == found.id]

    def _committed(self, schema: Schema, listing: Callable[[str], list[T]]) -> list[T]:
        return listing(schema.name) if schema.id >= 0 else []

    def _find(
        self,
        name: Name,
        local: Mapping[int, Entry[D]],
        find: Callable[[QualifiedName], D | None],
    ) -> D | None:
        wanted = qualified(name)
        schema = self.schema(wanted.schema)
        for entry in local.values():
            mine = entry.current
            if mine is not None and _is_named(mine, schema, wanted.name):
                return mine
        found = find(wanted) if schema.id >= 0 else None
        return None if found is None or found.id in local else found

    # --- data ---

    def files(
        self, table: Table, *, predicate: Predicate | None = None, stats_of: Collection[int] = ()
    ) -> list[DataFile]:
        """The table's data files: committed ones as this transaction left them, then its own.

        Its own are never left out for a predicate.
        """
        committed: list[DataFile] = []
        if table.id >= 0:
            committed = self.base.files(table, predicate=predicate, stats_of=stats_of)
        return self._as_changed(table, committed)

    def recorded_files(self, table: Table) -> list[DataFile]:
        """Return what is recorded of the table's data files, to report and not to open them."""
        return self._as_changed(table, self.base.recorded_files(table) if table.id >= 0 else [])

    def _as_changed(self, table: Table, committed: Sequence[DataFile]) -> list[DataFile]:
        """Apply the transaction's changes to the committed files of a table."""
        local = self.changes.seen(table)
        for file in committed:
            self._shown_files[table.id].setdefault(file.id, file)
        kept = [
            self._with_delete(file, table, local.deletes.get(file.id))
            for file in committed
            if file.id not in local.ended
        ]
        return kept + [self._own_file(file, table) for file in local.added.values()]

    def _with_delete(self, file: DataFile, table: Table, delete: LocalDelete | None) -> DataFile:
        if delete is None:
            return file
        return replace(file, delete_file=self._delete_file(delete.staged, table))

    def _own_file(self, file: LocalFile, table: Table) -> DataFile:
        new = file.new
        return DataFile(
            id=file.id,
            path=new.path.under(table.location),
            record_count=new.record_count,
            file_size_bytes=new.file_size_bytes,
            footer_size=new.footer_size,
            # Rows get their ids when they are committed; files may hold ids of their own.
            row_id_start=None,
            begin_snapshot=self.snapshot.id + 1,
            partition_id=file.partition_id,
            partition_values=new.partition_values,
            mapping_id=file.id if new.mapping else None,
            delete_file=self._delete_file(file.delete, table) if file.delete else None,
            stats={stats.column_id: stats for stats in new.stats},
        )

    def _delete_file(self, staged: StagedDelete, table: Table) -> DeleteFile:
        return DeleteFile(
            id=-1,
            path=staged.path.under(table.location),
            delete_count=staged.delete_count,
            file_size_bytes=staged.file_size_bytes,
            footer_size=staged.footer_size,
            begin_snapshot=self.snapshot.id + 1,
            partial_max=staged.snapshot_id,
        )

    def inlined_rows(self, table: Table) -> list[InlinedRow]:
        """The table's rows that live in the catalog, less those deleted here."""
        if table.id < 0:
            return []
        gone = self.changes.seen(table).inlined_deletes
        # The shape is that of the columns given, so columns added here show their defaults.
        rows = self.base.inlined_rows(table)
        self._shown_rows[table.id].update(row.row_id for row in rows)
        return [row for row in rows if row.row_id not in gone]

    def mappings(self, table: Table) -> Mapping[int, NameMapping]:
        """The table's name mappings by id; those of files added here under the file's id."""
        committed = self.base.mappings(table) if table.id >= 0 else {}
        added = self.changes.seen(table).added.values()
        return {**committed, **{f.id: f.new.mapping for f in added if f.new.mapping}}

    def column_births(self, table: Table) -> Mapping[int, int]:
        """The snapshot that added each column or field; what was added here comes with the next."""
        known = self.base.column_births(table) if table.id >= 0 else {}
        return {c.id: known.get(c.id, self.snapshot.id + 1) for c in table.walk()}

    def former_types(self, table: Table) -> Mapping[int, Mapping[DataType, int]]:
        """Other types that leaves of the table had, those that were changed here included."""
        now = {leaf.id: leaf.type for leaf in table.walk() if not leaf.children}
        old: list[Column] = []
        known: dict[int, dict[DataType, int]] = {}
        if table.id >= 0:
            known = {i: dict(types) for i, types in self.base.former_types(table).items()}
            old += self.base.columns_at(table, self.snapshot.id)
        for file in self.changes.seen(table).added.values():
            old += file.written_for.columns
        for leaf in (leaf for column in old for leaf in column.walk()):
            if now.get(leaf.id, leaf.type) != leaf.type:
                known.setdefault(leaf.id, {})[leaf.type] = self.snapshot.id + 1
        return known

    def options(self, table: Table | None = None) -> Mapping[str, str]:
        """The options in force for a table, or for the lake, those set here included."""
        scopes: list[tuple[Scope, int | None]] = [(None, None)]
        if table is not None:
            scopes += [("schema", table.schema_id), ("table", table.id)]
        known = dict(self.base.options(table if table is not None and table.id >= 0 else None))
        for scope, scope_id in scopes:
            for (key, s, i), value in self.changes.options.items():
                if (s, i) == (scope, scope_id):
                    known = {k: v for k, v in known.items() if k != key}
                    known |= {} if value is None else {key: value}
        return known

    def stored_options(self) -> list[Option]:
        """All that is set anywhere, here included."""
        known: dict[OptionKey, str | None] = {
            (option.key, option.scope, option.scope_id): option.value
            for option in self.base.stored_options()
        }
        return [
            Option(key, value, scope, scope_id)
            for (key, scope, scope_id), value in {**known, **self.changes.options}.items()
            if value is not None
        ]


def _is_named(item: Schema | Table | View | Macro, schema: Schema, name: str) -> bool:
    return (
        isinstance(item, (Table, View, Macro))
        and item.schema_id == schema.id
        and fold(item.name.name) == fold(name)
    )
