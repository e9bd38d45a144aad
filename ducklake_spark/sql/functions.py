"""The table functions of a lake: what its history and its catalog hold, as rows."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.errors import StatementError
from ducklake_spark.scan import table_changes, table_deletions, table_insertions
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.sql.arguments import Parameter, Signature, evaluated
from ducklake_spark.sql.procedures import PROCEDURES, Procedure, located
from ducklake_spark.sql.scope import Scope, TableFunction
from ducklake_spark.sql.tokens import literal

_NONE = inspect.Parameter.empty
_FEED = (
    Parameter("table_name", str, _NONE, takes_null=False),
    Parameter("start_snapshot", object, _NONE, takes_null=False),
    Parameter("end_snapshot", object, _NONE, takes_null=False),
    Parameter("schema", str, None, takes_null=True),
)


def _told(procedure: Procedure) -> TableFunction:
    """What CALL would show, as rows of a query."""

    def function(scope: Scope, lake: str, text: str) -> DataFrame:
        given = evaluated(scope, text)
        return procedure.frame(scope.workspace, lake, given, scope.time_zone())

    return function


def _refused(name: str) -> TableFunction:
    """What changes a lake is no part of a query, which may be run twice or not at all."""

    def function(_: Scope, lake: str, text: str) -> DataFrame:
        raise StatementError(
            f"{name} changes the lake, so that no query can read from it.",
            hint=f"Run it by itself: CALL {lake}.{name}({text}).",
        )

    return function


def _feed(name: str, read: Callable[..., DataFrame]) -> TableFunction:
    signature = Signature(name, _FEED, NoneType)

    def function(scope: Scope, lake: str, text: str) -> DataFrame:
        found = signature.bound(evaluated(scope, text), scope.time_zone())
        catalog = scope.workspace.lakes[lake]
        start = _snapshot_id(scope, lake, found["start_snapshot"], is_start=True)
        end = _snapshot_id(scope, lake, found["end_snapshot"], is_start=False)
        at = located(scope.workspace, lake, found)
        name = QualifiedName(at["schema"], at["table_name"])
        return read(scope.workspace.session, catalog, name, start, end)

    return function


def _snapshot_id(scope: Scope, lake: str, value: Any, *, is_start: bool) -> int:
    """A snapshot by its id or, as DuckDB does, the first or last one that a time leaves in."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    moment = value if isinstance(value, datetime.datetime) else scope.moment(literal(str(value)))
    catalog = scope.workspace.lakes[lake]
    if is_start:
        return catalog.first_snapshot_since(moment).id
    return catalog.snapshot(timestamp=moment).id


FUNCTIONS: Mapping[str, TableFunction] = {
    **{name: _told(p) if p.tells else _refused(name) for name, p in PROCEDURES.items()},
    "table_changes": _feed("table_changes", table_changes),
    "table_insertions": _feed("table_insertions", table_insertions),
    "table_deletions": _feed("table_deletions", table_deletions),
}
