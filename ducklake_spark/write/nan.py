"""Finds NaN in what PyArrow is about to write.

PyArrow leaves NaN out of the bounds in Parquet footers. Spark and DuckDB then skip row groups that
hold NaN, although NaN is larger than every number to both.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ducklake_spark.storage.footers import NAN_KEY


def leaf_paths(schema: pa.Schema) -> list[str]:
    """Return the path of each leaf of the Parquet schema, such as ``xs.list.element``."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema).close()
    written = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return [written.column(at).path for at in range(len(written))]


class FloatCounts:
    """The values of each leaf of floats, counted over all that is written to a file."""

    def __init__(self) -> None:
        self.values: Counter[int] = Counter()
        self.with_nan: set[int] = set()

    def add(self, table: pa.Table) -> None:
        """Count a table's values, by the place of their leaf among all of the Parquet schema."""
        for batch in table.to_batches():
            for at, leaf in enumerate(chain.from_iterable(map(_leaves, batch.columns))):
                if pa.types.is_floating(leaf.type):
                    self.values[at] += len(leaf) - leaf.null_count
                    if pc.any(pc.is_nan(leaf)).as_py():
                        self.with_nan.add(at)

    def as_metadata(self) -> dict[str, str]:
        """Return what a footer says in place of the statistics of leaves that hold NaN."""
        return {NAN_KEY: json.dumps({at: self.values[at] for at in sorted(self.with_nan)})}


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    kind = array.type
    if pa.types.is_struct(kind):
        for part in array.flatten():
            yield from _leaves(part)
    elif pa.types.is_map(kind):
        yield from _leaves(array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field]))))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _leaves(array.flatten())
    else:
        yield array
