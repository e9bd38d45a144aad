"""Files as writers leave them that know nothing of field ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.spec.model import NameMapping
from ducklake_spark.spec.names import uuid7
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.storage.footers import describe_file
from support.arrow_values import own_names
from support.lakes import LakeAddress
from support.parquet import arrow_schema

Strip = Callable[[pa.Field], pa.Field]


def append_foreign(
    lake: LakeAddress, row: Mapping[str, Any], strip: Strip, *, mapped: bool
) -> None:
    """Add a row to the table t as a file that lost field ids, with a mapping in their place or
    without one."""
    with lake.open() as catalog, catalog.transaction() as tx:
        table = tx.table("t")
        schema = pa.schema([strip(field) for field in arrow_schema(table)])
        stored = StoredPath(f"foreign-{uuid7()}.parquet")
        Path(table.location).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([dict(row)], schema), stored.under(table.location))
        new = describe_file(table.location, stored, table.columns)
        mapping = NameMapping(own_names(table.columns)) if mapped else None
        tx.add_files("t", [replace(new, mapping=mapping)])


def without_ids(field: pa.Field) -> pa.Field:
    """The field without any ids, as a writer leaves it that was never told of them."""
    return without_ids_of_parts(field).with_metadata(None)


def without_ids_of_parts(field: pa.Field) -> pa.Field:
    """The field without ids on the elements of lists: the most that Spark can write."""
    if pa.types.is_list(field.type):
        field = field.with_type(pa.list_(pa.field("element", field.type.value_type)))
    return field
