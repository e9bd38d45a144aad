"""Leaves out deleted rows: by position files and by positions in the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.scan.lookup import looked_up, looked_up_all
from ducklake_spark.scan.places import PLACE, POSITION_BITS, ordinal, position
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile
from ducklake_spark.spec.positions import is_increasing
from ducklake_spark.spec.roaring import Positions
from ducklake_spark.storage.delete_files import read_deletes

_KEY = "_ducklake_deleted"
_WORDS = "_ducklake_words"
_MARKED_UP_TO = 250_000_000  # rows, for which each task is given 32 MB
_THREADS = 8
_WORD_BITS = 6
_WORD = 1 << _WORD_BITS
_BLOCK_BITS = 16
_WORDS_OF_BLOCK = 1 << (_BLOCK_BITS - _WORD_BITS)

# The rows of a file as bits, of which those of deleted rows are set.
Marks = npt.NDArray[np.uint64]


def without_deleted(
    session: Session, frame: DataFrame, files: Mapping[int, DataFile], snapshot_id: int
) -> DataFrame:
    """The frame, which has the places of its rows, less what is deleted by the snapshot."""
    with ThreadPoolExecutor(_THREADS) as pool:
        read = pool.map(lambda file: _marks_of(file, snapshot_id), files.values())
        marks = dict(zip(files, read, strict=True))
    if sum(file.record_count for file in files.values()) <= _MARKED_UP_TO:
        return frame.where(_mark(session, files, marks) == 0)
    return _without(session, frame, marks)


def _mark(
    session: Session, files: Mapping[int, DataFile], marks: Mapping[int, Marks]
) -> Expression:
    """1 for a deleted row: the files' rows are the bits of one array.

    A file with more rows than the catalog records is an error: the bits of the rest are those of
    another file.
    """
    # For each file, the place of its first bit and the number of its rows.
    known: list[int | None] = [None] * (2 * (max(files) + 1))
    begin = 0
    for at, file in files.items():
        known[2 * at : 2 * at + 2] = begin, file.record_count
        begin += len(marks[at]) * _WORD
    places = [2 * ordinal(), 2 * ordinal() + 1]
    first, rows = looked_up_all(session, pa.array(known, pa.int64()), places)
    bit = first + position()
    words = pa.array(np.concatenate(list(marks.values())).view(np.int64))
    word = looked_up(session, words, F.shiftright(bit, _WORD_BITS))
    mark = F.getbit(word, bit.bitwiseAND(_WORD - 1).cast("int"))
    return F.when(position() < rows, mark).otherwise(F.raise_error(_too_many_rows()))


def _too_many_rows() -> Expression:
    return F.concat(
        F.lit("The catalog records fewer rows than there are in the data file "),
        F.col("_metadata.file_path"),
        F.lit(". CALL lake.verify() shows the right record_count."),
    )


def _without(session: Session, frame: DataFrame, marks: Mapping[int, Marks]) -> DataFrame:
    """Join the rows with blocks of bits, which each executor is given once and not each task.

    A join by the single positions does not come to an end: there are too many to broadcast, and
    without that Spark sorts all rows of the table.
    """
    keys, blocks = zip(*(_blocks(at, words) for at, words in marks.items()), strict=True)
    words = np.concatenate(blocks).view(np.int64).ravel()
    begins = np.arange(0, len(words) + 1, _WORDS_OF_BLOCK, dtype=np.int32)
    lists = pa.ListArray.from_arrays(begins, words)
    table = pa.table({_KEY: np.concatenate(keys), _WORDS: lists})
    of_row = F.shiftright(F.col(PLACE), _BLOCK_BITS)
    deleted = F.broadcast(session.spark.createDataFrame(table))
    found = frame.join(deleted, of_row == F.col(_KEY), "left")
    bit = position().bitwiseAND((1 << _BLOCK_BITS) - 1)
    word = F.get(F.col(_WORDS), F.shiftright(bit, _WORD_BITS).cast("int"))
    mark = F.getbit(word, bit.bitwiseAND(_WORD - 1).cast("int"))
    return found.where(F.coalesce(mark, F.lit(0)) == 0).drop(_KEY, _WORDS)


def _blocks(at: int, words: Marks) -> tuple[Positions, npt.NDArray[np.uint64]]:
    """The blocks of a file with deleted rows: the keys of the blocks, and the words of each."""
    full = np.pad(words, (0, -len(words) % _WORDS_OF_BLOCK)).reshape(-1, _WORDS_OF_BLOCK)
    used = np.flatnonzero(full.any(axis=1))
    return used | (at << (POSITION_BITS - _BLOCK_BITS)), full[used]


def _marks_of(file: DataFile, snapshot_id: int) -> Marks:
    """Mark the rows deleted from a file as the snapshot sees them."""
    marks = np.zeros(-(-file.record_count // _WORD), np.uint64)
    _set(marks, np.array(file.inlined_deletes, np.int64))
    for delete_file in (file.delete_file, *file.further_deletes):
        if delete_file is None:
            continue
        for positions, snapshots in read_deletes(delete_file):
            if snapshots is not None and delete_file.id >= 0:
                positions = positions[snapshots <= snapshot_id]
            _set(marks, positions)
    return marks


def _set(marks: Marks, positions: Positions) -> None:
    """Set the bits of positions; those behind the last row have none."""
    positions = positions[positions < len(marks) * _WORD]
    if not len(positions):
        return
    if not is_increasing(positions):
        positions = np.sort(positions)
    words = positions >> _WORD_BITS
    bits = np.left_shift(np.uint64(1), (positions & (_WORD - 1)).astype(np.uint64))
    begins = np.flatnonzero(np.concatenate([[True], words[1:] != words[:-1]]))
    marks[words[begins]] |= np.bitwise_or.reduceat(bits, begins)
