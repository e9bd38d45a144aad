"""Faults of what is counted of a table: rows, bytes and row ids (rules 3 and 11)."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import case, func, or_, select

from ducklake_spark.catalog.faults.check import MAKE_ANEW, Finder, Scope, error, of
from ducklake_spark.catalog.files import inlined_delete_table
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity

_f, _d, _n = tables.data_file.c, tables.delete_file.c, tables.table_stats.c


_LIVE_DELETES = (
    select(_d.data_file_id, func.max(_d.delete_count).label("deleted"))
    .where(_d.end_snapshot.is_(None))
    .group_by(_d.data_file_id)
    .subquery()
)
# Sizes of merged files are not those that were added up.
_OWN_SIZE = case((_f.partial_max.is_(None), _f.file_size_bytes), else_=0)
_LIVE = (
    select(
        _f.table_id,
        func.sum(_f.record_count - func.coalesce(_LIVE_DELETES.c.deleted, 0)).label("rows"),
        func.sum(_OWN_SIZE).label("bytes"),
    )
    .select_from(
        tables.data_file.outerjoin(_LIVE_DELETES, _LIVE_DELETES.c.data_file_id == _f.data_file_id)
    )
    .where(_f.end_snapshot.is_(None))
    .group_by(_f.table_id)
    .subquery()
)


def counts(scope: Scope) -> Iterator[Fault]:
    """What was ever added to a table is no less than what it holds."""
    query = (
        select(of(_n.table_id), tables.table_stats, _LIVE.c.rows, _LIVE.c.bytes)
        .select_from(tables.table_stats.join(_LIVE, _LIVE.c.table_id == _n.table_id))
        .where(
            or_(
                _n.record_count < _LIVE.c.rows,
                _n.file_size_bytes < _LIVE.c.bytes,
                _n.record_count.is_(None),
                _n.next_row_id.is_(None),
            )
        )
    )
    for row in scope.rows(query):
        live = row.rows - _inlined_deletes(scope, row.relation_id)
        what = f"{row.record_count} rows and {row.file_size_bytes} bytes"
        if (row.record_count or 0) < live or (row.file_size_bytes or 0) < row.bytes:
            yield Fault(
                Severity.ERROR,
                "table-counts-too-low",
                scope.name(row.relation_id),
                f"ducklake_table_stats says that {what} were ever added to the table, which holds "
                f"{live} rows and {row.bytes} bytes.",
                "Set the counts of its row in ducklake_table_stats to at least what it holds.",
            )


def _inlined_deletes(scope: Scope, table_id: int) -> int:
    name = inlined_delete_table(table_id)
    if not scope.database.table_exists(scope.connection, name):
        return 0
    gone = tables.inlined_table(name, "file_id")
    query = select(func.count()).select_from(gone)
    count: int = scope.connection.execute(query).scalar_one()
    return count


def full_tables(scope: Scope) -> set[int]:
    """Tables that hold as many rows as were ever added to them."""
    query = (
        select(of(_n.table_id))
        .select_from(tables.table_stats.join(_LIVE, _LIVE.c.table_id == _n.table_id))
        .where(_n.record_count == _LIVE.c.rows, _n.record_count > 0)
    )
    return {row.relation_id for row in scope.rows(query)}


_WITHOUT_STATS = (
    select(of(_f.table_id), func.count().label("files"))
    .select_from(tables.data_file.outerjoin(tables.table_stats, _n.table_id == _f.table_id))
    .where(_n.table_id.is_(None))
    .group_by(_f.table_id)
)
_STATS_TWICE = (
    select(of(_n.table_id), func.count().label("rows"))
    .group_by(_n.table_id)
    .having(func.count() > 1)
)
FINDERS: tuple[Finder, ...] = (
    error(
        "table-statistics-missing",
        _WITHOUT_STATS,
        "The table has {files} data files and no row in ducklake_table_stats: DuckDB's next INSERT "
        "gives row ids away again and leaves out rows.",
        "Let nobody write to it with DuckDB. " + MAKE_ANEW,
    ),
    error(
        "table-statistics-twice",
        _STATS_TWICE,
        "ducklake_table_stats has {rows} rows for the table, where one belongs.",
        "Delete all but the one with the highest counts.",
    ),
    counts,
)
