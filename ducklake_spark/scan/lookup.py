"""Values that rows are looked up in by number.

Spark's tasks are given them as one array: a join with them costs each row several times as much.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from ducklake_spark.session import Session


def looked_up(session: Session, values: pa.Array, at: Expression) -> Expression:
    """The value at a place of an array; NULL beyond its end."""
    row = pa.table({"values": pa.ListArray.from_arrays([0, len(values)], values)})
    return F.get(session.spark.createDataFrame(row).scalar(), at.cast("int"))
