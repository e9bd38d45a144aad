"""Everything once on one kind of Spark, in a process of its own: spark_smoke.py KIND FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from ducklake_spark import Lake
from ducklake_spark.catalog import Field
from ducklake_spark.scan import read_table, table_changes
from ducklake_spark.session import Session
from ducklake_spark.write import Clause, append, delete, merge, update
from support.lakes import file_lake
from support.sparks import settings

FIELDS = (
    Field("id", "int64", nullable=False),
    Field("f", "float64"),
    Field("u", "uuid"),
    Field("l", "struct(a int32, t time)[]"),
)


def main(kind: str, folder: str) -> None:
    lake = file_lake("sqlite", Path(folder))
    with Session.open(settings(kind)) as session, lake.open() as catalog:
        assert session.is_connect == (kind == "connect")
        with catalog.transaction() as tx:
            tx.create_table("t", FIELDS, partitioned_by=["bucket(2, id)"])
        query = (
            "SELECT id, IF(id = 3, double('nan'), id / 2) AS f, uuid() AS u,"
            " array(named_struct('a', 1, 't', '01:02:03')) AS l FROM range(40)"
        )
        with catalog.transaction() as tx:
            append(tx, "t", session.spark.sql(query))
        with catalog.transaction() as tx:
            assert update(session, tx, "t", {"f": "-1"}, "id < 5").updated == 5
        with catalog.transaction() as tx:
            assert delete(session, tx, "t", "id % 10 = 9") == 4
        with catalog.transaction() as tx:
            source = session.spark.range(38, 42)
            clauses = [
                Clause("matched", "update", None, {"f": "0"}),
                Clause("not matched", "insert", None, {"id": "source.id"}),
            ]
            changed = merge(session, tx, "t", source, "target.id = source.id", clauses)
            assert (changed.updated, changed.inserted) == (1, 3)
        reader = catalog.at()
        assert read_table(session, reader, reader.table("t")).count() == 39
        changes = table_changes(session, catalog, "t", 3, reader.snapshot.id)
        found = {
            row.change_type: row["count"]
            for row in changes.groupBy("change_type").count().collect()
        }
        with Lake.open(lake.catalog, spark=session.spark) as opened:  # as users hand one over
            assert opened.sql("SELECT count(*) FROM t WHERE id < 5").collect() == [(5,)]
            opened.sql("CREATE TABLE s (k BIGINT) SORTED BY (k)")
            for key in (2, 1):
                opened.sql(f"INSERT INTO s VALUES ({key})")
            opened.sql("CALL lake.merge_adjacent_files('s')")
            assert opened.sql("SELECT k FROM s").collect() == [(1,), (2,)]
    expected = {"update_preimage": 6, "update_postimage": 6, "delete": 4, "insert": 3}
    assert found == expected, found
    print("all well", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
