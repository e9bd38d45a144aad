"""Files that several rows name: an existing file can be added twice, or to two tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, ColumnElement, Connection, FromClause, not_, select

from ducklake_spark.spec.paths import StoredPath, canonical

_MANY = 500


@dataclass(frozen=True, slots=True)
class LeavingFile:
    """A file whose row goes: the row's id, what it says, and the complete path."""

    id: int
    stored: StoredPath
    path: str


def named_no_more(
    connection: Connection,
    key: Column[int],
    leaving: Sequence[LeavingFile],
    locations: Mapping[int, str],
) -> list[LeavingFile]:
    """Those that no row which stays names as well, each file once.

    `key` is the id of rows; `locations` are the directories of the tables.
    """
    ids = {file.id for file in leaving}
    c = key.table.c
    columns = (key.label("id"), c.table_id, c.path, c.path_is_relative)
    named: set[str] = set()
    for condition in _conditions(key.table, leaving):
        for row in connection.execute(select(*columns).where(condition)):
            if row.id not in ids:
                stored = StoredPath(row.path, bool(row.path_is_relative))
                named.add(canonical(stored.under(locations.get(row.table_id, ""))))
    files = {canonical(file.path): file for file in leaving}
    return [file for path, file in files.items() if path not in named]


def _conditions(table: FromClause, leaving: Sequence[LeavingFile]) -> Iterator[ColumnElement[bool]]:
    """Rows that may name them: by a complete path, however it is written, or by an end of one."""
    if leaving:
        yield not_(table.c.path_is_relative)
    ends = sorted({end for file in leaving for end in _ends(file)})
    for at in range(0, len(ends), _MANY):
        yield table.c.path.in_(ends[at : at + _MANY])


def _ends(file: LeavingFile) -> Collection[str]:
    if file.stored.is_relative:
        return (file.stored.path,)
    parts = file.path.split("/")
    return ["/".join(parts[at:]) for at in range(1, len(parts))]
