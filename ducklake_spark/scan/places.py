"""Where a row of the scan is: in which file, and at which position."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile

ORDINAL = "_ducklake_ordinal"
# A file of more rows than this does not exist; a scan of more files than the rest has neither.
POSITION_BITS = 40
_LISTED = "_ducklake_listed"


def with_ordinals(frame: DataFrame, files: Mapping[int, DataFile]) -> DataFrame:
    """The frame with the ordinal of each row's file.

    A Spark that asks the files themselves when they were changed stops the query: going on would
    mean to show deleted rows.
    """
    told = F.unix_millis(F.col("_metadata.file_modification_time"))
    unknown = F.raise_error(
        F.concat(F.lit("Not a file of this scan: "), F.col("_metadata.file_path"))
    ).cast("bigint")
    return frame.withColumn(ORDINAL, F.when(told <= max(files), told).otherwise(unknown))


def with_lineage(session: Session, frame: DataFrame, files: Mapping[int, DataFile]) -> DataFrame:
    """The frame, which has its ordinals, with row_id_start and begin_snapshot of the files."""
    known = files.values()
    lineage = pa.table(
        {
            _LISTED: pa.array(files, pa.int64()),
            "row_id_start": pa.array([file.row_id_start for file in known], pa.int64()),
            "begin_snapshot": pa.array([file.begin_snapshot for file in known], pa.int64()),
        }
    )
    listed = F.broadcast(session.spark.createDataFrame(lineage))
    return frame.join(listed, F.col(ORDINAL) == F.col(_LISTED), "left")


def place() -> Expression:
    """One number for a row's file and its position there; the frame must have its places."""
    return F.shiftleft(F.col(ORDINAL), POSITION_BITS).bitwiseOR(F.col("_metadata.row_index"))


def split_places(places: pa.ChunkedArray) -> dict[int, pa.Array]:
    """The positions of each file, by its ordinal."""
    ordinals = pc.shift_right(places, POSITION_BITS)
    positions = pc.bit_wise_and(places, (1 << POSITION_BITS) - 1)
    table = pa.table({"ordinal": ordinals, "position": positions})
    grouped = table.group_by("ordinal").aggregate([("position", "list")])
    return {
        row: grouped["position_list"][at].values
        for at, row in enumerate(grouped["ordinal"].to_pylist())
    }
