"""Changes to definitions inside a transaction: schemas, tables, columns, views, comments."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from ducklake_spark.catalog import alter
from ducklake_spark.catalog.alter import Field
from ducklake_spark.catalog.local_changes import Entry
from ducklake_spark.catalog.local_reader import LocalReader
from ducklake_spark.catalog.macros import check_parses
from ducklake_spark.catalog.reader import Name, SnapshotReader, find_schema, qualified
from ducklake_spark.catalog.store import LakeFacts
from ducklake_spark.errors import (
    AlreadyExistsError,
    InvalidDefinitionError,
    NotFoundError,
    RefusedError,
    TransactionStateError,
)
from ducklake_spark.spec.model import (
    COMMENT,
    Macro,
    MacroImplementation,
    PartitionSpec,
    Schema,
    SortKey,
    SortOrder,
    Table,
    View,
)
from ducklake_spark.spec.names import (
    QualifiedName,
    check_identifier,
    check_text,
    directory_for,
    fold,
    uuid7,
)
from ducklake_spark.spec.options import normalise_option
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.types import DataType


class Definer(LocalReader):
    """A reader of base plus local changes that can change definitions."""

    def __init__(self, base: SnapshotReader, facts: LakeFacts) -> None:
        super().__init__(base, facts)
        self._local_ids = count(-1, -1)
        self._column_ids: dict[int, Iterator[int]] = {}
        self._ended = ""

    def _check_open(self) -> None:
        if self._ended:
            raise TransactionStateError(
                f"The transaction has {self._ended} already.", hint="Begin a new one."
            )

    def new_id(self) -> int:
        """An id for what is made here, until it is committed."""
        return next(self._local_ids)

    # --- schemas ---

    def create_schema(self, name: str) -> Schema:
        """Create an empty schema."""
        self._check_open()
        check_identifier(name, "schema")
        if find_schema(self, name):
            raise AlreadyExistsError(f"Schema {name!r} exists already.")
        unique = uuid7()
        schema = Schema(
            next(self._local_ids), unique, name, StoredPath(directory_for(name, unique))
        )
        self.changes.schemas[schema.id] = Entry(None, schema)
        return schema

    def drop_schema(self, name: str, *, cascade: bool = False) -> None:
        """Drop a schema; with `cascade` all that is in it."""
        self._check_open()
        schema = self.schema(name)
        tables, views = self.tables(name), self.views(name)
        macros = self.macros(name)
        if (tables or views or macros) and not cascade:
            raise RefusedError(
                f"Schema {name!r} still holds {len(tables)} tables, {len(views)} views "
                f"and {len(macros)} macros.",
                hint="Drop them first, or drop the schema with CASCADE.",
            )
        for entry in tables:
            self.drop_table(entry.name)
        for view in views:
            self.drop_view(view.name)
        # A macro without a schema keeps DuckDB from loading the lake.
        for macro in macros:
            self.drop_macro(macro.name)
        self.changes.schemas.setdefault(schema.id, Entry(schema, schema)).current = None

    # --- tables ---

    def create_table(
        self,
        name: Name,
        fields: Sequence[Field],
        *,
        partitioned_by: Sequence[str] = (),
        sorted_by: Sequence[str | SortKey] = (),
        comment: str | None = None,
        options: Mapping[str, object] | None = None,
        replace_existing: bool = False,
    ) -> Table:
        """Create a table; with `replace_existing` in place of one of that name.

        Small writes of DuckDB to it go to files too, unless the options set a
        ``data_inlining_row_limit``.
        """
        self._check_open()
        wanted = self._free_name(name, "table", Table if replace_existing else None)
        schema = self.schema(wanted.schema)
        unique = uuid7()
        path = StoredPath(directory_for(wanted.name, unique))
        location = self.location(schema, path)
        table = Table(
            id=next(self._local_ids),
            uuid=unique,
            schema_id=schema.id,
            name=wanted,
            path=path,
            location=location,
            columns=alter.new_columns(fields),
            tags=alter.with_tag({}, COMMENT, comment),
            mark=self._facts.mark_of(location),
        )
        chosen = {"data_inlining_row_limit": 0} | dict(options or {})
        normalised = dict(normalise_option(key, value) for key, value in chosen.items())
        self.changes.tables[table.id] = Entry(None, table)
        if partitioned_by:
            table = self.set_partitioning(wanted, partitioned_by)
        if sorted_by:
            table = self.set_sort_order(wanted, sorted_by)
        for key, value in normalised.items():
            self.changes.options[key, "table", table.id] = value
        return table

    def _free_name(
        self, name: Name, what: str, replaces: type[Table | View] | None
    ) -> QualifiedName:
        """The name, free to be taken; what it replaces is dropped."""
        wanted = qualified(name)
        check_identifier(wanted.name, what)
        wanted = QualifiedName(self.schema(wanted.schema).name, wanted.name)
        table, view = self.find_table(wanted), self.find_view(wanted)
        if table is not None and replaces is Table:
            self.drop_table(wanted)
        elif view is not None and replaces is View:
            self.drop_view(wanted)
        elif table is not None or view is not None:
            kind = "table" if table is not None else "view"
            raise AlreadyExistsError(
                f"There is already a {kind} {wanted}.", hint="Drop it first or use another name."
            )
        return wanted

    def drop_table(self, name: Name) -> None:
        """Drop a table; older snapshots keep it."""
        self._check_open()
        table = self.table(name)
        self._redefine(table, None)
        self.changes.data.pop(table.id, None)
        self.changes.options = {
            key: value
            for key, value in self.changes.options.items()
            if key[1:] != ("table", table.id)
        }

    def rename_table(self, name: Name, new_name: str) -> Table:
        """Give a table another name in its schema; its files stay where they are."""
        table = self.table(name)
        renamed = QualifiedName(table.name.schema, new_name)
        if fold(new_name) != fold(table.name.name):
            self._free_name(renamed, "table", None)
        return self._alter(table.name, lambda t: replace(t, name=renamed))

    def _redefine(self, before: Table, after: Table | None) -> None:
        entry = self.changes.tables.setdefault(before.id, Entry(before, before))
        entry.current = after

    def _alter(self, name: Name, change: Callable[[Table], Table]) -> Table:
        self._check_open()
        before = self.table(name)
        after = change(before)
        self._redefine(before, after)
        return after

    # --- columns ---

    def add_column(self, table: Name, field: Field, *, parent: str | None = None) -> Table:
        """Add a column, or a field to the struct at the dotted path `parent`."""
        return self._alter(
            table, lambda t: alter.add_column(t, parent, field, self._new_column_ids(t))
        )

    def _new_column_ids(self, table: Table) -> Iterator[int]:
        if table.id not in self._column_ids:
            first = max(column.id for column in table.walk()) + 1
            if table.id >= 0:
                first = max(first, self.base.next_column_id(table))
            self._column_ids[table.id] = count(first)
        return self._column_ids[table.id]

    def drop_column(self, table: Name, path: str) -> Table:
        """Drop a column, or the nested field at a dotted path."""
        return self._alter(table, lambda t: alter.drop_column(t, path))

    def rename_column(self, table: Name, path: str, new_name: str) -> Table:
        """Rename a column, or the nested field at a dotted path."""
        return self._alter(table, lambda t: alter.rename_column(t, path, new_name))

    def set_column_type(self, table: Name, path: str, data_type: DataType | str) -> Table:
        """Promote a column or nested field to a type that holds all its values."""
        return self._alter(table, lambda t: alter.set_type(t, path, data_type))

    def set_column_nullable(self, table: Name, path: str, nullable: bool) -> Table:
        """Set NOT NULL, which is refused at commit if there are NULLs, or drop it."""
        altered = self._alter(table, lambda t: alter.set_nullable(t, path, nullable))
        if not nullable:
            self.changes.required.add((altered.id, altered.column(path).id))
        return altered

    def set_column_default(
        self, table: Name, path: str, value: object = None, *, expression: str | None = None
    ) -> Table:
        """Set what new rows get, as a value or as an SQL expression; without either, drop it."""
        return self._alter(
            table, lambda t: alter.set_default(t, path, value, expression=expression)
        )

    def set_column_tag(self, table: Name, path: str, key: str, value: str | None) -> Table:
        """Set a tag of a column, or remove it by None."""
        return self._alter(table, lambda t: alter.set_column_tag(t, path, key, value))

    def comment_on_column(self, table: Name, path: str, text: str | None) -> Table:
        """Set the comment of a column, or remove it by None."""
        return self.set_column_tag(table, path, COMMENT, text)

    # --- layout and tags of a table ---

    def set_partitioning(self, table: Name, expressions: Sequence[str]) -> Table:
        """Partition new files by transforms such as ``month(ts)``; an empty list resets it."""

        def change(t: Table) -> Table:
            fields = alter.partition_fields(t, expressions)
            if fields == t.partition_fields:
                return t
            self._check_stays_stored(t)
            return replace(t, partition=PartitionSpec(next(self._local_ids), fields))

        return self._alter(table, change)

    def _check_stays_stored(self, table: Table) -> None:
        """A partitioning that begins and ends in one commit is in no catalog for its files."""
        spec = table.partition
        if spec is None or spec.id >= 0:
            return
        added = self.changes.seen(table).added.values()
        if any(file.partition_id == spec.id for file in added):
            raise RefusedError(
                f"{table.name} cannot be partitioned in another way: rows were added in this "
                "transaction under a partitioning that is not committed either.",
                hint="Commit first, or set the partitioning before rows are added.",
            )

    def set_sort_order(self, table: Name, keys: Sequence[str | SortKey]) -> Table:
        """Sort new files by keys such as ``ts desc nulls last``; an empty list resets it."""

        def change(t: Table) -> Table:
            parsed = alter.sort_keys(t, keys)
            if parsed == t.sort_keys:
                return t
            order = SortOrder(next(self._local_ids), parsed) if parsed else None
            return replace(t, sort=order)

        return self._alter(table, change)

    def set_table_tag(self, table: Name, key: str, value: str | None) -> Table:
        """Set a tag of a table, or remove it by None."""
        return self._alter(table, lambda t: replace(t, tags=alter.with_tag(t.tags, key, value)))

    def comment_on_table(self, table: Name, text: str | None) -> Table:
        """Set the comment of a table, or remove it by None."""
        return self.set_table_tag(table, COMMENT, text)

    # --- macros ---

    def create_macro(
        self,
        name: Name,
        implementation: MacroImplementation,
        *,
        tags: Mapping[str, str] | None = None,
        replace_existing: bool = False,
    ) -> Macro:
        """Create a macro; with `replace_existing` in place of one of that name.

        DuckDB reads all macros of a lake at once: its SQL must be such that DuckDB can parse it.
        """
        self._check_open()
        wanted = qualified(name)
        check_identifier(wanted.name, "macro")
        schema = self.schema(wanted.schema)
        wanted = QualifiedName(schema.name, wanted.name)
        if self.find_macro(wanted) is not None:
            if not replace_existing:
                raise AlreadyExistsError(f"There is already a function {wanted}.")
            self.drop_macro(wanted)
        check_text(implementation.sql, f"the text of {wanted}")
        check_parses(wanted, implementation)
        made = Macro(next(self._local_ids), schema.id, wanted, (implementation,), dict(tags or {}))
        self.changes.macros[made.id] = Entry(None, made)
        return made

    def drop_macro(self, name: Name) -> None:
        """Drop a macro; older snapshots keep it."""
        self._check_open()
        macro = self.find_macro(name)
        if macro is None:
            raise NotFoundError(f"The function {qualified(name)}")
        self.changes.macros.setdefault(macro.id, Entry(macro, macro)).current = None

    def find_macro(self, name: Name) -> Macro | None:
        """The macro of that name in an existing schema, if there is one."""
        wanted = qualified(name)
        return next((m for m in self.macros(wanted.schema) if m.name.folded == wanted.folded), None)

    # --- views ---

    def create_view(
        self,
        name: Name,
        sql: str,
        *,
        dialect: str = "duckdb",
        column_aliases: Sequence[str] = (),
        tags: Mapping[str, str] | None = None,
        replace_existing: bool = False,
    ) -> View:
        """Create a view; with `replace_existing` in place of one of that name.

        DuckDB runs the SQL whatever the dialect says, so it should be able to.
        """
        self._check_open()
        wanted = self._free_name(name, "view", View if replace_existing else None)
        if not sql.strip():
            raise InvalidDefinitionError(f"The view {wanted} has no query.")
        view = View(
            id=next(self._local_ids),
            uuid=uuid.uuid4(),
            schema_id=self.schema(wanted.schema).id,
            name=wanted,
            sql=check_text(sql, f"the query of {wanted}"),
            dialect=check_text(dialect, f"the dialect of {wanted}"),
            column_aliases=tuple(check_identifier(a, "column of a view") for a in column_aliases),
        )
        for key, value in (tags or {}).items():
            view = replace(view, tags=alter.with_tag(view.tags, key, value))
        self.changes.views[view.id] = Entry(None, view)
        return view

    def drop_view(self, name: Name) -> None:
        """Drop a view."""
        self._check_open()
        view = self.view(name)
        self._view_entry(view).current = None

    def rename_view(self, name: Name, new_name: str) -> View:
        """Give a view another name in its schema."""
        view = self.view(name)
        renamed = QualifiedName(view.name.schema, new_name)
        if fold(new_name) != fold(view.name.name):
            self._free_name(renamed, "view", None)
        return self._alter_view(name, lambda v: replace(v, name=renamed))

    def set_view_tag(self, name: Name, key: str, value: str | None) -> View:
        """Set a tag of a view, or remove it by None."""
        return self._alter_view(name, lambda v: replace(v, tags=alter.with_tag(v.tags, key, value)))

    def comment_on_view(self, name: Name, text: str | None) -> View:
        """Set the comment of a view, or remove it by None."""
        return self.set_view_tag(name, COMMENT, text)

    def _alter_view(self, name: Name, change: Callable[[View], View]) -> View:
        self._check_open()
        before = self.view(name)
        after = change(before)
        self._view_entry(before).current = after
        return after

    def _view_entry(self, view: View) -> Entry[View]:
        return self.changes.views.setdefault(view.id, Entry(view, view))
