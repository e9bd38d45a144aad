"""Forgets snapshots, and every row of the catalog that only they could see (FORMAT 1.18).

Set-based throughout: the database decides by itself which rows are dead. Files are not touched;
those that are needed no more are put on the list of files to delete. No snapshot is made, and the
newest one always stays, so no commit is in the way of this one or waits for it.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    and_,
    delete,
    exists,
    or_,
    select,
)
from sqlalchemy.schema import DropTable

from ducklake_spark.catalog.batch import insert_into
from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.file_rows import scheduled_row
from ducklake_spark.catalog.files import inlined_delete_table
from ducklake_spark.catalog.inventory import read_locations
from ducklake_spark.catalog.shared_files import LeavingFile, named_no_more
from ducklake_spark.spec import tables
from ducklake_spark.spec.paths import StoredPath

_MANY = 500
_s = tables.snapshot.c
# What belongs to one data file each.
_OF_FILES = (tables.file_column_stats, tables.file_variant_stats, tables.file_partition_value)
# What belongs to a table and is kept as long as that: ended columns, for their ids are never given
# out again, and ended partitionings and mappings, for files may be laid out by them. The table's
# own rows, too: DuckDB looks up under which name and with which columns inlined rows began.
_OF_TABLES = (
    tables.column,
    tables.column_tag,
    tables.partition_info,
    tables.partition_column,
    tables.sort_info,
    tables.sort_expression,
    tables.schema_versions,
    tables.table_stats,
    tables.table_column_stats,
    tables.inlined_data_tables,
    tables.column_mapping,
)
# What goes by itself once no snapshot is left that sees it.
_HISTORIES = (tables.column_tag, tables.tag, tables.view, tables.macro, tables.schema)


def expire(
    connection: Connection,
    database: CatalogDatabase,
    snapshot_ids: Collection[int],
    data_path: str,
    now: datetime.datetime,
) -> None:
    """Forget these snapshots, of which none is the newest."""
    _forget(connection, sorted(snapshot_ids))
    _Cleaning(connection, database, data_path, now).run()


def _forget(connection: Connection, snapshot_ids: Sequence[int]) -> None:
    runs = list(_runs(snapshot_ids))
    for table in (tables.snapshot, tables.snapshot_changes):
        for at in range(0, len(runs), _MANY):
            some = runs[at : at + _MANY]
            within = [table.c.snapshot_id.between(first, last) for first, last in some]
            connection.execute(delete(table).where(or_(*within)))


def _runs(ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each stretch of ids without gaps."""
    for _, stretch in groupby(enumerate(ids), key=lambda pair: pair[1] - pair[0]):
        found = [snapshot_id for _, snapshot_id in stretch]
        yield found[0], found[-1]


def _is_dead(table: FromClause) -> ColumnElement[bool]:
    """Whether no snapshot that is left sees a row."""
    seen = exists().where(
        _s.snapshot_id >= table.c.begin_snapshot, _s.snapshot_id < table.c.end_snapshot
    )
    return and_(table.c.end_snapshot.is_not(None), ~seen)


def _gone(table: Table, key: str) -> Select[Any]:
    """The ids of the objects of which no snapshot that is left sees any row."""
    # Not a subquery for each row: catalogs of other clients have no index for it.
    dead, alive = table.alias("dead"), table.alias("alive")
    lives = select(alive.c[key]).where(~_is_dead(alive))
    return select(dead.c[key]).where(_is_dead(dead), dead.c[key].not_in(lives))


