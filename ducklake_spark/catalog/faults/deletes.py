"""Faults of delete files, and of deletes that are inlined in the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import func, or_, select

from ducklake_spark.catalog.definitions import FOREVER
from ducklake_spark.catalog.faults.check import (
    FROM_A_BACKUP,
    RELATION,
    Finder,
    Scope,
    error,
    newest_snapshot,
    of,
    warning,
)
from ducklake_spark.catalog.files import inlined_delete_table
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault
from ducklake_spark.spec.model import DELETE_FORMATS

_d, _f = tables.delete_file.c, tables.data_file.c
_WITH_DATA = tables.delete_file.join(tables.data_file, _f.data_file_id == _d.data_file_id)
_END = func.coalesce(_d.end_snapshot, FOREVER)
_NEXT_BEGIN = func.lead(_d.begin_snapshot).over(
    partition_by=_d.data_file_id, order_by=(_d.begin_snapshot, _END, _d.delete_file_id)
)
_SUCCESSIVE = (
    select(
        _d.table_id,
        _d.data_file_id,
        _d.delete_file_id,
        _END.label("end"),
        _NEXT_BEGIN.label("next_begin"),
        _f.end_snapshot.label("data_end"),
    )
    .select_from(_WITH_DATA)
    .subquery()
)
_TWO_AT_ONCE = select(of(_SUCCESSIVE.c.table_id), _SUCCESSIVE).where(
    _SUCCESSIVE.c.next_begin < _SUCCESSIVE.c.end
)
_TWO = "Data file {data_file_id} has two delete files from snapshot {next_begin} on"


def inlined_deletes(scope: Scope) -> Iterator[Fault]:
    """Positions that DuckDB keeps in the catalog name rows of files that are there."""
    present = scope.database.table_names(scope.connection)
    for table_id in scope.names:
        name = inlined_delete_table(table_id)
        if name not in present or not scope.covers(table_id):
            continue
        gone = tables.inlined_table(name, "file_id", "row_id", "begin_snapshot")
        query = (
            select(gone.c.file_id, func.count().label("rows"))
            .select_from(gone.outerjoin(tables.data_file, _f.data_file_id == gone.c.file_id))
            .where(
                or_(
                    _f.data_file_id.is_(None),
                    gone.c.row_id < 0,
                    gone.c.row_id >= _f.record_count,
                    gone.c.begin_snapshot > newest_snapshot(),
                )
            )
            .group_by(gone.c.file_id)
        )
        yield from error(
            "inlined-delete-of-nothing",
            query.add_columns(func.min(gone.c.file_id * 0 + table_id).label(RELATION)),
            "{rows} inlined deletes are of rows that data file {file_id} does not have, or of a "
            "snapshot to come: count(*) is too low.",
            f"Delete these rows from {name}.",
        )(scope)


FINDERS: tuple[Finder, ...] = (
    error(
        "two-delete-files",
        _TWO_AT_ONCE.where(_SUCCESSIVE.c.data_end.is_(None)),
        _TWO + ": DuckDB reads its rows twice.",
        "End the older delete file where the newer one begins if that one holds its positions too, "
        "or delete the newer one and delete the rows again.",
    ),
    warning(
        "two-delete-files",
        _TWO_AT_ONCE.where(_SUCCESSIVE.c.data_end.is_not(None)),
        _TWO + ", where only snapshots before {data_end} see it: DuckDB leaves that when it "
        "flushes inlined deletes after a rewrite, and then reads these snapshots' rows twice.",
        "This package reads them rightly. Expire the snapshots before {data_end}.",
    ),
    error(
        "delete-count-impossible",
        select(of(_d.table_id), tables.delete_file, _f.record_count)
        .select_from(_WITH_DATA)
        .where(
            or_(_d.delete_count.is_(None), _d.delete_count < 0, _d.delete_count > _f.record_count)
        ),
        "Delete file {delete_file_id} ({path}) deletes {delete_count} of the {record_count} rows "
        "of data file {data_file_id}: count(*) is answered from that.",
        "Set it to what the file holds (verify with files => true says what that is).",
    ),
    error(
        "delete-file-of-another-table",
        select(of(_d.table_id), tables.delete_file)
        .select_from(_WITH_DATA)
        .where(_d.table_id != _f.table_id),
        "Delete file {delete_file_id} ({path}) is of data file {data_file_id}, which is another "
        "table's.",
        FROM_A_BACKUP,
    ),
    error(
        "delete-before-data",
        select(of(_d.table_id), tables.delete_file, _f.begin_snapshot.label("data_begin"))
        .select_from(_WITH_DATA)
        .where(_d.begin_snapshot < _f.begin_snapshot),
        "Delete file {delete_file_id} ({path}) begins at snapshot {begin_snapshot}, and its data "
        "file at {data_begin}.",
        FROM_A_BACKUP,
    ),
    error(
        "delete-file-size-missing",
        select(of(_d.table_id), tables.delete_file).where(
            or_(_d.file_size_bytes.is_(None), _d.file_size_bytes <= 0)
        ),
        "Delete file {delete_file_id} ({path}) has the size {file_size_bytes}: DuckDB cannot read "
        "it.",
        "Set it to the size that the file has.",
    ),
    warning(
        "unsupported-file",
        select(of(_d.table_id), tables.delete_file).where(
            or_(_d.encryption_key.is_not(None), _d.format.not_in(DELETE_FORMATS))
        ),
        "Delete file {delete_file_id} ({path}) is encrypted, or its format is not supported "
        "({format}): this package cannot read it.",
        "Rewrite the table's data files with DuckDB (ducklake_rewrite_data_files).",
    ),
    inlined_deletes,
)
