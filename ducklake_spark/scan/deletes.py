"""Leaves out deleted rows: by position files and by positions in the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.scan.places import PLACE, packed
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile
from ducklake_spark.storage.delete_files import SNAPSHOT_COLUMN, read_delete_file

_KEY = "_ducklake_deleted"
_BROADCAST_UP_TO = 5_000_000
_THREADS = 8


def without_deleted(
    session: Session, frame: DataFrame, files: Mapping[int, DataFile], snapshot_id: int
) -> DataFrame:
    """The frame, which has the places of its rows, less what is deleted by the snapshot."""
    with ThreadPoolExecutor(_THREADS) as pool:
        positions = pool.map(lambda file: deleted_positions(file, snapshot_id), files.values())
        keys = pa.chunked_array(
            [packed(ordinal, gone) for ordinal, gone in zip(files, positions, strict=True)],
            pa.int64(),
        )
    gone = session.spark.createDataFrame(pa.table({_KEY: keys}))
    if len(keys) <= _BROADCAST_UP_TO:
        gone = F.broadcast(gone)
    return frame.join(gone, F.col(PLACE) == F.col(_KEY), "left_anti")


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
