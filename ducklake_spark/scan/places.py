"""Which file of the scan a row comes from, and where its row ids start."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile
from ducklake_spark.storage.hadoop import hadoop_uri

ORDINAL = "_ducklake_ordinal"
_PATH = "_ducklake_path"


def with_places(session: Session, frame: DataFrame, files: Sequence[DataFile]) -> DataFrame:
    """The frame with each row's file by its place in `files`, row_id_start and begin_snapshot.

    A path that Spark spells in a way we did not foresee stops the query: going on would mean to
    show deleted rows.
    """
    places = pa.table(
        {
            _PATH: [hadoop_uri(file.path) for file in files],
            ORDINAL: pa.array(range(len(files)), pa.int64()),
            "row_id_start": pa.array([file.row_id_start for file in files], pa.int64()),
            "begin_snapshot": pa.array([file.begin_snapshot for file in files], pa.int64()),
        }
    )
    known = F.broadcast(session.spark.createDataFrame(places))
    path = F.col("_metadata.file_path")
    joined = frame.join(known, path == F.col(_PATH), "left")
    unknown = F.raise_error(F.concat(F.lit("Not a file of this scan: "), path)).cast("bigint")
    return joined.withColumn(ORDINAL, F.coalesce(F.col(ORDINAL), unknown))
