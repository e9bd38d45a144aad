"""Faults of a table's statistics, which DuckDB trusts blindly (rules 1, 2, 3 and 11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Row, and_, case, false, func, or_, select, true

from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.faults.check import (
    MAKE_ANEW,
    Finder,
    Scope,
    error,
    of,
    warning,
)
from ducklake_spark.catalog.files import inlined_delete_table
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.scalars import parse_text
from ducklake_spark.spec.stats import without_usable_bounds
from ducklake_spark.spec.types import FLOATS, SIGNED, UNSIGNED, DataType, parse_type

_f, _d, _c = tables.data_file.c, tables.delete_file.c, tables.column.c
_s, _t, _n = tables.file_column_stats.c, tables.table_column_stats.c, tables.table_stats.c

_AFTER_A_REWRITE = (
    "DuckDB's rewrite_data_files leaves that behind. Rows of today are read rightly; expire the "
    "snapshots that see the file, or read them with this package."
)
_LIVE_COLUMN = and_(
    _c.table_id == _t.table_id, _c.column_id == _t.column_id, _c.end_snapshot.is_(None)
)
_SAID = (
    select(
        of(_t.table_id),
        _t.column_id,
        _c.column_name,
        _c.column_type,
        _t.min_value.label("table_min"),
        _t.max_value.label("table_max"),
    )
    .select_from(tables.table_column_stats.join(tables.column, _LIVE_COLUMN))
    # NaN among the values: DuckDB makes no use of bounds.
    .where(func.coalesce(_t.contains_nan, false()) == false())
)
_FILES_OF_COLUMN = select(_f.path, _f.end_snapshot, _s.min_value, _s.max_value).select_from(
    tables.file_column_stats.join(tables.data_file, _f.data_file_id == _s.data_file_id)
)
_STATS = (
    tables.table_column_stats.join(
        tables.file_column_stats, and_(_s.table_id == _t.table_id, _s.column_id == _t.column_id)
    )
    .join(tables.data_file, _f.data_file_id == _s.data_file_id)
    .join(tables.column, _LIVE_COLUMN)
)


def narrow_bounds(scope: Scope) -> Iterator[Fault]:
    """A table's bounds hold every value of every file that some snapshot sees."""
    said = {(row.relation_id, row.column_id): row for row in scope.rows(_SAID)}
    for extremes in scope.connection.execute(_extremes(scope.database)).all():
        row = said.get((extremes.table_id, extremes.column_id))
        if row is not None and _seem_outside(extremes, row):
            yield from _narrow_column(scope, row)


def _extremes(database: CatalogDatabase) -> Any:
    """The lowest and highest bounds of any file, in every way a database can compare them.

    One pass over the statistics of all files; which of the ways is right, the column's type says.
    """
    low, high = _s.min_value, _s.max_value
    ways = {"integer": database.integer, "number": database.number, "text": database.bytewise}
    lowest = (func.min(way(low)).label(f"low_{name}") for name, way in ways.items())
    highest = (func.max(way(high)).label(f"high_{name}") for name, way in ways.items())
    return select(_s.table_id, _s.column_id, *lowest, *highest).group_by(_s.table_id, _s.column_id)


def _seem_outside(extremes: Row[Any], said: Row[Any]) -> bool:
    kind = said.column_type.lower()
    if kind in SIGNED or kind in UNSIGNED:
        return _beyond(extremes.low_integer, extremes.high_integer, said, int)
    if kind in FLOATS or kind.startswith("decimal"):
        return _beyond(extremes.low_number, extremes.high_number, said, float)
    if kind == "boolean":  # true in some rows is 1 in others
        return (extremes.low_text, extremes.high_text) != (said.table_min, said.table_max)
    return _beyond(extremes.low_text, extremes.high_text, said, _bytes)


def _bytes(text: str) -> bytes:
    return text.encode()


def _beyond(low: Any, high: Any, said: Row[Any], compared: Callable[[Any], Any]) -> bool:
    pairs = ((low, said.table_min), (said.table_max, high))
    try:
        return any(
            compared(inner) < compared(outer)
            for inner, outer in pairs
            if inner is not None and outer is not None
        )
    except ValueError:
        return True  # no number: look closer


