"""Reads what may hold a table's changes between two snapshots: files, deletes, inlined rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import BigInteger, Connection, and_, bindparam, or_, select

from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.files import (
    data_file_of,
    delete_file_of,
    read_inlined_deletes,
    rows_of,
)
from ducklake_spark.catalog.history import read_commits
from ducklake_spark.catalog.inlined import read_inlined_changes
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import ChangeKind
from ducklake_spark.spec.model import ChangedFile, DataFile, DeleteFile, Table, TableChanges

_d, _x = tables.data_file.c, tables.delete_file.c
_START, _END, _TABLE = (bindparam(name, type_=BigInteger) for name in ("start", "end", "table_id"))
_BEGUN = and_(_d.begin_snapshot <= _END, or_(_d.begin_snapshot >= _START, _d.partial_max >= _START))
_ENDED = _d.end_snapshot.between(_START, _END)
_FILES = select(tables.data_file).where(_d.table_id == _TABLE)
_DELETES = (
    select(tables.delete_file)
    .where(_x.table_id == _TABLE, _x.begin_snapshot <= _END)
    .order_by(_x.begin_snapshot)
)


def read_changes(
    connection: Connection, database: CatalogDatabase, start: int, end: int, table: Table
) -> TableChanges:
    """Everything between two snapshots, both included; who asks must look at rows to be exact."""
    bounds = {"start": start, "end": end, "table_id": table.id}
    deletes = _delete_files(connection, bounds, table)
    inlined = read_inlined_deletes(connection, database, end, table.id)
    files = _files(connection, bounds, table, {*deletes, *inlined})
    rewrites = _rewrites(connection, start, end, table)
    return TableChanges(
        start=start,
        end=end,
        files=tuple(
            ChangedFile(
                file,
                ended if ended is not None and ended <= end and ended not in rewrites else None,
                tuple(deletes.get(file.id, ())),
                inlined.get(file.id, {}),
            )
            for file, ended in files
        ),
        rows=tuple(read_inlined_changes(connection, database, start - 1, end, table)),
        rewrites=rewrites,
    )


def read_files_with_inlined_deletes(
    connection: Connection, database: CatalogDatabase, snapshot_id: int, table: Table
) -> list[ChangedFile]:
    """The files of any snapshot from which the catalog itself holds deletes, with all deletes."""
    inlined = read_inlined_deletes(connection, database, snapshot_id, table.id)
    if not inlined:
        return []
    bounds = {"start": 0, "end": snapshot_id, "table_id": table.id}
    deletes = _delete_files(connection, bounds, table)
    rows = rows_of(connection, _FILES.params(bounds), _d.data_file_id, sorted(inlined))
    return [
        ChangedFile(
            data_file_of(row, table.location),
            row.end_snapshot,
            tuple(deletes.get(row.data_file_id, ())),
            inlined[row.data_file_id],
        )
        for row in rows
        if row.data_file_id in inlined
    ]


def _files(
    connection: Connection, bounds: Mapping[str, int], table: Table, deleted_from: Collection[int]
) -> Iterable[tuple[DataFile, int | None]]:
    """Files that began or ended then, and those with deletes; with their ends."""
    begun_or_ended = connection.execute(_FILES.where(or_(_BEGUN, _ENDED)), bounds)
    rows = {row.data_file_id: row for row in begun_or_ended}
    others = sorted(set(deleted_from) - set(rows))
    query = _FILES.params(bounds).where(
        _d.begin_snapshot <= _END, or_(_d.end_snapshot.is_(None), _d.end_snapshot >= _START)
    )
    rows |= {row.data_file_id: row for row in rows_of(connection, query, _d.data_file_id, others)}
    return [
        (data_file_of(row, table.location), row.end_snapshot) for _, row in sorted(rows.items())
    ]


def _delete_files(
    connection: Connection, bounds: Mapping[str, int], table: Table
) -> Mapping[int, list[DeleteFile]]:
    found: defaultdict[int, list[DeleteFile]] = defaultdict(list)
    for row in connection.execute(_DELETES, bounds):
        found[row.data_file_id].append(delete_file_of(row, table.location))
    return found


def _rewrites(connection: Connection, start: int, end: int, table: Table) -> frozenset[int]:
    return frozenset(
        commit.snapshot.id
        for commit in read_commits(connection, start - 1, end)
        for change in commit.changes
        if change.kind is ChangeKind.REWRITE_DELETE and change.target == table.id
    )
