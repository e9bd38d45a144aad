"""Takes all rows of data files out of a table.

A file of which rows are deleted in the catalog (FORMAT 1.16) does not end: DuckDB's list of changes
would report those rows once more, and lose all others over a range of snapshots. It keeps a delete
file of all the rest, as DuckDB has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ducklake_spark.catalog import Name, Transaction
from ducklake_spark.spec.model import DataFile, Table
from ducklake_spark.spec.positions import SortedPositions
from ducklake_spark.storage.delete_files import StagedDeleteFile, stage_delete
from ducklake_spark.storage.failures import files_of
from ducklake_spark.storage.recorded import check_row_counts

_THREADS = 8


def truncate(tx: Transaction, name: Name) -> None:
    """Delete all rows of a table; adding files afterwards overwrites it."""
    table = tx.table(name)
    files = tx.recorded_files(table)
    if any(file.inlined_deletes for file in files):
        files = tx.files(table)  # these files are opened: check their paths
    end_files(tx, table, files)
    tx.delete_inlined(table.name, [row.row_id for row in tx.inlined_rows(table)])


def end_files(tx: Transaction, table: Table, files: Sequence[DataFile]) -> None:
    """Delete all rows of data files."""

    def stage(file: DataFile) -> tuple[int, StagedDeleteFile]:
        is_left = np.ones(file.record_count, bool)
        gone = np.array(file.inlined_deletes, np.int64)
        is_left[gone[gone < file.record_count]] = False
        rest = SortedPositions([np.flatnonzero(is_left)])
        return file.id, stage_delete(table, file, rest, tx.snapshot.id + 1)

    with files_of(table.name):
        check_row_counts((file for file in files if file.inlined_deletes), table.name)
    tx.end_files(table.name, [file.id for file in files if not file.inlined_deletes])
    with files_of(table.name), ThreadPoolExecutor(_THREADS) as pool:
        staged = dict(pool.map(stage, (file for file in files if file.inlined_deletes)))
    tx.delete_rows(table.name, staged)
