"""Faults of what is said of a table's columns, which DuckDB trusts blindly (rules 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import BigInteger, Row, and_, bindparam, case, false, func, or_, select, true

from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.faults.check import (
    MAKE_ANEW,
    Finder,
    Scope,
    error,
    of,
    warning,
)
from ducklake_spark.catalog.faults.counts import full_tables
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.scalars import parse_text
from ducklake_spark.spec.stats import without_usable_bounds
from ducklake_spark.spec.types import FLOATS, SIGNED, UNSIGNED, DataType, parse_type

_f, _c = tables.data_file.c, tables.column.c
_s, _t = tables.file_column_stats.c, tables.table_column_stats.c

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


# --- what holds for all files of a column ---

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


# --- what DuckDB answers without a look at any file ---

# Columns of which a file has the very text of each bound: nearly all of them.
_FOUND = (
    select(of(_t.table_id), _t.column_id)
    .select_from(_STATS)
    .where(_f.end_snapshot.is_(None))
    .group_by(_t.table_id, _t.column_id)
    .having(
        func.max(case((_s.min_value == _t.min_value, 1), else_=0)) == 1,
        func.max(case((_s.max_value == _t.max_value, 1), else_=0)) == 1,
    )
)
_LIVE_BOUNDS = (
    select(_s.min_value, _s.max_value, _f.data_file_id)
    .select_from(
        tables.data_file.outerjoin(
            tables.file_column_stats,
            and_(
                _s.data_file_id == _f.data_file_id,
                _s.column_id == bindparam("column_id", type_=BigInteger),
            ),
        )
    )
    .where(_f.end_snapshot.is_(None), _f.table_id == bindparam("table_id", type_=BigInteger))
)


def trusted_bounds(scope: Scope) -> Iterator[Fault]:
    """Bounds are exact where the table holds as many rows as were ever added to it.

    DuckDB then answers min() and max() from them.
    """
    full = full_tables(scope)
    exact = {(row.relation_id, row.column_id) for row in scope.rows(_FOUND)} if full else set()
    for said in scope.rows(_SAID) if full else ():
        if said.relation_id in full and (said.relation_id, said.column_id) not in exact:
            parameters = {"table_id": said.relation_id, "column_id": said.column_id}
            files = scope.connection.execute(_LIVE_BOUNDS, parameters).all()
            if _is_inexact(said, files):
                yield Fault(
                    Severity.ERROR,
                    "table-statistics-inexact",
                    scope.name(said.relation_id),
                    f"Column {said.column_name!r} is said to go from {said.table_min!r} to "
                    f"{said.table_max!r}, and no file has these values: DuckDB answers min() and "
                    "max() from that, for the table holds all rows that were ever added.",
                    "Raise record_count of its row in ducklake_table_stats by one.",
                )


def _is_inexact(said: Row[Any], files: Sequence[Row[Any]]) -> bool:
    try:
        data_type = parse_type(said.column_type)
    except InvalidDefinitionError:
        return False
    if without_usable_bounds(data_type) or data_type.name in FLOATS:
        return False
    lowest = [_value(row.min_value, data_type) for row in files]
    highest = [_value(row.max_value, data_type) for row in files]
    low, high = _value(said.table_min, data_type), _value(said.table_max, data_type)
    if None in (low, high) or None in lowest or None in highest or not files:
        return False  # something is not known, or a file has NULL alone
    return bool(low < min(lowest) or high > max(highest))


FINDERS: tuple[Finder, ...] = (
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
    trusted_bounds,
)
