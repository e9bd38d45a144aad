"""A writer killed at any step of its commit leaves all of it or nothing, and the lake goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ducklake_spark.catalog import Catalog, Field, Transaction
from support.kills import steps_survived
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import append, delete_positions


def overwrite(tx: Transaction) -> None:
    tx.truncate("t")
    append(tx, "t", [{"id": 90, "name": "z"}])


def delete(tx: Transaction) -> None:
    (file,) = tx.files(tx.table("t"))
    delete_positions(tx, "t", file, [0])


def replace(tx: Transaction) -> None:
    tx.create_table("t", [Field("id", "int32"), Field("name", "varchar")], replace_existing=True)
    append(tx, "t", [{"id": 91, "name": "r"}])


def alter(tx: Transaction) -> None:
    tx.add_column("t", Field("extra", "int64"))
    tx.rename_column("t", "name", "label")
    tx.comment_on_table("t", "changed")


def create(tx: Transaction) -> None:
    tx.create_schema("s")
    tx.create_table("s.n", [Field("a", "varchar[]")], sorted_by=["a"])


OPERATIONS: dict[str, Callable[[Transaction], Any]] = {
    "append": lambda tx: append(tx, "t", [{"id": 9, "name": "n"}]),
    "overwrite": overwrite,
    "delete": delete,
    "create": create,
    "replace": replace,
    "alter": alter,
    "drop": lambda tx: tx.drop_table("t"),
    "rename": lambda tx: tx.rename_table("t", "u"),
    "view": lambda tx: tx.create_view("v", "SELECT 1 AS x"),
}


def prepared(lake: LakeAddress) -> None:
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("id", "int32"), Field("name", "varchar")])
        with catalog.transaction() as tx:
            append(tx, "t", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])


def committed(catalog: Catalog, operation: str) -> None:
    with catalog.transaction(message=operation) as tx:
        OPERATIONS[operation](tx)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_killed_writer_leaves_all_or_nothing(operation: str, shared_lake: LakeAddress) -> None:
    prepared(shared_lake)
    assert steps_survived(shared_lake, lambda catalog: committed(catalog, operation)) >= 4
    with shared_lake.open() as catalog:
        assert [commit.message for commit in catalog.commits()][3:] == [operation]
        assert len(catalog.commits()[-1].changes) > 0
        with catalog.transaction() as tx:
            tx.create_table("later", [Field("id", "int32")])
            append(tx, "later", [{"id": 5}])
    with Oracle(shared_lake) as duck:
        duck.run("INSERT INTO later VALUES (6)")
        assert duck.rows("FROM later ORDER BY id") == [(5,), (6,)]
        for schema, table in duck.rows(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake'"
        ):
            duck.rows(f'FROM lake."{schema}"."{table}"')
