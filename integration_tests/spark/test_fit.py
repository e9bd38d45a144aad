"""What is written fits the table: nested fields by name, NOT NULL, files of a sensible size."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from ducklake_spark import Lake
from ducklake_spark.catalog import Field
from ducklake_spark.errors import InvalidDefinitionError, NotFoundError
from ducklake_spark.session import Session
from ducklake_spark.write import Clause, append, merge, overwrite, update
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


def test_nested_fields_are_matched_by_name_and_cast(lake: LakeAddress, session: Session) -> None:
    with Oracle(lake) as duck:
        duck.run(
            "CREATE TABLE t (st STRUCT(a INTEGER, b VARCHAR, inner_ STRUCT(x TINYINT, y DATE)),"
            " l STRUCT(k INTEGER, v DOUBLE)[], m MAP(VARCHAR, STRUCT(p INTEGER, u UUID)))"
        )
    query = """
        SELECT array(named_struct('V', 1, 'k', 2L), NULL) AS l,
            named_struct('inner_', named_struct('y', DATE '2024-01-01', 'x', 3L), 'A', 7S) AS st,
            map('k', named_struct('u', 'ffffffff-ffff-4fff-bfff-ffffffffffff')) AS m
    """
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            append(tx, "t", session.spark.sql(query))
        wrong = {
            "SELECT named_struct('a', 1, 'z', 2) AS st": (NotFoundError, "st.z"),
            "SELECT named_struct('b', array(1)) AS st": (InvalidDefinitionError, "st.b"),
            "SELECT array(named_struct('q', 1)) AS l": (NotFoundError, "l.element.q"),
            "SELECT map('k', named_struct('u', 'no')) AS m": (Exception, "m.value.u"),
            "SELECT named_struct('inner_', named_struct('x', 1000)) AS st": (Exception, "1000"),
        }
        for bad, (error, words) in wrong.items():
            with pytest.raises(error, match=words), catalog.transaction() as tx:
                append(tx, "t", session.spark.sql(bad))
    with Oracle(lake) as duck:
        assert duck.rows("SELECT st, l, m['k'].p, m['k'].u::VARCHAR FROM t") == [
            (
                {"a": 7, "b": None, "inner_": {"x": 3, "y": datetime.date(2024, 1, 1)}},
                [{"k": 2, "v": 1.0}, None],
                None,
                "ffffffff-ffff-4fff-bfff-ffffffffffff",
            )
        ]


def test_missing_values_are_refused_by_name_and_leave_nothing(
    lake: LakeAddress, session: Session
) -> None:
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table(
                "t",
                [
                    Field("id", "int32"),
                    Field("v", "int32", nullable=False),
                    Field("st", "struct(a int32)", nullable=False),
                ],
            )
        query = "SELECT CAST(id AS INT) id, 1 AS v, named_struct('a', 1) AS st FROM range(5)"
        with catalog.transaction() as tx:
            append(tx, "t", session.spark.sql(query))
        folder = Path(catalog.at().table("t").location)
        files = sorted(folder.rglob("*.parquet"))
        source = session.spark.sql("SELECT 2 AS id UNION ALL SELECT 9")
        clauses = [
            Clause("matched", "update", None, {"id": "target.id + 100"}),
            Clause("not matched", "insert", None, {"id": "source.id", "v": "1"}),
        ]
        attempts = {
            "'st'": lambda tx: append(tx, "t", session.spark.sql("SELECT 7 AS id, 1 AS v")),
            "'v'": lambda tx: update(session, tx, "t", {"v": "nullif(id, 3)"}),
            "'st' ": lambda tx: merge(session, tx, "t", source, "target.id = source.id", clauses),
        }
        for column, attempt in attempts.items():
            with (
                pytest.raises(InvalidDefinitionError, match=f"Column {column.strip()}.*NOT NULL"),
                catalog.transaction() as tx,
            ):
                attempt(tx)
            assert sorted(folder.rglob("*.parquet")) == files, column


def test_many_small_tasks_and_one_large_one_make_files_of_the_target_size(
    lake: LakeAddress, session: Session
) -> None:
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("odd [dir] {t}", [Field("id", "int64"), Field("s", "varchar")])
        tiny = session.spark.range(0, 300, 1, numPartitions=60).selectExpr("id", "'x' AS s")
        with catalog.transaction() as tx:
            assert len(overwrite(tx, '"odd [dir] {t}"', tiny).files) == 1
            tx.set_option("target_file_size", "100KB", table='"odd [dir] {t}"')
        large = session.spark.range(0, 60_000, 1, numPartitions=1).selectExpr("id", "uuid() AS s")
        with catalog.transaction() as tx:
            staged = append(tx, '"odd [dir] {t}"', large)
        sizes = [file.file_size_bytes for file in staged.files]
        assert max(sizes) < 200_000
        assert sum(sizes) / len(sizes) > 50_000
    with Oracle(lake) as duck:
        assert duck.rows('SELECT count(*), count(DISTINCT id), sum(id) FROM "odd [dir] {t}"') == [
            (60_300, 60_000, sum(range(300)) + sum(range(60_000)))
        ]


def test_rows_of_duckdbs_files_make_files_of_the_target_size(
    lake: LakeAddress, session: Session
) -> None:
    """Those have field ids at every level, and what Spark writes of them has none."""
    with Oracle(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")
        duck.run("CREATE TABLE d AS SELECT i, {'x': i} AS s, [{'y': i}] AS l FROM range(10) r(i)")
    with Lake.open(lake.catalog, spark=session.spark) as opened:
        outcome = opened.execute("CREATE TABLE t AS SELECT /*+ REPARTITION(10) */ * FROM d").outcome
        assert outcome is not None
        assert outcome.files == 1
    with Oracle(lake) as duck:
        assert duck.rows("FROM t ORDER BY i") == duck.rows("FROM d ORDER BY i")


def test_a_large_partition_is_in_files_of_the_target_size(
    lake: LakeAddress, session: Session
) -> None:
    with lake.open() as catalog:
        fields = [Field("id", "int64"), Field("g", "varchar"), Field("s", "varchar")]
        with catalog.transaction() as tx:
            tx.create_table("t", fields, partitioned_by=["g"])
            tx.set_option("target_file_size", "100KB", table="t")
        skewed = "SELECT id, IF(id % 100 = 0, 'b c', 'a=1') AS g, uuid() AS s FROM range(30000)"
        with catalog.transaction() as tx:
            staged = append(tx, "t", session.spark.sql(skewed))
    assert max(file.file_size_bytes for file in staged.files) < 200_000
    assert [f.partition_values for f in staged.files].count(("b c",)) <= 2
    with Oracle(lake) as duck:
        counted = "SELECT g, count(*), count(DISTINCT id) FROM t GROUP BY 1 ORDER BY 1"
        assert duck.rows(counted) == [("a=1", 29_700, 29_700), ("b c", 300, 300)]
        assert duck.rows("SELECT count(*) FROM t WHERE g = 'b c'") == [(300,)]
        duck.run("CALL lake.set_option('target_file_size', '10MB', table_name => 't')")
        duck.run("CALL ducklake_merge_adjacent_files('lake')")
        assert duck.rows(counted) == [("a=1", 29_700, 29_700), ("b c", 300, 300)]


def test_a_write_of_nothing_is_no_error_and_makes_no_files(
    lake: LakeAddress, session: Session
) -> None:
    """Spark counts nothing in a plan that it sees to be empty."""
    fields = [Field("id", "int64", nullable=False), Field("f", "float64")]
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", fields)
        nothing = session.spark.createDataFrame([], "id long, f double")
        with catalog.transaction() as tx:
            assert append(tx, "t", nothing).files == ()
            assert update(session, tx, "t", {"f": "1"}).updated == 0
        assert catalog.snapshot().id == 1