def _narrow_column(scope: Scope, said: Row[Any]) -> Iterator[Fault]:
    """The first file that today's snapshot sees, and the first that only others see."""
    found = scope.connection.execute(
        _FILES_OF_COLUMN.where(_s.table_id == said.relation_id, _s.column_id == said.column_id)
    )
    reported: set[bool] = set()
    for row in found:
        is_live = row.end_snapshot is None
        if is_live not in reported and _is_outside(row, said):
            reported.add(is_live)
            yield _narrow(scope, said, row)


def _narrow(scope: Scope, said: Row[Any], row: Row[Any]) -> Fault:
    severity, consequence, advice = (
        (Severity.ERROR, "DuckDB leaves out rows, or sorts them wrongly", MAKE_ANEW)
        if row.end_snapshot is None
        else (
            Severity.WARNING,
            f"DuckDB may leave out rows of snapshots before {row.end_snapshot}",
            _AFTER_A_REWRITE,
        )
    )
    return Fault(
        severity,
        "table-statistics-narrow",
        scope.name(said.relation_id),
        f"Column {said.column_name!r} is said to go from {said.table_min!r} to {said.table_max!r}, "
        f"and {row.path} has it from {row.min_value!r} to {row.max_value!r}: {consequence}.",
        advice,
    )


def _is_outside(row: Row[Any], said: Row[Any]) -> bool:
    try:
        data_type = parse_type(said.column_type)
    except InvalidDefinitionError:
        return False  # nested, or another check tells of it
    if without_usable_bounds(data_type):
        return False
    low, high = _value(row.min_value, data_type), _value(row.max_value, data_type)
    table_low, table_high = _value(said.table_min, data_type), _value(said.table_max, data_type)
    too_low = low is not None and table_low is not None and low < table_low
    too_high = high is not None and table_high is not None and high > table_high
    return too_low or too_high


def _value(text: str | None, data_type: DataType) -> Any:
    try:
        value = None if text is None else parse_text(text, data_type)
    except ValueError:
        return None
    return value if value == value else None  # NaN is no bound


# --- counts ---

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
_FLAGS = (
    select(of(_t.table_id), _t.column_id, _c.column_name, func.sum(_s.null_count).label("nulls"))
    .select_from(_STATS)
    .where(
        or_(
            and_(_t.contains_null == false(), _s.null_count > 0),
            and_(_t.contains_nan == false(), _s.contains_nan == true()),
        )
    )
    .group_by(_t.table_id, _t.column_id, _c.column_name)
)
# NaN is no bound, so that a column of NaN alone has none.
_HOLLOW = (
    select(of(_t.table_id), _t.column_id, _c.column_name, _c.column_type)
    .select_from(_STATS)
    .where(
        _t.min_value.is_(None),
        _t.max_value.is_(None),
        _t.extra_stats.is_(None),
        func.coalesce(_t.contains_nan, false()) == false(),
        _s.value_count > 0,
        _f.end_snapshot.is_(None),
    )
    .distinct()
)
_NOT_NULL = (
    "Column {column_name!r} is said to have no NULL or no NaN, and there are {nulls} NULLs or a "
    "NaN in files"
)


def _has_bounds(row: Row[Any]) -> bool:
    try:
        return not without_usable_bounds(parse_type(row.column_type))
    except InvalidDefinitionError:
        return False


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
    narrow_bounds,
    error(
        "table-statistics-narrow",
        _FLAGS.where(_f.end_snapshot.is_(None)),
        _NOT_NULL + ".",
        MAKE_ANEW,
    ),
    warning(
        "table-statistics-narrow",
        _FLAGS.where(_f.end_snapshot.is_not(None)),
        _NOT_NULL + " that only older snapshots see.",
        _AFTER_A_REWRITE,
    ),
    warning(
        "table-statistics-hollow",
        _HOLLOW,
        "Column {column_name!r} has values, and its row in ducklake_table_column_stats has no "
        "bounds: DuckDB takes the bounds of the next INSERT for those of the table. It leaves that "
        "behind itself, for long or unusual texts and when it rewrites a promoted column.",
        "Delete the row: then everybody knows that the bounds are unknown.",
        keep=_has_bounds,
    ),
    counts,
)
