"""Files of which many rows are deleted are written once more without these."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.catalog import Catalog, MovedRows, Rewrite, SnapshotReader
from ducklake_spark.errors import ConfigError
from ducklake_spark.maintain.compacting import (
    CompactedFile,
    Operation,
    commit,
    compact_tables,
    compact_with_duckdb,
    discarded_on_error,
)
from ducklake_spark.maintain.packing import Pack, packed
from ducklake_spark.maintain.rows_of_files import write_packs
from ducklake_spark.scan import ROW_ID
from ducklake_spark.scan.types import refuse_unwritable
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile, Table
from ducklake_spark.spec.types import FLOATS
from ducklake_spark.storage.failures import files_of
from ducklake_spark.storage.recorded import check_row_counts
from ducklake_spark.write.options import target_file_size

_NAME = "rewrite_data_files"
_THRESHOLD = "0.95"


def rewrite_data_files(
    catalog: Catalog,
    session: Session,
    *,
    table_name: str | None = None,
    schema: str | None = None,
    delete_threshold: float | None = None,
    dry_run: bool = False,
) -> list[CompactedFile]:
    """Rewrite files of which at least that fraction of the rows is deleted.

    Without a threshold the option rewrite_delete_threshold counts, then 0.95. Older snapshots keep
    the files as they were.
    """
    if delete_threshold is not None and not 0 <= delete_threshold <= 1:
        raise ConfigError(f"delete_threshold is from 0 to 1, and not {delete_threshold}.")

    def rewrite(session: Session, reader: SnapshotReader, table: Table) -> list[CompactedFile]:
        packs = _plan(reader, table, delete_threshold)
        if packs and not dry_run:
            _rewrite(catalog, session, reader, table, packs)
        return [
            CompactedFile(table.name.schema, table.name.name, len(p.files), int(p.rows > 0))
            for p in packs
        ]

    operation = Operation(_NAME, rewrite, CompactedFile.none_of)
    return compact_tables(catalog, session, schema, table_name, operation)


def rows_removed(reader: SnapshotReader, table: Table, threshold: float | None = None) -> int:
    """Return how many deleted rows a rewrite would leave out of the files of the table."""
    packs = _plan(reader, table, threshold)
    return sum(file.deleted_rows for pack in packs for file in pack.files)


def _plan(reader: SnapshotReader, table: Table, threshold: float | None) -> list[Pack]:
    options = reader.options(table)
    if threshold is None:
        threshold = float(options.get("rewrite_delete_threshold", _THRESHOLD))
    floats = [leaf.id for leaf in table.walk() if leaf.type.name in FLOATS]
    hollow = [
        file
        for file in reader.files(table, stats_of=floats)
        if (gone := file.deleted_rows) and gone >= threshold * file.record_count
    ]
    if hollow:
        refuse_unwritable(table.columns, table.name, compact_with_duckdb(_NAME))
    return list(packed(reader, table, hollow, target_file_size(options), _living_bytes))


def _living_bytes(file: DataFile) -> float:
    return file.file_size_bytes * file.live_rows / file.record_count


def _rewrite(
    catalog: Catalog,
    session: Session,
    reader: SnapshotReader,
    table: Table,
    packs: Sequence[Pack],
) -> None:
    living = [pack for pack in packs if pack.rows]
    empty = (file for pack in packs if not pack.rows for file in pack.files)
    with files_of(table.name):
        check_row_counts(empty, table.name)
    with discarded_on_error(table) as written:
        # Only snapshots that know today's columns see the new files.
        files = write_packs(session, reader, table, table.columns, living, (ROW_ID,))
        written += [file.path for file in files]
        made = (
            MovedRows(file, partition_id=pack.files[0].partition_id)
            for pack, file in zip(living, files, strict=True)
        )
        rewrites = [Rewrite(p.files, m) for p, m in zip(living, made, strict=True)]
        rewrites += [Rewrite(pack.files, None) for pack in packs if not pack.rows]
        commit(catalog, reader, table, rewrites, _NAME, written)
