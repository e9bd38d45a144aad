"""Reads the history of a lake: its snapshots, and what each commit said and did."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, bindparam, select

from ducklake_spark.catalog.versions import VERSION, current_format, note_format
from ducklake_spark.errors import (
    CatalogDamagedError,
    ConfigError,
    NotFoundError,
    SnapshotExpiredError,
)
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import parse_changes
from ducklake_spark.spec.formats import Format
from ducklake_spark.spec.model import Commit, Snapshot

_s = tables.snapshot.c
_NEWEST_FIRST = select(tables.snapshot).order_by(_s.snapshot_id.desc())
_HIGHEST_ID = 2**63 - 1  # what a database can be asked for
_NEWEST = _NEWEST_FIRST.limit(1)
_WANTED = select(_s.snapshot_time).where(
    _s.snapshot_id == bindparam("snapshot_id", type_=BigInteger)
)
_EXISTING = select(_WANTED.scalar_subquery().label("snapshot_time"), VERSION)


def latest_snapshot(connection: Connection) -> Snapshot:
    row = connection.execute(_NEWEST).first()
    if row is None:
        raise CatalogDamagedError(
            "The catalog has no snapshot at all.",
            hint="Its table ducklake_snapshot lost its rows; restore it from a backup.",
        )
    return _snapshot(row)


def snapshot_by_id(connection: Connection, snapshot_id: int) -> Snapshot:
    try:
        wanted = operator.index(snapshot_id)
    except TypeError:
        raise ConfigError(
            f"{snapshot_id!r} is no version of the lake, for versions are whole numbers.",
            hint="Give the id of a snapshot, such as: version=3.",
        ) from None
    row = None
    if 0 <= wanted <= _HIGHEST_ID:
        query = select(tables.snapshot).where(_s.snapshot_id == wanted)
        row = connection.execute(query).first()
    if row is None:
        raise NotFoundError(f"Snapshot {snapshot_id}, {_range(connection)},")
    return _snapshot(row)


def require_snapshots(
    connection: Connection, read: Snapshot, others: Collection[int], lake: str
) -> Format:
    """Raise SnapshotExpiredError unless these snapshots exist; return the lake's format.

    Expiring a snapshot also deletes the rows that only this snapshot could see, so reading it
    afterwards finds empty tables. The check holds for what the same database transaction reads:
    both see one state of the catalog. `read` must also be unchanged: a server that comes back from
    a backup or a failover may have lost it, and another client may have used its ID again.
    """
    for snapshot_id in {read.id, *others}:
        row = connection.execute(_EXISTING, {"snapshot_id": snapshot_id}).one()
        note_format(connection, row.version, lake)
        if row.snapshot_time is None:
            raise SnapshotExpiredError(
                f"Snapshot {snapshot_id} of the lake {lake} was expired while it was being read. "
                "Nothing was changed."
            )
        if snapshot_id == read.id:
            check_same(read, row.snapshot_time, lake)
    return current_format(connection)


def check_same(read: Snapshot, time: datetime.datetime, lake: str) -> None:
    """Raise SnapshotExpiredError if the catalog now gives another time for a snapshot."""
    if time != read.time:
        raise SnapshotExpiredError(
            f"Snapshot {read.id} of the lake {lake} is no longer the one that was read: it was "
            f"made at {read.time.isoformat()}, and the catalog now says {time.isoformat()}. "
            "The catalog was restored from a backup or failed over. Nothing was changed."
        )


def snapshot_at(connection: Connection, when: datetime.datetime) -> Snapshot:
    """Return the state of the lake at a point in time, as DuckDB does.

    That is the snapshot with the latest time up to then, and of equal times the first one. The
    clocks of clients differ, so a newer snapshot may have an earlier time.
    """
    made = [(time, -snapshot_id) for snapshot_id, time in _times(connection, when) if time <= when]
    if not made:
        raise NotFoundError(f"A snapshot at {when.isoformat()}, {_range(connection)},")
    return snapshot_by_id(connection, -max(made)[1])


def first_snapshot_since(connection: Connection, when: datetime.datetime) -> Snapshot:
    """Return the snapshot with the earliest time from a point in time on, as DuckDB does."""
    made = [(time, snapshot_id) for snapshot_id, time in _times(connection, when) if time >= when]
    if not made:
        raise NotFoundError(f"A snapshot at {when.isoformat()} or later, {_range(connection)},")
    return snapshot_by_id(connection, min(made)[1])


def _times(
    connection: Connection, when: datetime.datetime
) -> Iterator[tuple[int, datetime.datetime]]:
    """Return the time of every snapshot, to be compared with a point in time.

    SQLite holds times as texts that other clients write in different ways, so they are compared
    here and not in the database.
    """
    if when.tzinfo is None:
        raise ConfigError(
            f"The time {when.isoformat()} has no time zone.",
            hint="Give one, such as: datetime.now(UTC).",
        )
    for row in connection.execute(select(_s.snapshot_id, _s.snapshot_time)):
        yield row.snapshot_id, row.snapshot_time


def read_commits(
    connection: Connection, after: int | None = None, up_to: int | None = None
) -> list[Commit]:
    """Snapshots in order with their changes; `after` is exclusive, `up_to` inclusive."""
    changes = tables.snapshot_changes
    conditions: list[ColumnElement[bool]] = []
    if after is not None:
        conditions.append(_s.snapshot_id > after)
    if up_to is not None:
        conditions.append(_s.snapshot_id <= up_to)
    query = (
        select(tables.snapshot, *(c for c in changes.c if c.name != "snapshot_id"))
        .select_from(tables.snapshot.outerjoin(changes, _s.snapshot_id == changes.c.snapshot_id))
        .where(*conditions)
        .order_by(_s.snapshot_id)
    )
    return [
        Commit(
            snapshot=_snapshot(row),
            changes=tuple(parse_changes(row.changes_made)),
            author=row.author,
            message=row.commit_message,
            extra_info=row.commit_extra_info,
        )
        for row in connection.execute(query)
    ]


def _snapshot(row: Row[Any]) -> Snapshot:
    return Snapshot(
        id=row.snapshot_id,
        time=row.snapshot_time,
        schema_version=row.schema_version,
        next_catalog_id=row.next_catalog_id,
        next_file_id=row.next_file_id,
    )


def _range(connection: Connection) -> str:
    newest = latest_snapshot(connection)
    row = connection.execute(select(tables.snapshot).order_by(_s.snapshot_id).limit(1)).one()
    return f"in a lake with snapshots {row.snapshot_id} to {newest.id}"
