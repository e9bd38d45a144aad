"""What a commit verifies against the newest snapshot, beyond the matrix of conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from ducklake_spark.catalog.compaction import kinds_of
from ducklake_spark.catalog.conflicts import Mine, conflict, phrase
from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.files import read_files
from ducklake_spark.catalog.inlined import read_inlined_rows
from ducklake_spark.catalog.local_changes import (
    DataChanges,
    Entry,
    LocalChanges,
    LocalFile,
    changed,
)
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import Change
from ducklake_spark.spec.changes import ChangeKind as Kind
from ducklake_spark.spec.model import Column, Commit, DataFile, Table
from ducklake_spark.spec.names import fold

_MANY = 500


def what_i_did(changes: LocalChanges, definitions: Sequence[Change]) -> Mine:
    """A transaction's doings as far as others can be in their way."""
    mine = Mine(list(definitions))
    for table, data in changes.written():
        mine.names[table.id] = str(table.name)
        if data.searched:
            mine.searched_tables.add(table.id)
        mine.changes += [Change(kind, table.id) for kind in _kinds(data)]
    defined: list[tuple[int, Entry[Any]]] = [*changed(changes.tables), *changed(changes.views)]
    for object_id, entry in (*defined, *changed(changes.macros)):
        for known in (entry.base, entry.current):
            if known is not None:
                mine.names[object_id] = str(known.name)
        if entry.current is not None:
            mine.used_schemas.add(entry.current.schema_id)
            if entry.base is not None:
                mine.redefined.add(object_id)
    for object_id, schema in changed(changes.schemas):
        if schema.base is not None and schema.current is None:
            mine.names[object_id] = schema.base.name
            mine.dropped_schemas.add(fold(schema.base.name))
    return mine


def _kinds(data: DataChanges) -> list[Kind]:
    kinds = []
    if data.added:
        kinds.append(Kind.INSERTED_INTO_TABLE)
    if data.ended or data.deletes:
        kinds.append(Kind.DELETED_FROM_TABLE)
    if data.inlined_deletes:
        kinds.append(Kind.INLINED_DELETE)
    return kinds + kinds_of(data.compactions)


def check_files(
    connection: Connection, changes: LocalChanges, mine: Mine, theirs: Sequence[Commit]
) -> None:
    """Two deletes get along unless they touched the same data file."""
    for table, data in changes.written():
        touched = data.ended | {i: local.file for i, local in data.deletes.items()}
        token = Change(Kind.DELETED_FROM_TABLE, table.id)
        others = [commit for commit in theirs if token in commit.changes]
        if not touched or not others:
            continue
        # A flush puts deletes under the snapshots in which they happened: they look like old ones.
        flush = Change(Kind.INLINE_FLUSH, table.id)
        flushed = any(flush in commit.changes for commit in others)
        if flushed or _were_touched(connection, touched, theirs[0].snapshot.id):
            raise conflict(phrase(token, mine), others[-1], token)


def _were_touched(connection: Connection, files: dict[int, DataFile], since: int) -> bool:
    """Whether somebody ended one of the files, or gave it another delete file."""
    data, gone = tables.data_file.c, tables.delete_file.c
    ids = list(files)
    for at in range(0, len(ids), _MANY):
        some = ids[at : at + _MANY]
        living = select(data.data_file_id).where(
            data.data_file_id.in_(some), data.end_snapshot.is_(None)
        )
        alive: set[int] = set(connection.scalars(living))
        newest = func.coalesce(gone.partial_max, gone.begin_snapshot)
        rows = connection.execute(
            select(gone.data_file_id, gone.delete_file_id, newest.label("newest")).where(
                gone.data_file_id.in_(some), gone.end_snapshot.is_(None)
            )
        )
        deletes = {row.data_file_id: row for row in rows}
        if not alive.issuperset(some) or any(row.newest >= since for row in deletes.values()):
            return True
        for file_id in some:
            known, now = files[file_id].delete_file, deletes.get(file_id)
            if (known.id if known else None) != (now.delete_file_id if now else None):
                return True
    return False


# --- NOT NULL ---


def check_not_null(
    connection: Connection, database: CatalogDatabase, head: int, changes: LocalChanges
) -> None:
    """A column becomes NOT NULL only if it is proven that it holds no NULL."""
    for table_id, entry in changes.tables.items():
        if entry.current is None:
            continue
        before = {c.id: c for c in entry.base.columns} if entry.base else {}
        data = changes.seen(entry.current)
        for column in entry.current.columns:
            known = before.get(column.id)
            was_nullable = known is not None and known.nullable
            if column.nullable or not (was_nullable or (table_id, column.id) in changes.required):
                continue
            unproven = sum(not _is_filled(file, column) for file in data.added.values())
            nulls = 0
            # Rows that were there show a column added here as its first default.
            is_filled = column.initial_default is not None if known is None else not known.nullable
            if entry.base is not None and not is_filled:
                old = _unfilled(connection, database, head, entry.current, column, data)
                unproven, nulls = unproven + old[0], old[1]
            if unproven or nulls:
                raise _has_nulls(entry.current, column, unproven, nulls)


def _is_filled(file: LocalFile, column: Column) -> bool:
    """Whether a file of this transaction is proven to hold no NULL in a column."""
    written = next((c for c in file.written_for.columns if c.id == column.id), None)
    if written is None:
        return column.initial_default is not None
    if not written.nullable:
        return True
    stats = next((s for s in file.new.stats if s.column_id == column.id), None)
    return stats is not None and stats.null_count == 0


def _unfilled(
    connection: Connection,
    database: CatalogDatabase,
    head: int,
    table: Table,
    column: Column,
    data: DataChanges,
) -> tuple[int, int]:
    """How many committed files are not proven to be without NULL, and NULLs in inlined rows."""
    committed = read_files(connection, database, head, table, stats_of=[column.id])
    stats = [file.stats.get(column.id) for file in committed if file.id not in data.ended]
    inlined = [
        row
        for row in read_inlined_rows(connection, database, head, table)
        if row.row_id not in data.inlined_deletes
    ]
    unproven = sum(1 for s in stats if s is None or s.null_count != 0)
    return unproven, sum(1 for row in inlined if row.values[column.id] is None)


def _has_nulls(table: Table, column: Column, files: int, rows: int) -> InvalidDefinitionError:
    return InvalidDefinitionError(
        f"Column {column.name!r} of {table.name} cannot become NOT NULL: {files} of its "
        f"files and {rows} of its inlined rows hold NULL, or cannot be proven not to.",
        hint="Update the rows that are NULL, compact the table if they were deleted, "
        "then try again.",
    )
