"""Packs of files as rows for one Spark job, and what it wrote as files that stand for the packs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.catalog import SnapshotReader
from ducklake_spark.errors import CatalogDamagedError, CommitConflictError
from ducklake_spark.maintain.packing import Pack
from ducklake_spark.scan import PLACE, read_living_rows
from ducklake_spark.scan.places import POSITION_BITS
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Column, DataFile, NewDataFile, Table
from ducklake_spark.spec.stats import ColumnStats
from ducklake_spark.spec.types import FLOATS
from ducklake_spark.write.move import TARGET, discard, stage_moved

_FILE = "_ducklake_file_number"


def write_packs(
    session: Session,
    reader: SnapshotReader,
    table: Table,
    columns: Sequence[Column],
    packs: Sequence[Pack],
    keep: Collection[str],
) -> list[NewDataFile]:
    """One new file for each pack, with the living rows of its files and with what is to be kept."""
    if not packs:
        return []
    shape = replace(table, columns=tuple(columns))
    files = [file for pack in packs for file in pack.files]
    _refuse_newer(reader, table, files)
    rows = read_living_rows(session, reader, shape, files, extras=(*keep, PLACE))
    targets = [at for at, pack in enumerate(packs) for _ in pack.files]
    written = stage_moved(
        _with_targets(session, rows, targets),
        table,
        columns,
        [pack.directory(table) for pack in packs],
        reader.options(table),
    )
    try:
        _check_counts(table, packs, written)
    except CatalogDamagedError:
        discard(table, [file.path for file in written.values()])
        raise
    return [_with_nan(written[at], pack, shape) for at, pack in enumerate(packs)]


def _refuse_newer(reader: SnapshotReader, table: Table, files: Sequence[DataFile]) -> None:
    """A file that others made of older ones meanwhile holds more than the snapshot sees."""
    for file in files:
        for part in (file, file.delete_file):
            if part is not None and (part.partial_max or 0) > reader.snapshot.id:
                raise CommitConflictError(
                    f"Others have compacted {table.name} since snapshot {reader.snapshot.id}, or "
                    "deleted rows of it. Nothing was changed.",
                    hint="Run it again: it will then start from the table as it is now.",
                )


def _with_targets(session: Session, rows: DataFrame, targets: Sequence[int]) -> DataFrame:
    """The rows with the number of their pack in place of their PLACE."""
    if not any(targets):
        return rows.withColumn(TARGET, F.lit(0).cast("bigint")).drop(PLACE)
    numbers = pa.array(range(len(targets)), pa.int64())
    listed = pa.table({_FILE: numbers, TARGET: pa.array(targets, pa.int64())})
    known = F.broadcast(session.spark.createDataFrame(listed))
    number = F.shiftright(F.col(PLACE), POSITION_BITS)
    return rows.join(known, number == F.col(_FILE)).drop(_FILE, PLACE)


def _check_counts(table: Table, packs: Sequence[Pack], written: Mapping[int, NewDataFile]) -> None:
    """Files whose rows are not those that the catalog counts must not be replaced."""
    for at, pack in enumerate(packs):
        found = written[at].record_count if at in written else 0
        if found != pack.rows:
            raise CatalogDamagedError(
                f"{len(pack.files)} files of {table.name} from {pack.files[0].path} on hold "
                f"{found} rows, and the catalog counts {pack.rows}. They were left as they are.",
                hint="Run verify on the lake to see which of its files are damaged.",
            )


def _with_nan(file: NewDataFile, pack: Pack, table: Table) -> NewDataFile:
    """Where the footer does not tell of NaN, the file may hold what its sources may hold."""
    floats = {leaf.id for leaf in table.walk() if leaf.type.name in FLOATS}

    def complete(stats: ColumnStats) -> ColumnStats:
        if stats.column_id not in floats or stats.contains_nan is not None:
            return stats
        known = [source.stats.get(stats.column_id) for source in pack.files]
        said = [one.contains_nan if one is not None else None for one in known]
        return replace(stats, contains_nan=None if None in said else any(said))

    return replace(
        file,
        stats=tuple(map(complete, file.stats)),
        partition_values=pack.files[0].partition_values,
    )
