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
from ducklake_spark.storage.hadoop import hadoop_uri

ORDINAL = "_ducklake_ordinal"
# A file of more rows than this does not exist; a scan of more files than the rest has neither.
POSITION_BITS = 40
_PATH = "_ducklake_path"


def with_places(session: Session, frame: DataFrame, files: Mapping[int, DataFile]) -> DataFrame:
    """The frame with the ordinal of each row's file, its row_id_start and begin_snapshot.

    A path that Spark spells in a way we did not foresee stops the query: going on would mean to
    show deleted rows.
    """
    known = files.values()
    places = pa.table(
        {
            _PATH: [hadoop_uri(file.path) for file in known],
            ORDINAL: pa.array(files, pa.int64()),
            "row_id_start": pa.array([file.row_id_start for file in known], pa.int64()),
            "begin_snapshot": pa.array([file.begin_snapshot for file in known], pa.int64()),
        }
    )
    path = F.col("_metadata.file_path")
    listed = F.broadcast(session.spark.createDataFrame(places))
    joined = frame.join(listed, path == F.col(_PATH), "left")
    unknown = F.raise_error(F.concat(F.lit("Not a file of this scan: "), path)).cast("bigint")
    return joined.withColumn(ORDINAL, F.coalesce(F.col(ORDINAL), unknown))


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
