"""The lake as one snapshot shows it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from ducklake_spark.catalog import definitions, views
from ducklake_spark.catalog.changed import read_changes, read_files_with_inlined_deletes
from ducklake_spark.catalog.files import read_files, read_table_column_stats, read_table_stats
from ducklake_spark.catalog.history import require_snapshots
from ducklake_spark.catalog.inlined import read_inlined_lives, read_inlined_rows
from ducklake_spark.catalog.mappings import read_mappings
from ducklake_spark.catalog.options import Option, in_force, read_all_options, read_options
from ducklake_spark.catalog.retries import ask
from ducklake_spark.catalog.store import LakeFacts, Store
from ducklake_spark.errors import NotFoundError, UnsupportedFeatureError
from ducklake_spark.spec.model import (
    ChangedFile,
    Column,
    DataFile,
    InlinedLives,
    InlinedRow,
    Macro,
    NameMapping,
    Schema,
    Snapshot,
    Table,
    TableChanges,
    TableEntry,
    TableStats,
    View,
)
from ducklake_spark.spec.names import QualifiedName, fold, is_storable
from ducklake_spark.spec.paths import Area
from ducklake_spark.spec.predicates import Predicate
from ducklake_spark.spec.stats import TableColumnStats
from ducklake_spark.spec.types import DataType

Name = str | QualifiedName
T = TypeVar("T")


class LakeReader(Protocol):
    """What can be asked of a lake, at a snapshot or inside a transaction."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that is read, or that the transaction started from."""

    def schemas(self) -> list[Schema]: ...
    def nested_schemas(self) -> list[Schema]: ...
    def schema(self, name: str) -> Schema: ...
    def tables(self, schema: str) -> list[TableEntry]: ...
    def table(self, name: Name) -> Table: ...
    def find_table(self, name: Name) -> Table | None: ...
    def views(self, schema: str) -> list[View]: ...
    def view(self, name: Name) -> View: ...
    def find_view(self, name: Name) -> View | None: ...
    def macros(self, schema: str) -> list[Macro]: ...
    def files(
        self, table: Table, *, predicate: Predicate | None = None, stats_of: Collection[int] = ()
    ) -> list[DataFile]: ...
    def recorded_files(self, table: Table) -> list[DataFile]: ...
    def inlined_rows(self, table: Table) -> list[InlinedRow]: ...
    def mappings(self, table: Table) -> Mapping[int, NameMapping]: ...
    def column_births(self, table: Table) -> Mapping[int, int]: ...
    def former_types(self, table: Table) -> Mapping[int, Mapping[DataType, int]]: ...
    def options(self, table: Table | None = None) -> Mapping[str, str]: ...
    def stored_options(self) -> list[Option]: ...


def qualified(name: Name) -> QualifiedName:
    return QualifiedName.parse(name) if isinstance(name, str) else name


def find_schema(reader: LakeReader, name: str) -> Schema | None:
    """The schema of a name, if there is one."""
    return next((s for s in reader.schemas() if fold(s.name) == fold(name)), None)


def required_schema(reader: LakeReader, name: str) -> Schema:
    """The schema of a name, or an error that suggests similar ones."""
    found = find_schema(reader, name)
    if found is None:
        if any(fold(nested.name) == fold(name) for nested in reader.nested_schemas()):
            raise UnsupportedFeatureError(
                f"Schema {name!r} is nested in another schema. Nested schemas are not supported.",
                hint="Read its tables with DuckDB, or copy them to a schema of the top level.",
            )
        near = [schema.name for schema in reader.schemas()]
        error = NotFoundError(f"Schema {name!r}", near=near, wanted=name)
        made = "CREATE SCHEMA makes it."
        bare = "A name by itself leads to the schema of the profile or of USE."
        error.hint = " ".join(hint for hint in (error.hint, made, bare) if hint)
        raise error
    return found


def required_table(reader: LakeReader, name: Name) -> Table:
    """The table of a name, or an error that suggests similar ones or says it is a view."""
    wanted = qualified(name)
    found = reader.find_table(wanted)
    if found is None:
        if reader.find_view(wanted) is not None:
            raise NotFoundError(f"Table {wanted} (there is a view of that name)")
        near = [entry.name.name for entry in reader.tables(wanted.schema)]
        raise NotFoundError(f"Table {wanted}", near=near, wanted=wanted.name)
    return found


def required_view(reader: LakeReader, name: Name) -> View:
    """The view of a name, or an error that suggests similar ones."""
    wanted = qualified(name)
    found = reader.find_view(wanted)
    if found is None:
        near = [view.name.name for view in reader.views(wanted.schema)]
        raise NotFoundError(f"View {wanted}", near=near, wanted=wanted.name)
    return found


