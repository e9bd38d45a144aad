"""The range of a source's keys, as a predicate that leaves files of the target unread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.scan.types import shown_type
from ducklake_spark.spec.model import Column
from ducklake_spark.spec.names import backticked
from ducklake_spark.spec.predicates import AllOf, Comparison, Predicate
from ducklake_spark.spec.types import SIGNED
from ducklake_spark.spec.values import to_physical

# Types whose order and equality are the same here, in Spark and in the statistics.
_ORDERED = {*SIGNED, "date", "timestamp", "timestamptz", "varchar", "decimal"}


def key_range(source: DataFrame, keys: Mapping[str, Column]) -> Predicate | None:
    """What equality with some row of the source demands of the target, by source column."""
    types = {field.name: field.dataType for field in source.schema.fields}
    usable = {
        name: column
        for name, column in keys.items()
        if column.type.name in _ORDERED and types.get(name) == shown_type(column)
    }
    if not usable:
        return None
    bounds = [
        bound(F.col(backticked(name))).alias(f"{label}{at}")
        for at, name in enumerate(usable)
        for label, bound in (("low", F.min), ("high", F.max))
    ]
    row = source.agg(*bounds).toArrow()
    demands: list[Predicate] = []
    for at, column in enumerate(usable.values()):
        low, high = (_physical(row[f"{label}{at}"], column) for label in ("low", "high"))
        if low is None:
            continue  # an empty source; what it means is for the join to say
        demands.append(Comparison(column.id, ">=", low))
        demands.append(Comparison(column.id, "<=", high))
    return AllOf(tuple(demands)) if demands else None


def _physical(found: pa.ChunkedArray, column: Column) -> Any:
    """The one value there is. Dates and timestamps are numbers: Python's end with the year 9999."""
    if pa.types.is_date(found.type):
        return found.cast(pa.int32())[0].as_py()
    if pa.types.is_timestamp(found.type):
        return found.cast(pa.int64())[0].as_py()
    return to_physical(found[0].as_py(), column.type)
