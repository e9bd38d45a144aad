"""Writes a DataFrame natively with Spark, and describes the files for the catalog.

Each write has a folder of its own under the table's directory. Nothing refers to it until the
commit; if the commit does not land, the folder can go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.catalog import Name, Transaction
from ducklake_spark.files import truncate
from ducklake_spark.files.mapping import mapping_of
from ducklake_spark.scan import ROW_ID
from ducklake_spark.scan.types import encoded, spark_type_of
from ducklake_spark.spec.file_names import marked_uuid
from ducklake_spark.spec.model import NameMapping, NewDataFile, Table
from ducklake_spark.spec.names import backticked
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.stats import ColumnStats
from ducklake_spark.storage.filesystem import (
    list_files,
    move_file,
    remove_files,
    remove_tree,
)
from ducklake_spark.storage.footers import describe_file
from ducklake_spark.storage.hadoop import hadoop_path
from ducklake_spark.write.arrow_files import write_here, write_with_row_ids
from ducklake_spark.write.assign import assigned
from ducklake_spark.write.at_hand import rows_at_hand
from ducklake_spark.write.counted import RowCounts, count_here, count_rows, describe_visible
from ducklake_spark.write.layout import (
    order_within,
    partition_folder,
    partition_texts,
    partitioned,
)
from ducklake_spark.write.options import writer_options
from ducklake_spark.write.sizes import refitted

_THREADS = 8


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """Files that are written and wait for their commit."""

    location: str
    files: tuple[NewDataFile, ...]

    @property
    def record_count(self) -> int:
        return sum(file.record_count for file in self.files)

    @property
    def file_size_bytes(self) -> int:
        return sum(file.file_size_bytes for file in self.files)

    @property
    def paths(self) -> list[str]:
        """The complete paths of the files."""
        return [file.path.under(self.location) for file in self.files]

    def discard(self) -> None:
        """Remove the files; only once it is certain that no commit refers to them."""
        remove_files(self.paths)


@contextmanager
def discarded_on_error(tx: Transaction) -> Iterator[list[StagedFiles]]:
    """A list for staged files, which go with delete files staged meanwhile, if it is certain that
    no commit refers to them."""
    staged: list[StagedFiles] = []
    before = len(tx.delete_files)
    try:
        yield staged
    except BaseException:
        if not tx.may_have_landed:
            for files in staged:
                files.discard()
            remove_files(tx.delete_files[before:])
        raise


def append(tx: Transaction, name: Name, frame: DataFrame) -> StagedFiles:
    """Write the rows of a frame and add them to a table."""
    table = tx.table(name)
    staged = stage(frame, table, tx.options(table))
    try:
        tx.add_files(table.name, staged.files)
    except BaseException:
        staged.discard()
        raise
    return staged


def overwrite(tx: Transaction, name: Name, frame: DataFrame) -> StagedFiles:
    """Write the rows of a frame in place of all rows of a table."""
    table = tx.table(name)
    staged = stage(frame, table, tx.options(table))
    try:
        truncate(tx, name)
        tx.add_files(table.name, staged.files)
    except BaseException:
        staged.discard()
        raise
    return staged


def stage(
    frame: DataFrame, table: Table, options: Mapping[str, str], *, with_row_ids: bool = False
) -> StagedFiles:
    """Write the rows of a frame as files of a table that nothing refers to yet.

    `with_row_ids`: the frame has the rows' ids as ROW_ID, and the files keep them.
    """
    kept = [ROW_ID] if with_row_ids else []
    rows, partition_columns = partitioned(assigned(frame, table, keep=kept), table)
    order = order_within(rows, table, options, partition_columns)
    name = f"ducklake-{marked_uuid(table.mark)}/"
    folder = _Folder(table, name, partition_columns, options)
    is_plain = not (with_row_ids or order or partition_columns)
    try:
        at_hand = rows_at_hand(_as_stored(rows, table)) if is_plain else None
        if at_hand is not None:
            counts = count_here(at_hand, table)
            counts.reject_nulls()
            paths = write_here(at_hand, table, folder.path, options)
            files = _described(table, name, paths, counts)
        else:
            rows, counts = count_rows(rows, table, table.columns)
            rows = _as_stored(rows.sortWithinPartitions(*order) if order else rows, table)
            if with_row_ids:
                files = _write_with_row_ids(rows, folder, counts)
            else:
                files = _write_by_spark(rows, folder, counts)
        if partition_columns:
            files = _moved(table, files, options)
    except BaseException:
        remove_tree(folder.path)
        remove_files((), {table.location})  # empty if the table is new
        raise
    if partition_columns or not files:
        remove_tree(folder.path)
    return StagedFiles(table.location, tuple(files))


def _as_stored(rows: DataFrame, table: Table) -> DataFrame:
    """Convert the table's columns to what files hold; other columns are not changed."""
    leaves = (leaf for column in table.columns for leaf in column.walk() if not leaf.children)
    if not any(spark_type_of(leaf).encode for leaf in leaves):
        return rows
    values = [encoded(F.col(backticked(c.name)), c).alias(c.name) for c in table.columns]
    return rows.select(*values, *rows.columns[len(values) :])