class SnapshotReader:
    """Reads one committed snapshot.

    Each answer comes from one database transaction, which also proves that the snapshot still
    exists: another client may expire it between two questions.
    """

    def __init__(
        self,
        store: Store,
        facts: LakeFacts,
        snapshot: Snapshot,
        schemas: list[Schema] | None = None,
    ) -> None:
        self._store = store
        self._facts = facts
        self._snapshot = snapshot
        self._schemas = schemas
        self._tables: dict[tuple[str, str], Table] = {}
        self._inlined: dict[int, tuple[Table, list[InlinedRow]]] = {}

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot

    @property
    def area(self) -> Area:
        """Where files of the lake may be."""
        return self._facts.area

    def _ask(self, question: Callable[[Connection], T], *, also: int | None = None) -> T:
        """Answer from one state of the catalog, in which the snapshot exists.

        `also` is another snapshot that the answer depends on.
        """
        others = set() if also is None else {also}

        def answer(connection: Connection) -> T:
            lake = self._store.database.describe()
            self._store.format = require_snapshots(connection, self._snapshot, others, lake)
            return question(connection)

        return ask(self._store, answer)

    def schemas(self) -> list[Schema]:
        """All schemas, oldest first, without those that are nested in another one."""
        return [schema for schema in self._all_schemas() if schema.parent_id is None]

    def nested_schemas(self) -> list[Schema]:
        """The schemas that are nested in another one, whose tables cannot be read."""
        return [schema for schema in self._all_schemas() if schema.parent_id is not None]

    def _all_schemas(self) -> list[Schema]:
        if self._schemas is None:
            self._schemas = self._ask(lambda c: definitions.read_schemas(c, self._snapshot.id))
        return self._schemas

    def schema(self, name: str) -> Schema:
        """The schema of that name; raises NotFoundError."""
        return required_schema(self, name)

    def tables(self, schema: str) -> list[TableEntry]:
        """The tables of a schema, without their columns."""
        found = self.schema(schema)
        return self._ask(lambda c: definitions.list_tables(c, self._snapshot.id, found))

    def table(self, name: Name) -> Table:
        """The table of that name; raises NotFoundError."""
        return required_table(self, name)

    def find_table(self, name: Name) -> Table | None:
        """The table of that name in an existing schema, if there is one."""
        wanted = qualified(name)
        if not is_storable(wanted.name):
            return None
        if wanted.folded not in self._tables:
            schema = self.schema(wanted.schema)
            path = self._facts.data_path
            found = self._ask(
                lambda c: definitions.find_table(c, self._snapshot.id, schema, wanted.name, path)
            )
            if found is None:
                return None
            self.area.check(found.location, f"The folder of {found.name}")
            mark = self._facts.mark_of(found.location)
            self._tables[wanted.folded] = replace(found, mark=mark)
        return self._tables[wanted.folded]

    def views(self, schema: str) -> list[View]:
        """The views of a schema."""
        found = self.schema(schema)
        return self._ask(lambda c: views.list_views(c, self._snapshot.id, found))

    def view(self, name: Name) -> View:
        """The view of that name; raises NotFoundError."""
        return required_view(self, name)

    def find_view(self, name: Name) -> View | None:
        """The view of that name in an existing schema, if there is one."""
        wanted = qualified(name)
        schema = self.schema(wanted.schema)
        if not is_storable(wanted.name):
            return None
        return self._ask(lambda c: views.find_view(c, self._snapshot.id, schema, wanted.name))

    def macros(self, schema: str) -> list[Macro]:
        """The macros of a schema: DuckDB's, and the functions that were created here."""
        found = self.schema(schema)
        return self._ask(lambda c: views.list_macros(c, self._snapshot.id, found))

    def files(
        self, table: Table, *, predicate: Predicate | None = None, stats_of: Collection[int] = ()
    ) -> list[DataFile]:
        """The table's data files, less those that statistics rule out for the predicate.

        Raise PathOutsideLakeError if the catalog names a file where no file of the lake may be.
        """

        def read(connection: Connection) -> list[DataFile]:
            found = self._read_files(connection, table, predicate, stats_of)
            self._check_paths(table, found)
            return found

        return self._ask(read)

    def recorded_files(self, table: Table) -> list[DataFile]:
        """Return what the catalog records of the table's data files, wherever they are.

        Only for reports and for operations of the catalog alone: use `files` to open files.
        """
        return self._ask(lambda connection: self._read_files(connection, table))

    def _read_files(
        self,
        connection: Connection,
        table: Table,
        predicate: Predicate | None = None,
        stats_of: Collection[int] = (),
    ) -> list[DataFile]:
        # A flush moves rows from the catalog to files, for old snapshots as well: who asks
        # for one and then for the other must not miss them.
        self._read_inlined(connection, table)
        return read_files(
            connection,
            self._store.database,
            self._snapshot.id,
            table,
            predicate=predicate,
            stats_of=stats_of,
        )

    def _check_paths(self, table: Table, files: Iterable[DataFile]) -> None:
        """Raise if the catalog names a file where no file of the lake may be."""
        paths = (path for file in files for path in file.paths)
        self.area.check_files(table.location, paths, table.name)

    def inlined_rows(self, table: Table) -> list[InlinedRow]:
        """The table's rows that live in the catalog; with its files, if these were asked for."""
        shape, rows = self._inlined.get(table.id, (None, []))
        if shape is None or shape.columns != table.columns:
            return self._ask(lambda c: self._read_inlined(c, table))
        return list(rows)

    def changes(self, table: Table, start: int) -> TableChanges:
        """What may hold the table's changes from a snapshot to this one, both included."""
        end = self._snapshot.id
        found = self._ask(
            lambda c: read_changes(c, self._store.database, start, end, table), also=start
        )
        self._check_changed(table, found.files)
        return found

    def columns_at(self, table: Table, snapshot_id: int) -> tuple[Column, ...]:
        """The columns that a table had at a snapshot, which need not exist any more."""
        return self._ask(lambda c: definitions.read_columns(c, snapshot_id, table.id))

    def schema_versions(self, table: Table) -> list[tuple[int, int]]:
        """The snapshots that changed the table's definition, in order, with its versions."""
        return self._ask(lambda c: definitions.read_schema_versions(c, table.id))

    def inlined_lives(self, table: Table) -> list[InlinedLives]:
        """All rows of the table that live in the catalog up to this snapshot, ended ones too."""
        end = self._snapshot.id
        return self._ask(lambda c: read_inlined_lives(c, self._store.database, end, table))

    def files_with_inlined_deletes(self, table: Table) -> list[ChangedFile]:
        """The table's files, of older snapshots too, from which the catalog holds deletes."""
        end = self._snapshot.id
        found = self._ask(
            lambda c: read_files_with_inlined_deletes(c, self._store.database, end, table)
        )
        self._check_changed(table, found)
        return found

    def _check_changed(self, table: Table, files: Iterable[ChangedFile]) -> None:
        for changed in files:
            self._check_paths(table, [replace(changed.file, further_deletes=changed.delete_files)])

    def _read_inlined(self, connection: Connection, table: Table) -> list[InlinedRow]:
        rows = read_inlined_rows(connection, self._store.database, self._snapshot.id, table)
        self._inlined[table.id] = table, rows
        return list(rows)

    def mappings(self, table: Table) -> Mapping[int, NameMapping]:
        """The table's name mappings by id."""
        return self._ask(lambda c: read_mappings(c, table.id))

    def column_births(self, table: Table) -> Mapping[int, int]:
        """The snapshot that added each column or field of the table, by its id."""
        return self._ask(lambda c: definitions.column_births(c, table.id))

    def former_types(self, table: Table) -> Mapping[int, Mapping[DataType, int]]:
        """Other types that leaves of the table had, by id, and the snapshot that ended each."""
        end = self._snapshot.id
        return self._ask(lambda c: definitions.former_types(c, end, table))

    def options(self, table: Table | None = None) -> Mapping[str, str]:
        """The options in force for a table, or for the lake. Options have no history."""
        if table is None:
            return in_force(self._ask(read_options))
        return in_force(
            self._ask(lambda c: read_options(c, schema_id=table.schema_id, table_id=table.id))
        )

    def stored_options(self) -> list[Option]:
        """All that is set, for the lake, its schemas and its tables, and the lake's own facts."""
        return self._ask(read_all_options)

    def table_stats(self, table: Table) -> TableStats | None:
        """The counts kept for a table: they grow only, and have no history."""
        return self._ask(lambda c: read_table_stats(c, table.id))

    def column_stats(self, table: Table) -> Mapping[int, TableColumnStats]:
        """The statistics kept for a table's columns; they cover all snapshots."""
        return self._ask(lambda c: read_table_column_stats(c, table.id))

    def next_column_id(self, table: Table) -> int:
        """The first column id the table never used."""
        return self._ask(lambda c: definitions.next_column_id(c, table.id))
