"""Leaves out deleted rows: by position files and by positions in the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.scan.lookup import looked_up, looked_up_all
from ducklake_spark.scan.places import PLACE, ordinal, packed, position
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile
from ducklake_spark.storage.delete_files import SNAPSHOT_COLUMN, read_delete_file

_KEY = "_ducklake_deleted"
_MARKED_UP_TO = 250_000_000  # rows, for which each task is given 32 MB
_BROADCAST_UP_TO = 5_000_000  # deleted rows
_THREADS = 8
_WORD_BITS = 6
_WORD = 1 << _WORD_BITS


def without_deleted(
    session: Session, frame: DataFrame, files: Mapping[int, DataFile], snapshot_id: int
) -> DataFrame:
    """The frame, which has the places of its rows, less what is deleted by the snapshot."""
    with ThreadPoolExecutor(_THREADS) as pool:
        positions = pool.map(lambda file: deleted_positions(file, snapshot_id), files.values())
        gone = dict(zip(files, positions, strict=True))
    if sum(file.record_count for file in files.values()) <= _MARKED_UP_TO:
        return frame.where(_mark(session, files, gone) == 0)
    return _without(session, frame, gone)


def _mark(
    session: Session, files: Mapping[int, DataFile], gone: Mapping[int, pa.Array]
) -> Expression:
    """1 for a deleted row: the files' rows are the bits of one array.

    A file with more rows than the catalog records is an error: the bits of the rest are those of
    another file.
    """
    # For each file, the place of its first bit and the number of its rows.
    known: list[int | None] = [None] * (2 * (max(files) + 1))
    words: list[np.ndarray] = []
    begin = 0
    for at, file in files.items():
        marks = np.zeros(file.record_count + -file.record_count % _WORD, dtype=bool)
        deleted = gone[at].to_numpy(zero_copy_only=False)
        marks[deleted[deleted < len(marks)]] = True
        words.append(np.packbits(marks, bitorder="little").view("<i8"))
        known[2 * at : 2 * at + 2] = begin, file.record_count
        begin += len(marks)
    places = [2 * ordinal(), 2 * ordinal() + 1]
    first, rows = looked_up_all(session, pa.array(known, pa.int64()), places)
    bit = first + position()
    word = looked_up(session, pa.array(np.concatenate(words)), F.shiftright(bit, _WORD_BITS))
    mark = F.getbit(word, bit.bitwiseAND(_WORD - 1).cast("int"))
    return F.when(position() < rows, mark).otherwise(F.raise_error(_too_many_rows()))


def _too_many_rows() -> Expression:
    return F.concat(
        F.lit("The catalog records fewer rows than there are in the data file "),
        F.col("_metadata.file_path"),
        F.lit(". CALL lake.verify() shows the right record_count."),
    )


def _without(session: Session, frame: DataFrame, gone: Mapping[int, pa.Array]) -> DataFrame:
    keys = pa.chunked_array([packed(at, positions) for at, positions in gone.items()], pa.int64())
    table = session.spark.createDataFrame(pa.table({_KEY: keys}))
    if len(keys) <= _BROADCAST_UP_TO:
        table = F.broadcast(table)
    return frame.join(table, F.col(PLACE) == F.col(_KEY), "left_anti")


def deleted_positions(file: DataFile, snapshot_id: int) -> pa.Array:
    """The positions deleted from a file as the snapshot sees them."""
    parts = [pa.array(file.inlined_deletes, pa.int64())]
    for delete_file in (file.delete_file, *file.further_deletes):
        if delete_file is None:
            continue
        table = read_delete_file(delete_file)
        if SNAPSHOT_COLUMN in table.column_names and delete_file.id >= 0:
            table = table.filter(pc.less_equal(table[SNAPSHOT_COLUMN], snapshot_id))
        parts += table["pos"].chunks
    return pa.concat_arrays(parts)
