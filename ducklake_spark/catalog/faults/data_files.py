"""Faults of data files, as far as their rows in the catalog show them: counts, row ids, stats."""

from __future__ import annotations

from sqlalchemy import and_, func, or_, select

from ducklake_spark.catalog.faults.check import (
    MAKE_ANEW,
    Check,
    Finder,
    error,
    of,
    warning,
)
from ducklake_spark.spec import tables

_f, _c, _s = tables.data_file.c, tables.column.c, tables.file_column_stats.c
# DuckDB's files say 0 values and 0 NULLs for the first two, and nothing of the others.
_UNCOUNTED = (
    "interval",
    "timetz",
    "variant",
    "geometry",
    "unknown",
    "null",
    "struct",
    "list",
    "map",
)

_FIXED_BY_VERIFYING = "Set it to what the file holds (verify with files => true says what that is)."


def _file(problem: str) -> str:
    return "Data file {data_file_id} ({path}) " + problem


_WITH_STATS = select(_s.data_file_id).distinct().subquery()

# A flushed or merged file begins at the lowest of its row ids and holds the others itself.
_NUMBERED = (
    select(
        _f.table_id,
        _f.data_file_id,
        _f.path,
        _f.row_id_start,
        (_f.row_id_start + _f.record_count).label("row_id_end"),
    )
    .where(_f.row_id_start.is_not(None), _f.partial_max.is_(None), _f.record_count > 0)
    .subquery()
)
_NEXT_START = func.lead(_NUMBERED.c.row_id_start).over(
    partition_by=_NUMBERED.c.table_id,
    order_by=(_NUMBERED.c.row_id_start, _NUMBERED.c.data_file_id),
)
_ROW_IDS = select(_NUMBERED, _NEXT_START.label("next_start")).subquery()
_ts = tables.table_stats.c

# Of each root column its newest row: files are older than some of its definitions.
_ROOTS = (
    select(_c.table_id, _c.column_id, func.max(func.lower(_c.column_type)).label("column_type"))
    .where(_c.parent_column.is_(None))
    .group_by(_c.table_id, _c.column_id)
    .having(func.min(_c.column_type) == func.max(_c.column_type))
    .subquery()
)
_ROOT_STATS = tables.file_column_stats.join(
    tables.data_file, _f.data_file_id == _s.data_file_id
).join(_ROOTS, and_(_ROOTS.c.table_id == _s.table_id, _ROOTS.c.column_id == _s.column_id))


def _unfit(fault: str, condition: object, problem: str, advice: str) -> Check:
    query = select(of(_f.table_id), tables.data_file).where(condition)  # type: ignore[arg-type]
    return error(fault, query, _file(problem), advice)


FINDERS: tuple[Finder, ...] = (
    _unfit(
        "record-count-impossible",
        or_(_f.record_count.is_(None), _f.record_count < 0),
        "has the record count {record_count}: count(*) is answered from it.",
        _FIXED_BY_VERIFYING,
    ),
    _unfit(
        "file-size-missing",
        or_(_f.file_size_bytes.is_(None), _f.file_size_bytes <= 0),
        "has the size {file_size_bytes}: DuckDB cannot read it.",
        _FIXED_BY_VERIFYING,
    ),
    warning(
        "unsupported-file",
        select(of(_f.table_id), tables.data_file).where(
            or_(_f.encryption_key.is_not(None), func.lower(_f.file_format) != "parquet")
        ),
        _file("is encrypted, or is no Parquet file: this package cannot read it."),
        "Read it with DuckDB, or copy the table to a lake without encryption.",
    ),
    error(
        "row-ids-overlap",
        select(of(_ROW_IDS.c.table_id), _ROW_IDS).where(
            _ROW_IDS.c.next_start < _ROW_IDS.c.row_id_end
        ),
        _file(
            "has the row ids from {row_id_start} to {row_id_end}, and the next file begins at "
            "{next_start}: two rows have the same id, and an UPDATE or DELETE takes both."
        ),
        MAKE_ANEW,
    ),
    error(
        "row-ids-beyond-counter",
        select(of(_NUMBERED.c.table_id), _NUMBERED, _ts.next_row_id)
        .select_from(_NUMBERED.join(tables.table_stats, _ts.table_id == _NUMBERED.c.table_id))
        .where(_NUMBERED.c.row_id_end > _ts.next_row_id),
        _file("has row ids up to {row_id_end}, and the table's next one is {next_row_id}."),
        "Set next_row_id of the table's row in ducklake_table_stats to at least the higher number.",
    ),
    warning(
        "file-without-statistics",
        select(of(_f.table_id), tables.data_file)
        .select_from(
            tables.data_file.outerjoin(_WITH_STATS, _WITH_STATS.c.data_file_id == _f.data_file_id)
        )
        .where(
            _f.end_snapshot.is_(None), _f.record_count > 0, _WITH_STATS.c.data_file_id.is_(None)
        ),
        _file("has no statistics: every query reads it."),
        "Rewrite the table's data files, which gives them statistics.",
    ),
    error(
        "file-statistics-impossible",
        select(of(_f.table_id), tables.data_file, _s.column_id, _s.value_count, _s.null_count)
        .select_from(_ROOT_STATS)
        .where(
            _ROOTS.c.column_type.not_in(_UNCOUNTED),
            _s.value_count + _s.null_count != _f.record_count,
        ),
        _file(
            "has {record_count} rows, and in column {column_id} {value_count} values and "
            "{null_count} NULLs: conditions on NULL may skip it wrongly."
        ),
        "Delete the file's row for this column in ducklake_file_column_stats; rewriting the "
        "table's data files makes a right one.",
    ),
    warning(
        "file-listed-twice",
        select(of(_f.table_id), _f.path, func.count().label("rows"), func.max(_f.data_file_id))
        .where(_f.end_snapshot.is_(None))
        .group_by(_f.table_id, _f.path, _f.path_is_relative)
        .having(func.count() > 1),
        "The file {path} is in the table {rows} times, and so are its rows.",
        "If that is not wanted, delete the rows once; as long as it is, do not compact the table.",
    ),
)
