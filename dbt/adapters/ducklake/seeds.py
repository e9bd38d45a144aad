"""The rows of a seed as a DataFrame of texts, for SQL to cast."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

if TYPE_CHECKING:
    import agate


def seed_frame(spark: SparkSession, table: agate.Table) -> DataFrame:
    """Every value as the text that a cast to its column's type reads."""
    columns = [
        pa.array([_text(row[at]) for row in table.rows], pa.string())
        for at in range(len(table.column_names))
    ]
    rows = pa.Table.from_arrays(columns, list(table.column_names))
    return spark.createDataFrame(rows).coalesce(1)  # a file that a person wrote makes one file


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return str(value)
