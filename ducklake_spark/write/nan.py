"""Finds NaN in what PyArrow is about to write.

PyArrow leaves NaN out of the bounds in Parquet footers. Spark and DuckDB then skip row groups that
hold NaN, although NaN is larger than every number to both.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def leaf_paths(schema: pa.Schema) -> list[str]:
    """Return the path of each leaf of the Parquet schema, such as ``xs.list.element``."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema).close()
    written = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return [written.column(at).path for at in range(len(written))]


def leaves_with_nan(table: pa.Table) -> set[int]:
    """Return the leaves that hold NaN, by their place among all leaves of the Parquet schema."""
    return {
        at
        for batch in table.to_batches()
        for at, leaf in enumerate(chain.from_iterable(map(_leaves, batch.columns)))
        if pa.types.is_floating(leaf.type) and pc.any(pc.is_nan(leaf)).as_py()
    }


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    if pa.types.is_struct(array.type):
        for part in array.flatten():
            yield from _leaves(part)
    elif pa.types.is_map(array.type):
        yield from _leaves(array.keys)
        yield from _leaves(array.items)
    elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array