@dataclass(frozen=True, slots=True)
class _Cleaning:
    """Removes what the snapshots that are left do not see."""

    connection: Connection
    database: CatalogDatabase
    data_path: str
    now: datetime.datetime

    def run(self) -> None:
        gone_tables = _gone(tables.table, "table_id")
        self._clean_inlined(gone_tables)
        self._clean_files(gone_tables)
        self._clean_options(gone_tables)
        of_gone = tables.name_mapping.c.mapping_id.in_(
            select(tables.column_mapping.c.mapping_id).where(
                tables.column_mapping.c.table_id.in_(gone_tables)
            )
        )
        self._delete(tables.name_mapping, of_gone)
        for table in _OF_TABLES:
            self._delete(table, table.c.table_id.in_(gone_tables))
        for owner, key in ((tables.table, "table_id"), (tables.view, "view_id")):
            self._delete(tables.tag, tables.tag.c.object_id.in_(_gone(owner, key)))
        self._clean_macros()
        self._clean_sort_orders()
        for table in _HISTORIES:
            self._delete(table, _is_dead(table))
        self._delete(tables.table, tables.table.c.table_id.in_(gone_tables))

    def _delete(self, table: Table, condition: ColumnElement[bool]) -> None:
        self.connection.execute(delete(table).where(condition))

    # --- files ---

    def _clean_files(self, gone_tables: Select[Any]) -> None:
        data, deletes = tables.data_file, tables.delete_file
        # A file that was added while its table was dropped has no end of its own.
        dead = or_(_is_dead(data), data.c.table_id.in_(gone_tables))
        dead_ids = select(data.c.data_file_id).where(dead)
        without_data = or_(_is_dead(deletes), deletes.c.data_file_id.in_(dead_ids))
        locations = read_locations(self.connection, self.data_path)
        self._schedule(data.c.data_file_id, dead, locations)
        self._schedule(deletes.c.delete_file_id, without_data, locations)
        for table in _OF_FILES:
            self._delete(table, table.c.data_file_id.in_(dead_ids))
        self._delete(deletes, without_data)
        self._delete(data, dead)

    def _schedule(
        self,
        key: Column[int],
        dead: ColumnElement[bool],
        locations: Mapping[int, str],
    ) -> None:
        """Let files be deleted, unless a row that stays names them, too."""
        c = key.table.c
        columns = (key.label("id"), c.table_id, c.path, c.path_is_relative)
        leaving = []
        for row in self.connection.execute(select(*columns).where(dead)).all():
            stored = StoredPath(row.path, bool(row.path_is_relative))
            location = locations.get(row.table_id)
            if location is not None or not stored.is_relative:
                leaving.append(LeavingFile(row.id, stored, stored.under(location or "")))
        rows = [
            scheduled_row(self.data_path, file.id, file.path, self.now)
            for file in named_no_more(self.connection, key, leaving, locations)
        ]
        if rows:
            self.connection.execute(insert_into(tables.files_scheduled_for_deletion), rows)

    # --- rows in the catalog ---

    def _clean_inlined(self, gone_tables: Select[Any]) -> None:
        there = self.database.table_names(self.connection)
        gone = set(self.connection.scalars(gone_tables))
        known = tables.inlined_data_tables
        rows = self.connection.execute(select(known.c.table_id, known.c.table_name)).all()
        for row in rows:
            if row.table_name in there:
                inlined = tables.inlined_table(row.table_name, "begin_snapshot", "end_snapshot")
                self._clean_or_drop(inlined, _is_dead(inlined), row.table_id in gone)
        data = tables.data_file
        dead_ids = select(data.c.data_file_id).where(_is_dead(data))
        table_ids: Sequence[int] = self.connection.scalars(
            select(tables.table.c.table_id).distinct()
        ).all()
        for table_id in table_ids:
            name = inlined_delete_table(table_id)
            if name in there:
                inlined = tables.inlined_table(name, "file_id")
                self._clean_or_drop(inlined, inlined.c.file_id.in_(dead_ids), table_id in gone)

    def _clean_or_drop(self, table: Table, condition: ColumnElement[bool], is_gone: bool) -> None:
        if is_gone:
            self.connection.execute(DropTable(table))
        else:
            self._delete(table, condition)

    def _clean_options(self, gone_tables: Select[Any]) -> None:
        m = tables.metadata_table
        gone_schemas = _gone(tables.schema, "schema_id")
        self._delete(m, and_(m.c.scope == "table", m.c.scope_id.in_(gone_tables)))
        self._delete(m, and_(m.c.scope == "schema", m.c.scope_id.in_(gone_schemas)))

    def _clean_macros(self) -> None:
        gone = _gone(tables.macro, "macro_id")
        for table in (tables.macro_impl, tables.macro_parameters):
            self._delete(table, table.c.macro_id.in_(gone))

    def _clean_sort_orders(self) -> None:
        info, expression = tables.sort_info, tables.sort_expression
        dead = select(info.c.sort_id).where(_is_dead(info))
        self._delete(expression, expression.c.sort_id.in_(dead))
        self._delete(info, _is_dead(info))
