"""A lake created, written, changed and read back by the catalog client alone, then by DuckDB."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.catalog import Catalog, Field, Transaction
from ducklake_spark.spec.names import uuid7
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.storage.delete_files import stage_delete
from ducklake_spark.storage.footers import describe_file


def append(tx: Transaction, name: str, rows: dict[str, list[object]]) -> None:
    """Write rows as a Parquet file whose columns carry their field ids, and register it."""
    table = tx.table(name)
    fields = [
        pa.field(column.name, kind, metadata={"PARQUET:field_id": str(column.id)})
        for column, kind in zip(table.columns, (pa.int64(), pa.string(), pa.float64()), strict=True)
    ]
    path = StoredPath(f"ducklake-{uuid7()}.parquet")
    Path(table.location).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(rows, schema=pa.schema(fields)), path.under(table.location))
    no_nan = {column.id: False for column in table.columns}
    tx.add_files(name, [describe_file(table.location, path, table.columns, nan_columns=no_nan)])


def write(catalog: Catalog) -> None:
    with catalog.transaction(message="open the shop") as tx:
        fields = [
            Field("id", "int64", nullable=False),
            Field("item", "varchar"),
            Field("price", "double"),
        ]
        tx.create_schema("shop")
        tx.create_table("shop.orders", fields, sorted_by=["id"], comment="What people bought")
        append(
            tx,
            "shop.orders",
            {"id": [1, 2, 3], "item": ["tea", "milk", "pie"], "price": [4.5, 1.2, 6.0]},
        )
    with catalog.transaction(message="the milk went back") as tx:
        table = tx.table("shop.orders")
        (file,) = tx.files(table)
        tx.delete_rows(
            table.name, {file.id: stage_delete(table.location, file, [1], tx.snapshot.id + 1)}
        )
    with catalog.transaction(message="a better name") as tx:
        tx.rename_column("shop.orders", "item", "product")


def show(catalog: Catalog) -> None:
    print("\nSnapshots")
    for commit in catalog.commits():
        did = ", ".join(map(str, commit.changes))
        print(f"  {commit.snapshot.id}  {commit.message or '':<20} {did}")
    reader = catalog.at()
    table = reader.table("shop.orders")
    print(f"\n{table.name}: {table.comment}")
    for column in table.columns:
        print(f"  {column.name:<8} {column.type}{'' if column.nullable else ' not null'}")
    for file in reader.files(table):
        gone = file.delete_file.delete_count if file.delete_file else 0
        print(f"  {file.record_count} rows in {file.file_size_bytes} bytes, {gone} of them deleted")


def ask_duckdb(folder: Path) -> None:
    duck = duckdb.connect()
    for name in ("ducklake", "sqlite_scanner"):
        package = Path(str(importlib.import_module(f"duckdb_extension_{name}").__file__)).parent
        duck.execute(f"LOAD '{package}/extensions/v{duckdb.__version__}/{name}.duckdb_extension'")
    duck.execute(f"ATTACH 'ducklake:sqlite:{folder}/catalog.sqlite' AS lake")
    print("\nThe same table in DuckDB, now and one snapshot ago")
    duck.sql("FROM lake.shop.orders").show()
    duck.sql("FROM lake.shop.orders AT (VERSION => 1)").show()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        address = f"sqlite:{folder}/catalog.sqlite"
        with Catalog.open(address, data_path=f"{folder}/data/", author="demo") as catalog:
            write(catalog)
            show(catalog)
        ask_duckdb(folder)


if __name__ == "__main__":
    main()
