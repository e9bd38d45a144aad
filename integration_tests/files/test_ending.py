"""All rows of whole files go, and DuckDB's list of changes has each of them once."""

from __future__ import annotations

import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.errors import RefusedError
from ducklake_spark.files import end_files, truncate
from support.lakes import LakeAddress
from support.parquet import append
from support.shared_duck import SharedDuck

DELETES = """
    SELECT snapshot_id, list(id ORDER BY id) FROM ducklake_table_changes('lake', 'main', 't', 1, 4)
    WHERE change_type = 'delete' GROUP BY ALL ORDER BY ALL
"""


@pytest.fixture
def half_deleted(lake: LakeAddress) -> LakeAddress:
    """A table of two files; a row of each is deleted in the catalog, another in a delete file."""
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.create_table("t", [Field("id", "int32")])
        append(tx, "t", [{"id": i} for i in range(4)])
        append(tx, "t", [{"id": i} for i in range(4, 8)])
    with SharedDuck(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')")
        duck.run("DELETE FROM t WHERE id IN (1, 5)")
        duck.run("CALL lake.set_option('data_inlining_row_limit', 10, table_name => 't')")
        duck.run("DELETE FROM t WHERE id IN (0, 4)")
    return lake


def test_truncate(half_deleted: LakeAddress) -> None:
    with half_deleted.open() as catalog, catalog.transaction() as tx:
        truncate(tx, "t")
        assert tx.files(tx.table("t"))[0].delete_file is not None
    with SharedDuck(half_deleted) as duck:
        assert duck.rows("SELECT count(*), count(id) FROM t") == [(0, 0)]
        assert duck.rows("SELECT id FROM t AT (VERSION => 3) ORDER BY id") == [
            (2,),
            (3,),
            (6,),
            (7,),
        ]
        assert duck.rows(DELETES) == [(2, [1, 5]), (3, [0, 4]), (4, [2, 3, 6, 7])]


def test_one_of_two_files(half_deleted: LakeAddress) -> None:
    with half_deleted.open() as catalog, catalog.transaction() as tx:
        table = tx.table("t")
        end_files(tx, table, tx.files(table)[:1])
    with SharedDuck(half_deleted) as duck:
        assert duck.rows("SELECT id FROM t ORDER BY id") == [(6,), (7,)]
        assert duck.rows(DELETES) == [(2, [1, 5]), (3, [0, 4]), (4, [2, 3])]


def test_the_catalog_alone_refuses(half_deleted: LakeAddress) -> None:
    with half_deleted.open() as catalog:
        tx = catalog.transaction()
        with pytest.raises(RefusedError, match="truncate or end_files"):
            tx.truncate("t")
