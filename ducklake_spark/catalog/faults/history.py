"""Faults of the history: snapshots, their counters, and what each commit says it did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Row, func, select, union_all
from sqlalchemy import Table as SqlTable

from ducklake_spark.catalog.faults.check import (
    FROM_A_BACKUP,
    LAKE,
    Finder,
    Scope,
    error,
    of,
    warning,
)
from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import Change, ChangeKind, parse_changes
from ducklake_spark.spec.faults import Fault, Severity

_DATA = {ChangeKind.INSERTED_INTO_TABLE, ChangeKind.INLINED_INSERT}
_NOT_DEFINITIONS = _DATA | {
    ChangeKind.DELETED_FROM_TABLE,
    ChangeKind.INLINED_DELETE,
    ChangeKind.INLINE_FLUSH,
    ChangeKind.MERGE_ADJACENT,
    ChangeKind.REWRITE_DELETE,
    ChangeKind.COMPACTED_TABLE,
}
_SAY_NOTHING_FALSE = (
    "Let the commits that wait go through one at a time, or put the changes into words that other "
    "clients know: UPDATE ducklake_snapshot_changes SET changes_made = NULL WHERE snapshot_id = …"
)
_ANOTHER_COMMENT = (
    "Reattach the lake in every session, and find out which client wrote this commit. A further "
    "change, such as a COMMENT ON TABLE, gives the lake a new version that all will notice."
)

_s, _c = tables.snapshot.c, tables.snapshot_changes.c


def snapshots(scope: Scope) -> Iterator[Fault]:
    """Counters only grow, and grow where other clients rely on it (rules 4, 5 and 14)."""
    if scope.ids is not None:
        return
    query = (
        select(tables.snapshot, _c.snapshot_id.label("said"), _c.changes_made)
        .select_from(
            tables.snapshot.outerjoin(tables.snapshot_changes, _s.snapshot_id == _c.snapshot_id)
        )
        .order_by(_s.snapshot_id)
    )
    before: Row[Any] | None = None
    for row in scope.connection.execute(query):
        yield from _snapshot(row, before)
        before = row


def _snapshot(row: Row[Any], before: Row[Any] | None) -> Iterator[Fault]:
    def fault(severity: Severity, name: str, problem: str, advice: str) -> Fault:
        return Fault(severity, name, LAKE, f"Snapshot {row.snapshot_id} {problem}", advice)

    if row.said is None:
        problem = "does not say what it changed."
        advice = "Nothing needs to be done: it counts as a commit that is in nobody's way."
        yield fault(Severity.WARNING, "changes-missing", problem, advice)
    try:
        changes = parse_changes(row.changes_made)
    except CatalogDamagedError as error:
        problem = (
            f"says what it changed in words that make other clients' commits fail: {error.message}"
        )
        yield fault(Severity.ERROR, "changes-unreadable", problem, _SAY_NOTHING_FALSE)
        changes = []
    if before is None:
        return
    for counter in ("schema_version", "next_catalog_id", "next_file_id"):
        now, then = getattr(row, counter), getattr(before, counter)
        if now < then:
            problem = f"has {counter} {now}, less than the {then} of snapshot {before.snapshot_id}."
            yield fault(Severity.ERROR, "counter-falls", problem, FROM_A_BACKUP)
    if row.snapshot_time < before.snapshot_time:
        problem = f"is older than snapshot {before.snapshot_id}: {row.snapshot_time}."
        advice = "Set the clocks of the machines that write; time travel by id is not affected."
        yield fault(Severity.WARNING, "time-runs-backwards", problem, advice)
    if row.snapshot_id == before.snapshot_id + 1:  # else what was between has expired
        yield from (fault(*found) for found in _counters(row, before, changes))


def _counters(
    row: Row[Any], before: Row[Any], changes: list[Change]
) -> Iterator[tuple[Severity, str, str, str]]:
    defined = [change for change in changes if change.kind not in _NOT_DEFINITIONS]
    steps = row.schema_version - before.schema_version
    if defined and steps == 0:
        yield (
            Severity.ERROR,
            "schema-version-unchanged",
            f"has {defined[0]} and the schema version of the snapshot before: sessions that are "
            "attached go on with the old definitions.",
            _ANOTHER_COMMENT,
        )
    if steps > 1:
        yield (
            Severity.WARNING,
            "schema-version-gap",
            f"raises the schema version from {before.schema_version} to {row.schema_version}.",
            "Find out which client wrote this commit; readers are not affected.",
        )
    added = [change for change in changes if change.kind in _DATA]
    if added and row.next_file_id == before.next_file_id:
        yield (
            Severity.ERROR,
            "file-counter-unchanged",
            f"has {added[0]} and the next_file_id of the snapshot before: sessions that are "
            "attached go on with old statistics, and may miss rows.",
            "Reattach the lake in every session; the next INSERT raises the counter.",
        )


# --- ids ---


def _ids(*columns: tuple[SqlTable, str]) -> Any:
    parts = [
        select(
            table.c[name].label("id"),
            (table.c.table_id if "table_id" in table.c else table.c[name]).label("owner"),
        )
        for table, name in columns
    ]
    return union_all(*parts).subquery()


_CATALOG_IDS = _ids(
    (tables.schema, "schema_id"),
    (tables.table, "table_id"),
    (tables.view, "view_id"),
    (tables.macro, "macro_id"),
    (tables.partition_info, "partition_id"),
    (tables.sort_info, "sort_id"),
)
_FILE_IDS = _ids(
    (tables.data_file, "data_file_id"),
    (tables.delete_file, "delete_file_id"),
    (tables.column_mapping, "mapping_id"),
)


def _beyond(ids: Any, counter: str) -> Any:
    newest = select(func.max(_s[counter])).scalar_subquery()
    return select(of(ids.c.owner), ids.c.id, newest.label("counter")).where(ids.c.id >= newest)


_GIVEN_TWICE = (
    "The next commit would give this id away a second time. Let nobody write, and set the counter "
    "of the newest row of ducklake_snapshot above it."
)

FINDERS: tuple[Finder, ...] = (
    snapshots,
    warning(
        "dangling-changes",
        select(_c.snapshot_id)
        .select_from(
            tables.snapshot_changes.outerjoin(tables.snapshot, _s.snapshot_id == _c.snapshot_id)
        )
        .where(_s.snapshot_id.is_(None)),
        "ducklake_snapshot_changes tells of snapshot {snapshot_id}, which the lake does not have.",
        "Nobody reads the row; it can be deleted.",
    ),
    error(
        "id-beyond-counter",
        _beyond(_CATALOG_IDS, "next_catalog_id"),
        "The id {id} is in use, and next_catalog_id is {counter}.",
        _GIVEN_TWICE,
    ),
    error(
        "id-beyond-counter",
        _beyond(_FILE_IDS, "next_file_id"),
        "The file or mapping id {id} is in use, and next_file_id is {counter}.",
        _GIVEN_TWICE,
    ),
)
