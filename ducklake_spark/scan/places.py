"""Where a row of the scan is: in which file, and at which position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.scan.lookup import looked_up
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile
from ducklake_spark.spec.positions import SortedPositions
from ducklake_spark.spec.roaring import Positions

# Where a row is: a number from zero for a place in a file, its ordinal in the scan and the row's
# position there; one below zero for the id of a row in the catalog.
PLACE = "_ducklake_place"
# What the catalog says of the file of a row.
ROW_ID_START = "_ducklake_row_id_start"
BEGIN_SNAPSHOT = "_ducklake_begin_snapshot"
# A file of more rows than this does not exist; a scan of more files than the rest has neither.
POSITION_BITS = 40
_BREAKS = 1_000  # and one for each chunk; places with more are sorted


def with_places(frame: DataFrame, files: Mapping[int, DataFile]) -> DataFrame:
    """The frame with the PLACE of each row.

    A Spark that asks the files themselves when they were changed stops the query: going on would
    mean to show deleted rows.
    """
    file = about_files(frame)
    # A column of its own, since Spark 4.0 cannot join on what it knows of the file.
    told = F.unix_millis(file["file_modification_time"])
    unknown = F.raise_error(F.concat(F.lit("Not a file of this scan: "), file["file_path"])).cast(
        "bigint"
    )
    ordinal = F.when(told <= max(files), told).otherwise(unknown)
    place = F.shiftleft(ordinal, POSITION_BITS).bitwiseOR(file["row_index"])
    return frame.withColumn(PLACE, place)


def about_files(frame: DataFrame) -> Expression:
    """What Spark knows of the file of each row; a column of the file may have that name, too."""
    return frame.metadataColumn("_metadata")


def ordinal() -> Expression:
    """Which file of the scan a row is in; the frame must have its places."""
    return F.shiftright(F.col(PLACE), POSITION_BITS)


def position() -> Expression:
    """Where in its file a row is; the frame must have its places."""
    return F.col(PLACE).bitwiseAND((1 << POSITION_BITS) - 1)


def with_lineage(session: Session, frame: DataFrame, files: Mapping[int, DataFile]) -> DataFrame:
    """The frame, which has its places, with ROW_ID_START and BEGIN_SNAPSHOT of the files."""
    known = [files.get(at) for at in range(max(files) + 1)]
    starts = pa.array([file and file.row_id_start for file in known], pa.int64())
    births = pa.array([file and file.begin_snapshot for file in known], pa.int64())
    return frame.withColumns(
        {
            ROW_ID_START: looked_up(session, starts, ordinal()),
            BEGIN_SNAPSHOT: looked_up(session, births, ordinal()),
        }
    )


def packed(ordinal: int, positions: pa.Array) -> pa.Array:
    """The places of a file's positions."""
    return pc.bit_wise_or(positions, pa.scalar(ordinal << POSITION_BITS, pa.int64()))


def split_places(places: pa.ChunkedArray) -> dict[int, SortedPositions]:
    """The positions of each file, by its ordinal; the places are distinct.

    Places that are in order, as a scan finds them, are not copied. Their chunks are cut where
    another file begins and where the order breaks.
    """
    chunks = [chunk.to_numpy() for chunk in places.chunks]
    if sum(len(_breaks(chunk)) for chunk in chunks) > len(chunks) + _BREAKS:
        chunks = [np.sort(np.concatenate(chunks))]
    runs: defaultdict[int, list[Positions]] = defaultdict(list)
    for chunk in chunks:
        for run in np.split(chunk, _breaks(chunk)):
            if len(run) and run[0] >= 0:
                runs[int(run[0]) >> POSITION_BITS].append(run)
    return {at: SortedPositions(found, at << POSITION_BITS) for at, found in runs.items()}


def _breaks(places: Positions) -> Positions:
    """Where other files begin, or the order is broken, in an array of places."""
    files = places >> POSITION_BITS
    return 1 + np.flatnonzero((places[1:] <= places[:-1]) | (files[1:] != files[:-1]))
