"""Values that rows are looked up in by number.

Spark's tasks are given them as one array: a join with them costs each row several times as much.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from ducklake_spark.session import Session


def looked_up(session: Session, values: pa.Array, at: Expression) -> Expression:
    """The value at a place of an array; NULL beyond its end."""
    (found,) = looked_up_all(session, values, [at])
    return found


def looked_up_all(
    session: Session, values: pa.Array, places: Sequence[Expression]
) -> list[Expression]:
    """Return the values at several places of one array; NULL for a place beyond its end."""
    row = pa.table({"values": pa.ListArray.from_arrays([0, len(values)], values)})
    held = session.spark.createDataFrame(row).scalar()
    return [F.get(held, place.cast("int")) for place in places]
