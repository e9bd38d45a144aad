"""Faults of the tables that hold inlined rows (FORMAT 1.16)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Row, func, or_, select

from ducklake_spark.catalog.faults.check import (
    FROM_A_BACKUP,
    RELATION,
    Finder,
    Scope,
    error,
    newest_snapshot,
    of,
)
from ducklake_spark.catalog.inlined import columns_of_version, rows_table, stored_names
from ducklake_spark.errors import CatalogDamagedError, InvalidDefinitionError
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.names import fold

_r, _n = tables.inlined_data_tables.c, tables.table_stats.c
_NAME = re.compile(r"ducklake_inlined_(?:data|delete)_(\d+)(?:_\d+)?", re.ASCII)
_REGISTERED = select(of(_r.table_id), _r.table_name, _r.schema_version, _n.next_row_id).select_from(
    tables.inlined_data_tables.outerjoin(tables.table_stats, _n.table_id == _r.table_id)
)


def inlined_tables(scope: Scope) -> Iterator[Fault]:
    """Every registered table is there, and its rows live in the lake's history."""
    present = scope.database.table_names(scope.connection)
    registered = list(scope.rows(_REGISTERED))
    for row in registered:
        if row.table_name not in present:
            yield _fault(
                scope,
                Severity.ERROR,
                "inlined-table-missing",
                row.relation_id,
                f"The inlined table {row.table_name} is registered and not there.",
                "If it had rows, restore the catalog from a backup; else delete its row from "
                "ducklake_inlined_data_tables.",
            )
            continue
        yield from _shape(scope, row)
        yield from _rows(scope, row)
    yield from _unregistered(scope, present, {row.table_name for row in registered})


def _shape(scope: Scope, row: Row[Any]) -> Iterator[Fault]:
    stored = set(stored_names(scope.connection, row.table_name))
    try:
        columns = columns_of_version(scope.connection, row.relation_id, row.schema_version)
    except (CatalogDamagedError, InvalidDefinitionError):
        return  # the checks of columns say what is wrong with them
    missing = [column.name for column in columns if fold(column.name) not in stored]
    if missing:
        yield _fault(
            scope,
            Severity.ERROR,
            "inlined-table-shape",
            row.relation_id,
            f"The inlined table {row.table_name} lacks {', '.join(map(repr, missing))}, which the "
            f"table had at schema version {row.schema_version}: it cannot be read.",
            FROM_A_BACKUP,
        )


def _rows(scope: Scope, row: Row[Any]) -> Iterator[Fault]:
    t = rows_table(scope.connection, row.table_name).c
    owner = func.min(t.row_id * 0 + row.relation_id).label(RELATION)
    newest = newest_snapshot()
    beyond = or_(
        t.end_snapshot < t.begin_snapshot, t.begin_snapshot > newest, t.end_snapshot > newest
    )
    yield from error(
        "inlined-rows-lifetime",
        select(owner, func.count().label("rows")).where(beyond).having(func.count() > 0),
        f"{{rows}} rows of {row.table_name} live in snapshots that cannot be.",
        FROM_A_BACKUP,
    )(scope)
    twice = (
        select(owner, t.row_id, func.count().label("rows"))
        .where(t.end_snapshot.is_(None))
        .group_by(t.row_id)
        .having(func.count() > 1)
    )
    yield from error(
        "inlined-row-twice",
        twice,
        f"{row.table_name} has {{rows}} living rows with the row id {{row_id}}.",
        f"Keep one of them and delete the others from {row.table_name}.",
    )(scope)
    yield from _row_ids(scope, row, t)


def _row_ids(scope: Scope, row: Row[Any], t: Any) -> Iterator[Fault]:
    query = select(func.max(t.row_id))
    highest: int | None = scope.connection.execute(query).scalar_one()
    if highest is not None and row.next_row_id is None:
        yield _fault(
            scope,
            Severity.ERROR,
            "table-statistics-missing",
            row.relation_id,
            "The table has inlined rows and no row in ducklake_table_stats.",
            FROM_A_BACKUP,
        )
    elif highest is not None and highest >= row.next_row_id:
        yield _fault(
            scope,
            Severity.ERROR,
            "row-ids-beyond-counter",
            row.relation_id,
            f"An inlined row has the row id {highest}, and the table's next one is "
            f"{row.next_row_id}.",
            "Set next_row_id of the table's row in ducklake_table_stats above it.",
        )


def _unregistered(scope: Scope, present: set[str], registered: set[str]) -> Iterator[Fault]:
    for name in sorted(present - registered):
        match = _NAME.fullmatch(name)
        if match is None or not scope.covers(int(match[1])):
            continue
        is_lost = int(match[1]) not in scope.names
        if name.startswith("ducklake_inlined_data_") or is_lost:
            yield _fault(
                scope,
                Severity.WARNING,
                "inlined-table-unregistered",
                int(match[1]),
                f"The table {name} is there and nobody knows of it.",
                f"If its rows are not missed, run in the catalog: DROP TABLE {name}.",
            )


def _fault(
    scope: Scope, severity: Severity, fault: str, table_id: int, problem: str, advice: str
) -> Fault:
    return Fault(severity, fault, scope.name(table_id), problem, advice)


FINDERS: tuple[Finder, ...] = (inlined_tables,)
