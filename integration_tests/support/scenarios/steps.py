"""What scenarios are made of: one commit each, with what the lake must hold afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.catalog import Field, Transaction
from ducklake_spark.spec.model import NameMapping
from ducklake_spark.spec.names import uuid7
from ducklake_spark.spec.partitions import partition_value
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.values import to_physical
from ducklake_spark.storage.footers import describe_file
from support.arrow_values import own_names
from support.expectations import Rel, Values, rel
from support.lakes import LakeAddress
from support.parquet import append, arrow_schema, delete_positions
from support.shared_duck import SharedDuck

Scenarios = dict[str, "tuple[Step, ...]"]
Holds = Mapping[str, Rel | None]
Asks = Mapping[str, list[Values]]


@dataclass(frozen=True)
class Step:
    """One commit; what it changes of what the lake holds, and what DuckDB must answer then."""

    act: Callable[[LakeAddress], None]
    holds: Holds = field(default_factory=dict)
    schemas: Iterable[str] | None = None
    asks: Asks = field(default_factory=dict)
    is_commit: bool = True
    is_promotion: bool = False


def ours(act: Callable[[Transaction], object], holds: Holds | None = None, **more: Any) -> Step:
    def commit(lake: LakeAddress) -> None:
        with lake.open() as catalog, catalog.transaction() as tx:
            act(tx)

    return Step(commit, holds or {}, **more)


def by_duckdb(sql: str, holds: Holds, **more: Any) -> Step:
    def run(lake: LakeAddress) -> None:
        with SharedDuck(lake) as duck:
            duck.run(sql)

    return Step(run, holds, **more)


def both(*acts: object) -> None:
    """Several calls in one lambda."""


# --- writing ---


def rows(tx: Transaction, name: str, known: Rel) -> None:
    """Append what a relation holds, as one file for each partition."""
    table = tx.table(name)
    columns = {column.id: column for column in table.columns}
    files: dict[tuple[str | None, ...], list[Any]] = {}
    for values in known.rows:
        row = dict(zip(known.columns, values, strict=True))
        keys = []
        for key in table.partition_fields:
            column = columns[key.column_id]
            value = row[column.name]
            physical = None if value is None else to_physical(value, column.type)
            keys.append(partition_value(key.transform, physical, column.type))
        files.setdefault(tuple(keys), []).append(row)
    for partition, group in files.items():
        append(tx, name, group, partition_values=partition)


def mapped_rows(tx: Transaction, name: str, known: Rel) -> None:
    """Append a file without field ids, from anywhere, with a mapping by name."""
    table = tx.table(name)
    data = pa.Table.from_pylist(
        [dict(zip(known.columns, r, strict=True)) for r in known.rows], schema=arrow_schema(table)
    )
    path = Path(table.location).parent.parent.parent / f"elsewhere-{uuid7()}.parquet"
    pq.write_table(data.cast(_bare(data.schema)), path)
    new = describe_file(table.location, StoredPath(str(path), False), table.columns)
    tx.add_files(name, [replace(new, mapping=NameMapping(own_names(table.columns)))])


def _bare(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(f.name, _bare_type(f.type)) for f in schema])


def _bare_type(data_type: pa.DataType) -> pa.DataType:
    """The type without field ids, at any depth."""
    if pa.types.is_struct(data_type):
        return pa.struct([pa.field(f.name, _bare_type(f.type)) for f in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(pa.field("element", _bare_type(data_type.value_type)))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_type, _bare_type(data_type.item_type))
    return data_type


def updated_rows(tx: Transaction, name: str, known: Rel, row_ids: list[int]) -> None:
    """Append a file that holds its rows' ids, as an update writes it."""
    table = tx.table(name)
    data = pa.Table.from_pylist(
        [dict(zip(known.columns, r, strict=True)) for r in known.rows], schema=arrow_schema(table)
    )
    field_id = {b"PARQUET:field_id": b"2147483540"}
    lineage = pa.field("_ducklake_internal_row_id", pa.int64(), metadata=field_id)
    data = data.append_column(lineage, pa.array(row_ids, pa.int64()))
    stored = StoredPath(f"updated-{uuid7()}.parquet")
    pq.write_table(data, stored.under(table.location))
    tx.add_files(name, [describe_file(table.location, stored, table.columns)])


def delete(tx: Transaction, name: str, file: int, *positions: int) -> None:
    delete_positions(tx, name, tx.files(tx.table(name))[file], positions)


def end_files(tx: Transaction, name: str, *at: int) -> None:
    files = tx.files(tx.table(name))
    tx.end_files(name, [files[place].id for place in at])


# --- definitions ---

ID, NAME = Field("id", "int32"), Field("name", "varchar")
T = rel("id name", (1, "a"), (2, "b"), (3, None))
MORE = rel("id name", (4, "d"), (5, "a"))
BOTH = T.with_rows((*T.rows, *MORE.rows))
START = ours(lambda tx: both(tx.create_table("t", [ID, NAME]), rows(tx, "t", T)), {"t": T})


def altered(act: Callable[[Transaction], object], after: Rel, **more: Any) -> tuple[Step, ...]:
    """A filled table, then a change of its definition."""
    return START, ours(act, {"t": after}, **more)


NESTED = rel(
    "id s l m",
    (1, {"a": 1, "b": {"x": ["p", None]}}, [1, None], {"k": 1}),
    (2, None, [], {}),
    (3, {"a": None, "b": None}, None, None),
)
NESTED_FIELDS = [
    ID,
    Field("s", "STRUCT(a INTEGER, b STRUCT(x VARCHAR[]))"),
    Field("l", "INTEGER[]"),
    Field("m", "MAP(VARCHAR, INTEGER)"),
]
CREATE_NESTED = ours(
    lambda tx: both(tx.create_table("n", NESTED_FIELDS), rows(tx, "n", NESTED)), {"n": NESTED}
)
