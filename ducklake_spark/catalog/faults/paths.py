"""Faults of paths: out of the lake, nowhere, or scheduled for deletion while still in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Row, not_, null, or_, select
from sqlalchemy import Table as SqlTable

from ducklake_spark.catalog.faults.check import FROM_A_BACKUP, Finder, Scope, of
from ducklake_spark.catalog.file_lists import read_scheduled
from ducklake_spark.catalog.inventory import read_locations
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.paths import StoredPath, canonical, is_inside

_FILES: tuple[tuple[SqlTable, str], ...] = (
    (tables.data_file, "Data file"),
    (tables.delete_file, "Delete file"),
)


def paths(scope: Scope) -> Iterator[Fault]:
    """Relative paths stay in the lake; complete ones are of files added from elsewhere."""
    locations = read_locations(scope.connection, scope.data_path)
    for table, what in _FILES:
        c = table.c
        added = c.mapping_id if "mapping_id" in c else null()
        suspects = select(
            of(c.table_id), c.path, c.path_is_relative, added.label("mapping_id")
        ).where(or_(c.path.is_(None), c.path == "", c.path.like("%..%"), not_(c.path_is_relative)))
        for row in scope.rows(suspects):
            location = locations.get(row.relation_id, scope.data_path)
            found = _path(scope, row, location)
            if found is not None:
                severity, fault, problem, advice = found
                relation = scope.name(row.relation_id)
                yield Fault(severity, fault, relation, f"{what} {problem}", advice)


def _path(scope: Scope, row: Row[Any], location: str) -> tuple[Severity, str, str, str] | None:
    if not row.path:
        return Severity.ERROR, "path-missing", "without a path.", FROM_A_BACKUP
    if row.path_is_relative:
        if is_inside(location, StoredPath(row.path).under(location)):
            return None
        return (
            Severity.ERROR,
            "path-escapes",
            f"{row.path!r} is relative and leaves the table's folder: whoever can write to the "
            "catalog makes others read files by it.",
            "Find out who made it. If the file belongs to the table, store its complete path.",
        )
    if row.mapping_id is not None or is_inside(scope.data_path, row.path):
        return None
    return (
        Severity.WARNING,
        "path-outside-lake",
        f"{row.path!r} is not below the data path, and was not added as an existing file.",
        "Rewrite the table's data files to have it in the lake; clean-up never touches it.",
    )


def scheduled(scope: Scope) -> Iterator[Fault]:
    """No file is both in use and on the list of what clean-up deletes."""
    doomed = {canonical(f.path) for f in read_scheduled(scope.connection, scope.data_path)}
    if not doomed:
        return
    locations = read_locations(scope.connection, scope.data_path)
    for table, what in _FILES:
        columns = (of(table.c.table_id), table.c.path, table.c.path_is_relative)
        for row in scope.rows(select(*columns)):
            location = locations.get(row.relation_id, scope.data_path)
            path = StoredPath(row.path or "", bool(row.path_is_relative)).under(location)
            if canonical(path) in doomed:
                yield Fault(
                    Severity.ERROR,
                    "scheduled-while-in-use",
                    scope.name(row.relation_id),
                    f"{what} {path} is scheduled for deletion, and a snapshot still needs it.",
                    "Run no clean-up before its row is deleted from "
                    "ducklake_files_scheduled_for_deletion.",
                )


FINDERS: tuple[Finder, ...] = (paths, scheduled)
