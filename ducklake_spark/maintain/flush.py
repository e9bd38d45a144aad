"""Rows and deletes that live in the catalog itself move to files (FORMAT 1.16).

A file holds the snapshot of each row, and its delete file that of each delete, so that every
snapshot shows what it showed before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ducklake_spark.catalog import Catalog, Flush, MovedRows, SnapshotReader
from ducklake_spark.maintain.compacting import (
    Operation,
    commit,
    compact_tables,
    compact_with_duckdb,
    discarded_on_error,
)
from ducklake_spark.maintain.dated_deletes import Written, consolidated, deletes_of_rows
from ducklake_spark.scan import ROW_ID, SNAPSHOT_ID
from ducklake_spark.scan.inlined import inlined_frame
from ducklake_spark.scan.types import refuse_unwritable
from ducklake_spark.session import Session
from ducklake_spark.spec.model import (
    ChangedFile,
    InlinedLives,
    InlinedRow,
    NewDataFile,
    PartitionField,
    Table,
)
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.spec.partitions import partition_value
from ducklake_spark.spec.stats import ColumnStats
from ducklake_spark.spec.types import FLOATS
from ducklake_spark.write.layout import partition_folder
from ducklake_spark.write.move import TARGET, stage_moved

_NAME = "flush_inlined_data"
_Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class FlushedTable:
    """How many rows went from the catalog to files; none if only deletes did.

    `skipped`: why a table is left alone that has something to do.
    """

    schema_name: str
    table_name: str
    rows_flushed: int
    skipped: str | None = None

    @classmethod
    def none_of(cls, table: QualifiedName, why: str) -> FlushedTable:
        return cls(table.schema, table.name, 0, why)


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Rows of one inlined table that become one file."""

    rows: tuple[InlinedRow, ...]
    partition_values: _Texts


def flush_inlined_data(
    catalog: Catalog,
    session: Session,
    *,
    schema_name: str | None = None,
    table_name: str | None = None,
    dry_run: bool = False,
) -> list[FlushedTable]:
    """Move what the catalog holds of tables to Parquet files, deletes from files included."""

    def flush(session: Session, reader: SnapshotReader, table: Table) -> list[FlushedTable]:
        lives = [live for live in reader.inlined_lives(table) if live.rows]
        files = reader.files_with_inlined_deletes(table)
        if not lives and not files:
            return []
        for live in lives:
            refuse_unwritable(live.columns, table.name, compact_with_duckdb(_NAME))
        if not dry_run:
            _flush(catalog, session, reader, table, lives, files)
        count = sum(len(live.rows) for live in lives)
        return [FlushedTable(table.name.schema, table.name.name, count)]

    operation = Operation(_NAME, flush, FlushedTable.none_of)
    return compact_tables(catalog, session, schema_name, table_name, operation)


def _flush(
    catalog: Catalog,
    session: Session,
    reader: SnapshotReader,
    table: Table,
    lives: Sequence[InlinedLives],
    files: Sequence[ChangedFile],
) -> None:
    with discarded_on_error(table) as written:
        made = [new for live in lives for new in _move(session, reader, table, live, written)]
        deletes = [(file.file.id, consolidated(table, file, written)) for file in files]
        flush = Flush(reader.snapshot.id, tuple(made), tuple(deletes))
        commit(catalog, reader, table, [flush], _NAME, written)


def _move(
    session: Session, reader: SnapshotReader, table: Table, live: InlinedLives, written: Written
) -> Iterator[MovedRows]:
    bundles = _bundles(table, live)
    if not bundles:
        return
    rows = [(row, at) for at, bundle in enumerate(bundles) for row in bundle.rows]
    target_of = {id(row): at for row, at in rows}
    frame = inlined_frame(
        session,
        live.columns,
        [row for row, _ in rows],
        [
            (ROW_ID, pa.int64(), lambda row: row.row_id),
            (SNAPSHOT_ID, pa.int64(), lambda row: row.begin_snapshot),
            (TARGET, pa.int64(), lambda row: target_of[id(row)]),
        ],
    )
    options = reader.options(table)
    directories = [partition_folder(table, bundle.partition_values, options) for bundle in bundles]
    files = stage_moved(frame, table, live.columns, directories, options)
    written += [file.path for file in files.values()]
    for at, bundle in enumerate(bundles):
        yield _stand_in(table, live, bundle, files[at], written)


def _stand_in(
    table: Table, live: InlinedLives, bundle: _Bundle, file: NewDataFile, written: Written
) -> MovedRows:
    snapshots = [row.begin_snapshot for row in bundle.rows]
    partition = table.partition if bundle.partition_values else None
    stats = tuple(_with_nan(stats, live, bundle) for stats in file.stats)
    return MovedRows(
        replace(file, stats=stats, partition_values=bundle.partition_values),
        begin_snapshot=min(snapshots),
        partial_max=max(snapshots),
        partition_id=partition.id if partition else None,
        deletes=deletes_of_rows(table, bundle.rows, file, written),
    )


def _with_nan(stats: ColumnStats, live: InlinedLives, bundle: _Bundle) -> ColumnStats:
    """Look for NaN among the rows if the footer does not tell of it."""
    floats = {column.id for column in live.columns if column.type.name in FLOATS}
    if stats.column_id not in floats or stats.contains_nan is not None:
        return stats
    values = (row.values[stats.column_id] for row in bundle.rows)
    return replace(stats, contains_nan=any(value != value for value in values))


# --- partitions ---


def _bundles(table: Table, live: InlinedLives) -> list[_Bundle]:
    """The rows that any snapshot sees, by partition."""
    by_partition: defaultdict[_Texts, list[InlinedRow]] = defaultdict(list)
    keys = _keys(table, live)
    for row in live.rows:
        if row.end_snapshot is None or row.end_snapshot > row.begin_snapshot:
            by_partition[_values(row, keys, live)].append(row)
    return [_Bundle(tuple(rows), values) for values, rows in by_partition.items()]


def _keys(table: Table, live: InlinedLives) -> tuple[PartitionField, ...]:
    """How the table is partitioned now, if these rows have the columns for it."""
    known = {column.id for column in live.columns}
    fields = table.partition_fields
    return fields if all(key.column_id in known for key in fields) else ()


def _values(row: InlinedRow, keys: Sequence[PartitionField], live: InlinedLives) -> _Texts:
    types = {column.id: column.type for column in live.columns}
    return tuple(
        partition_value(key.transform, row.values[key.column_id], types[key.column_id])
        for key in keys
    )
