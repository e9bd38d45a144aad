"""Lists of all files of a lake: those that snapshots need, and those that wait to be deleted."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from ducklake_spark.catalog.inventory import read_locations
from ducklake_spark.spec import tables
from ducklake_spark.spec.paths import StoredPath

_MANY = 500


@dataclass(frozen=True, slots=True)
class ScheduledFile:
    """A file to be deleted, by its complete path and as the row has it."""

    id: int
    stored: StoredPath
    path: str
    since: datetime.datetime


def read_scheduled(connection: Connection, data_path: str) -> list[ScheduledFile]:
    """The files to be deleted, in the order in which they came to be that."""
    f = tables.files_scheduled_for_deletion
    rows = connection.execute(select(f).order_by(f.c.schedule_start, f.c.data_file_id))
    found = []
    for row in rows:
        stored = StoredPath(row.path, row.path_is_relative)
        path = stored.under(data_path)
        found.append(ScheduledFile(row.data_file_id, stored, path, row.schedule_start))
    return found


def forget_scheduled(connection: Connection, files: Collection[ScheduledFile]) -> None:
    """Remove the rows of files."""
    f = tables.files_scheduled_for_deletion
    ordered = list(files)
    for at in range(0, len(ordered), _MANY):
        some = ordered[at : at + _MANY]
        ids, paths = [file.id for file in some], [file.stored.path for file in some]
        connection.execute(delete(f).where(f.c.data_file_id.in_(ids), f.c.path.in_(paths)))


def read_named(connection: Connection, data_path: str) -> set[str]:
    """The complete paths of all data and delete files of all snapshots."""
    locations = read_locations(connection, data_path)
    found = set()
    for table in (tables.data_file, tables.delete_file):
        columns = (table.c.table_id, table.c.path, table.c.path_is_relative)
        for row in connection.execute(select(*columns)):
            stored = StoredPath(row.path, row.path_is_relative)
            found.add(stored.under(locations.get(row.table_id, data_path)))
    return found
