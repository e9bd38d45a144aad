"""Rows of Spark DataFrames as physical values, to compare with what `reader` gets from DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.spec.model import Column
from support.arrow_values import children_of, own_names, values_of


def spark_rows(frame: DataFrame, columns: Sequence[Column], before: int = 0) -> list[list[Any]]:
    """The rows of a frame with the columns of a table, behind some plain ones."""
    data = frame.toArrow()
    names = own_names(columns)
    plain = [data.column(at).to_pylist() for at in range(before)]
    values = [
        values_of(data.column(at), column, children_of(column, names))
        for at, column in enumerate(columns, start=before)
    ]
    return [list(row) for row in zip(*plain, *values, strict=True)]
