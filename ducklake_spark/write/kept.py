"""Keeps the rows of a frame for several readers, and notices when they changed in between.

When an executor dies, Spark computes its part of the cache again. A query that is not
deterministic, or whose sources changed meanwhile, then has other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import ChangedRowsError
from ducklake_spark.session import runs_in_one_process

_ROW = "_ducklake_row"
_LOW_BITS = 2**32 - 1  # of a hash: the sum of so many bits does not overflow


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows that Spark keeps in its cache."""

    rows: DataFrame
    _cached: DataFrame
    _fingerprint: dict[str, Any] | None

    def require_unchanged(self, name: object) -> None:
        """Raise ChangedRowsError unless the cache still holds the rows it held at first.

        Call it after the last use of the rows, and before the table `name` changes.
        """
        if self._fingerprint is not None and _fingerprint(self._cached) != self._fingerprint:
            raise changed_rows(name)


def changed_rows(name: object) -> ChangedRowsError:
    """Return the error of a table whose new rows were not the same at every look."""
    return ChangedRowsError(
        f"Spark computed rows to change in {name} twice, and they were other rows the second time. "
        "Nothing was changed.",
        hint="Run it again. If it happens often, write the result of the query to a table first: "
        "its source changes, or the query is not deterministic.",
    )


@contextmanager
def kept(frame: DataFrame) -> Iterator[Kept]:
    """Keep the rows of a frame in Spark's cache for the duration of the block.

    The cache packs each column on its own, which can cost more than computing the rows. Columns
    inside a struct are not packed.
    """
    cached = frame.select(F.struct("*").alias(_ROW)).persist()
    try:
        # A Spark in one process cannot lose a part of its cache.
        is_safe = runs_in_one_process(frame.sparkSession)
        fingerprint = None if is_safe else _fingerprint(cached)
        yield Kept(cached.select(f"{_ROW}.*"), cached, fingerprint)
    finally:
        cached.unpersist()


def _fingerprint(cached: DataFrame) -> dict[str, Any]:
    """Return the number of rows and two checksums that do not depend on their order."""
    row = F.col(_ROW)
    value = F.to_json(row) if _has_unhashable(cached.schema) else row
    checksum = F.xxhash64(value)
    found: dict[str, Any] = (
        cached.agg(
            F.count(F.lit(1)).alias("rows"),
            F.bit_xor(checksum).alias("bits"),
            F.sum(checksum.bitwiseAND(F.lit(_LOW_BITS))).alias("sum"),
        )
        .toArrow()
        .to_pylist()[0]
    )
    return found


def _has_unhashable(kind: T.DataType) -> bool:
    """Whether there are maps or variants, which Spark does not hash."""
    match kind:
        case T.StructType():
            return any(_has_unhashable(field.dataType) for field in kind.fields)
        case T.ArrayType():
            return _has_unhashable(kind.elementType)
        case _:
            return isinstance(kind, (T.MapType, T.VariantType))
