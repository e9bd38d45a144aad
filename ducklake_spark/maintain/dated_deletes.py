"""Delete files that know the snapshot of each delete, for rows and deletes the catalog held."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.catalog import HistoricDeletes
from ducklake_spark.spec.model import ChangedFile, DeleteFile, InlinedRow, NewDataFile, Table
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.positions import History
from ducklake_spark.storage.delete_files import read_history, stage_history
from ducklake_spark.storage.failures import files_of
from ducklake_spark.storage.footers import read_row_ids

Written = list[StoredPath]


def deletes_of_rows(
    table: Table, rows: Sequence[InlinedRow], file: NewDataFile, written: Written
) -> HistoricDeletes | None:
    """What is deleted of rows that are in a file now; the file itself says where they are."""
    ended = {
        (row.row_id, row.begin_snapshot): row.end_snapshot
        for row in rows
        if row.end_snapshot is not None
    }
    if not ended:
        return None
    path = file.path.under(table.location)
    with files_of(table.name):
        places = enumerate(read_row_ids(path))
    deletes = {at: ended[key] for at, key in places if key in ended}
    return _staged(table, path, History.of(deletes), written)


def consolidated(table: Table, changed: ChangedFile, written: Written) -> HistoricDeletes:
    """All deletes from a data file, those in the catalog and those in files, as one file."""
    with files_of(table.name):
        history = read_history(changed.delete_files, changed.inlined_deletes)
    path = changed.file.path
    return _staged(table, path, history, written, changed.end_snapshot, changed.delete_files)


def _staged(
    table: Table,
    path: str,
    history: History,
    written: Written,
    end_snapshot: int | None = None,
    replaces: tuple[DeleteFile, ...] = (),
) -> HistoricDeletes:
    staged = stage_history(table, path, history)
    written.append(staged.path)
    return HistoricDeletes(
        path=staged.path,
        delete_count=staged.delete_count,
        file_size_bytes=staged.file_size_bytes,
        footer_size=staged.footer_size,
        begin_snapshot=int(history.snapshots.min()),
        partial_max=int(history.snapshots.max()),
        end_snapshot=end_snapshot,
        replaces=replaces,
    )
