"""Makes Parquet files that are there already part of a table."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from ducklake_spark import files as data_files
from ducklake_spark.catalog import Transaction
from ducklake_spark.maintain.targets import named


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file that became part of a table."""

    filename: str
    row_count: int


class _UndoError(Exception):
    """Ends a savepoint without its changes."""


def add_data_files(
    tx: Transaction,
    *,
    table_name: str,
    files: list[str],
    schema: str | None = None,
    hive_partitioning: bool = True,
    ignore_extra_columns: bool = False,
    allow_missing: bool = False,
    dry_run: bool = False,
) -> list[AddedFile]:
    """Add Parquet files to a table, where they are and as they are; paths may have wildcards.

    `allow_missing`: a column that a file lacks has its default there. `ignore_extra_columns`:
    those that the table lacks stay unread. `hive_partitioning`: folders such as ``region=eu/``
    are values.
    """
    rows = []
    with suppress(_UndoError), tx.savepoint():
        added = data_files.add_data_files(
            tx,
            named(table_name, schema),
            files,
            allow_missing=allow_missing,
            ignore_extra_columns=ignore_extra_columns,
            hive_partitioning=hive_partitioning,
        )
        rows = [AddedFile(file.path, file.record_count) for file in added]
        if dry_run:
            raise _UndoError
    return rows
