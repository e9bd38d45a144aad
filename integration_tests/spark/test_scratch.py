"""Files that tell Spark what to scan do not pile up, and frames work without them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import functions as F

from support.sql_lakes import SqlLake


def manifests(on: SqlLake) -> list[Path]:
    root = on.lake.session.scratch._root
    return [] if root is None else [path for path in root.iterdir() if path.is_dir()]


def test_statements_leave_no_manifests(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE t AS SELECT id AS a, id AS b FROM range(10)",
        "CREATE VIEW v AS SELECT a FROM t WHERE a > 2",
        "INSERT INTO t SELECT a + 10, b FROM t",
        "UPDATE t SET b = 0 WHERE a IN (SELECT a FROM v)",
        "DELETE FROM t WHERE a = 1",
        "MERGE INTO t USING v ON t.a = v.a WHEN MATCHED THEN UPDATE SET b = 2",
        "CREATE TEMPORARY VIEW kept AS SELECT a FROM v",
    )
    assert len(on.same("SELECT a FROM t")) == 19
    on.lake.sql("CALL lake.merge_adjacent_files('t')")
    on.lake.sql("SELECT * FROM lake.table_changes('t', 0, 2)").collect()
    assert manifests(on) == []
    assert len(on.rows("SELECT a FROM kept")) == 17


def test_frames_work_after_their_statement(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE t AS SELECT id AS a FROM range(10)",
        "INSERT INTO t VALUES (100)",
        "DELETE FROM t WHERE a = 3",
    )
    spark = on.lake.session.spark
    frames = [on.lake.sql("SELECT a FROM t"), on.lake.table("t")]
    on.run("INSERT INTO t VALUES (200)")
    assert on.rows("SELECT count(*) FROM t") == [(11,)]
    for frame in frames:
        frame.createOrReplaceTempView("again")
        assert frame.count() == spark.table("again").count() == 10
        assert frame.where("a > 50").collect() == [(100,)]
        assert frame.join(frame.withColumnRenamed("a", "b"), F.expr("a = b + 1")).count() == 7
        frame.cache()
        assert frame.count() == 10
        frame.unpersist()
        spark.catalog.clearCache()
        spark.catalog.refreshTable("again")
        assert frame.union(frame).count() == 20
        frame.write.format("noop").mode("overwrite").save()


def test_the_pile_of_a_connect_session_is_bounded(on: SqlLake) -> None:
    """Spark Connect looks at a frame anew whenever it is used, so those of `table` need theirs."""
    on.run("CREATE TABLE t AS SELECT id AS a FROM range(10)")
    frames = [on.lake.table("t") for _ in range(5)]
    on.rows("SELECT a FROM t WHERE a > 2")
    assert len(manifests(on)) == (1 if on.lake.session.is_connect else 0)
    assert [frame.count() for frame in frames] == [10] * 5
    scratch = on.lake.session.scratch._root
    on.lake.session.close()
    assert scratch is None or not scratch.exists()
