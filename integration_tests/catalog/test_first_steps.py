"""A lake made by us is a lake to DuckDB, on every kind of catalog."""

from ducklake_spark.catalog import Field
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import append, delete_positions


def test_duckdb_reads_and_continues_a_table_of_ours(lake: LakeAddress) -> None:
    with lake.open() as catalog:
        with catalog.transaction(author="me", message="first") as tx:
            tx.create_table("t", [Field("id", "int32"), Field("name", "varchar")])
            append(tx, "t", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3}])
        with catalog.transaction() as tx:
            (file,) = tx.files(tx.table("t"))
            delete_positions(tx, "t", file, [1])
        with catalog.transaction() as tx:
            (file,) = tx.files(tx.table("t"))
            delete_positions(tx, "t", file, [0])
    with Oracle(lake) as duck:
        assert duck.rows("FROM t") == [(3, None)]
        assert duck.rows("FROM t AT (VERSION => 2)") == [(1, "a"), (3, None)]
        assert duck.rows("FROM t AT (VERSION => 1)") == [(1, "a"), (2, "b"), (3, None)]
        duck.run("INSERT INTO t VALUES (4, 'd')", "DELETE FROM t WHERE id = 3")
        assert duck.rows("FROM t") == [(4, "d")]
        assert duck.rows("SELECT author, commit_message FROM lake.snapshots()")[1] == (
            "me",
            "first",
        )
    with lake.open(read_only=True) as catalog:
        assert [c.snapshot.id for c in catalog.commits()] == [0, 1, 2, 3, 4, 5]
        files = catalog.at().files(catalog.at().table("t"))
        assert sum(f.record_count - len(f.inlined_deletes) for f in files) > 0