@dataclass(frozen=True, slots=True)
class _Folder:
    """The folder of one write, below that of its table."""

    table: Table
    name: str
    partition_columns: Sequence[str]
    options: Mapping[str, str]

    @property
    def path(self) -> str:
        return self.table.location + self.name


def _write_with_row_ids(rows: DataFrame, folder: _Folder, counts: RowCounts) -> list[NewDataFile]:
    table = folder.table
    written = write_with_row_ids(rows, table, folder.path, folder.partition_columns, folder.options)
    counts.reject_nulls()
    files = _described(table, folder.name, written, counts)
    # If these rows had new ids as well, DuckDB's merge would take the files for neighbours of
    # others and number their rows anew.
    return [replace(file, takes_row_ids=False) for file in files]


def _write_by_spark(rows: DataFrame, folder: _Folder, counts: RowCounts) -> list[NewDataFile]:
    table, options = folder.table, folder.options
    writer = rows.write.options(**writer_options(options))
    if folder.partition_columns:
        writer = writer.partitionBy(*folder.partition_columns)
    writer.parquet(hadoop_path(folder.path))
    counts.reject_nulls()
    files = _described(table, folder.name, _parquet_in(folder.path), counts, mapping_of(table))
    schema = rows.drop(*folder.partition_columns).schema
    if former := refitted(rows.sparkSession, schema, table, folder.path, files, options):
        gone = {file.path.under(table.location) for file in former}
        again = (path for path in _parquet_in(folder.path) if path not in gone)
        files = _described(table, folder.name, again, counts, mapping_of(table))
        remove_files(gone)
    return files


def _moved(
    table: Table, files: Sequence[NewDataFile], options: Mapping[str, str]
) -> list[NewDataFile]:
    """The files in the directories of their partitions."""
    folders = (partition_folder(table, file.partition_values, options) for file in files)
    moved = [
        replace(file, path=StoredPath(f"{folder}ducklake-{marked_uuid(table.mark)}.parquet"))
        for file, folder in zip(files, folders, strict=True)
    ]

    def move(source: NewDataFile, target: NewDataFile) -> None:
        move_file(source.path.under(table.location), target.path.under(table.location))

    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(move, files, moved))
    except BaseException:
        StagedFiles(table.location, tuple(moved)).discard()
        raise
    return moved


def _with_nan(file: NewDataFile, counts: RowCounts) -> NewDataFile:
    """The file with what is known of NaN; a write without NaN proves that none of its files has."""
    nan_columns = counts.nan_columns

    def known(stats: ColumnStats) -> ColumnStats:
        if stats.column_id not in nan_columns or stats.contains_nan is not None:
            return stats
        return replace(stats, contains_nan=nan_columns[stats.column_id])

    return replace(file, stats=tuple(map(known, file.stats)))


def _parquet_in(folder: str) -> list[str]:
    """What Spark's own writer left in a folder, which has nothing of tasks that failed."""
    return [folder + path for path in list_files(folder) if path.endswith(".parquet")]


def _described(
    table: Table,
    folder: str,
    paths: Iterable[str],
    counts: RowCounts,
    mapping: NameMapping | None = None,
) -> list[NewDataFile]:
    """Describe these files of the folder. Other files there are from failed attempts of a task.

    Raise RowCountError if the files do not hold all rows that Spark counted.
    """

    def describe(path: str) -> NewDataFile:
        stored = StoredPath(folder + path.removeprefix(table.location + folder))
        new = describe_file(table.location, stored, table.columns)
        if new.record_count == 0:
            return new
        return replace(new, mapping=mapping, partition_values=partition_texts(table, new))

    written = describe_visible(table, sorted(paths), describe)
    counts.require_all_rows(table.location + folder, written)
    # Of a partition of its own without rows Spark writes a file all the same, for the columns.
    remove_files(file.path.under(table.location) for file in written if not file.record_count)
    return [_with_nan(file, counts) for file in written if file.record_count]
