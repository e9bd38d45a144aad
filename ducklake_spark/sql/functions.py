"""The table functions of a lake: what its history and its catalog hold, as rows."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.errors import StatementError
from ducklake_spark.scan import table_changes, table_deletions, table_insertions
from ducklake_spark.spec.model import Commit
from ducklake_spark.sql.parse_changes import arguments
from ducklake_spark.sql.scope import Scope, TableFunction
from ducklake_spark.sql.tokens import Cursor, literal

_SNAPSHOTS = (
    "snapshot_id bigint, snapshot_time timestamp, schema_version bigint, changes string, "
    "author string, commit_message string, commit_extra_info string"
)
_FILES = (
    "data_file string, data_file_size_bytes bigint, row_count bigint, delete_file string, "
    "deleted_rows bigint, begin_snapshot bigint, partition_values array<string>"
)


def evaluated(scope: Scope, text: str) -> tuple[list[Any], dict[str, Any]]:
    """Arguments as values: those by place, and those by name."""
    given = arguments(Cursor(f"({text})"))
    if not given:
        return [], {}
    listed = ", ".join(f"{expression} AS a{at}" for at, (_, expression) in enumerate(given))
    query = f"SELECT {listed}"
    row = scope.query(query).toArrow().to_pylist()[0]
    by_place = [row[f"a{at}"] for at, (name, _) in enumerate(given) if name is None]
    by_name = {name: row[f"a{at}"] for at, (name, _) in enumerate(given) if name is not None}
    return by_place, by_name


def _bound(
    scope: Scope, function: str, text: str, names: tuple[str, ...], required: int
) -> dict[str, Any]:
    """Arguments under the names of the parameters."""
    by_place, by_name = evaluated(scope, text)
    found = dict(zip(names, by_place, strict=False)) | by_name
    unknown = set(by_name) - set(names)
    if len(by_place) > len(names) or unknown or len(found) < required:
        raise StatementError(
            f"{function} takes {required} to {len(names)} arguments: {', '.join(names)}."
        )
    return found


def snapshots(scope: Scope, lake: str, text: str) -> DataFrame:
    """The history of the lake, oldest first."""
    _bound(scope, "snapshots", text, (), 0)
    commits = scope.workspace.lakes[lake].commits()
    rows = [_commit_row(commit) for commit in commits]
    return scope.workspace.session.spark.createDataFrame(rows, _SNAPSHOTS)


def _commit_row(commit: Commit) -> tuple[Any, ...]:
    changes = [{"change": change.kind.value, "object": str(change.target)} for change in
               commit.changes]  # fmt: skip
    found = commit.snapshot
    return (
        found.id,
        found.time,
        found.schema_version,
        json.dumps(changes),
        commit.author,
        commit.message,
        commit.extra_info,
    )


def options(scope: Scope, lake: str, text: str) -> DataFrame:
    """The options in force for the lake, or for a table."""
    found = _bound(scope, "options", text, ("table_name",), 0)
    reader = scope.reader(lake)
    table = reader.table(found["table_name"]) if found.get("table_name") else None
    rows = sorted(reader.options(table).items())
    return scope.workspace.session.spark.createDataFrame(rows, "option string, value string")


def list_files(scope: Scope, lake: str, text: str) -> DataFrame:
    """The data files of a table with their delete files."""
    found = _bound(scope, "list_files", text, ("table_name",), 1)
    reader = scope.reader(lake)
    rows = [
        (
            file.path,
            file.file_size_bytes,
            file.record_count,
            file.delete_file.path if file.delete_file else None,
            (file.delete_file.delete_count if file.delete_file else 0) + len(file.inlined_deletes),
            file.begin_snapshot,
            list(file.partition_values),
        )
        for file in reader.files(reader.table(found["table_name"]))
    ]
    return scope.workspace.session.spark.createDataFrame(rows, _FILES)


def _feed(name: str, read: Callable[..., DataFrame]) -> TableFunction:
    def function(scope: Scope, lake: str, text: str) -> DataFrame:
        names = ("table_name", "start_snapshot", "end_snapshot")
        found = _bound(scope, name, text, names, 3)
        catalog = scope.workspace.lakes[lake]
        start = _snapshot_id(scope, lake, found["start_snapshot"], is_start=True)
        end = _snapshot_id(scope, lake, found["end_snapshot"], is_start=False)
        return read(scope.workspace.session, catalog, found["table_name"], start, end)

    return function


def _snapshot_id(scope: Scope, lake: str, value: Any, *, is_start: bool) -> int:
    """A snapshot by its id or, as DuckDB does, the first or last one that a time leaves in."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    moment = value if isinstance(value, datetime.datetime) else scope.moment(literal(str(value)))
    catalog = scope.workspace.lakes[lake]
    if not is_start:
        return catalog.snapshot(timestamp=moment).id
    later = [c.snapshot.id for c in catalog.commits() if c.snapshot.time >= moment]
    if not later:
        raise StatementError(f"No snapshot of {lake} was made at {value} or later.")
    return later[0]


FUNCTIONS: Mapping[str, TableFunction] = {
    "snapshots": snapshots,
    "options": options,
    "list_files": list_files,
    "table_changes": _feed("table_changes", table_changes),
    "table_insertions": _feed("table_insertions", table_insertions),
    "table_deletions": _feed("table_deletions", table_deletions),
}
