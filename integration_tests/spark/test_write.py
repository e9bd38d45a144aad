"""What Spark writes, DuckDB reads, prunes, changes and compacts."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ducklake_spark import Lake
from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.scan import read_table
from ducklake_spark.session import Session
from ducklake_spark.storage.filesystem import move_file
from ducklake_spark.write import append, overwrite
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


ALL = """
    SELECT id, concat('n', id) AS name, named_struct('a', id, 'b', array('x', NULL)) AS st,
        map('k', id) AS m, CAST(id / 7 AS DECIMAL(10,2)) AS d,
        TIMESTAMP_NTZ '2024-01-01 00:00:00' + make_dt_interval(id) AS ts,
        timestamp_micros(1704067200000000 + id) AS tz,
        date_add(DATE '2024-01-01', CAST(id AS INT)) AS day,
        uuid() AS u, '01:02:03.45' AS t, IF(id = 3, double('nan'), id / 3) AS f,
        CAST('ab' AS BINARY) AS bl, id % 2 = 0 AS ok, CAST(id AS DECIMAL(20,0)) AS u64,
        TIMESTAMP_NTZ '2024-01-01 10:00:00.123' AS tms, TIMESTAMP_NTZ '2024-01-01 10:00:01' AS tsec,
        array(named_struct('t', '23:59:59.999999', 'u', uuid())) AS deep, id % 200 AS u8, '{}' AS j
    FROM range(50)
"""
FIELDS = (
    Field("id", "int64", nullable=False),
    Field("name", "varchar"),
    Field("st", "struct(a int64, b varchar[])"),
    Field("m", "map(varchar, int64)"),
    Field("d", "decimal(10,2)"),
    Field("ts", "timestamp"),
    Field("tz", "timestamptz"),
    Field("day", "date"),
    Field("u", "uuid"),
    Field("t", "time"),
    Field("f", "float64"),
    Field("bl", "blob"),
    Field("ok", "boolean"),
    Field("u64", "uint64"),
    Field("tms", "timestamp_ms"),
    Field("tsec", "timestamp_s"),
    Field("deep", "struct(t time, u uuid)[]"),
    Field("u8", "uint8"),
    Field("j", "json"),
)


def create(catalog: Catalog, **options: object) -> None:
    with catalog.transaction() as tx:
        tx.create_table("t", FIELDS, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "keys",
    [
        (),
        ("name",),
        ("month(ts)", "bucket(4, id)"),
        ("year(day)", "day(tz)", "hour(ts)", "ok"),
        ("bucket(3, name)", "bucket(2, u)", "bucket(2, d)"),
    ],
)
def test_duckdb_reads_prunes_changes_and_compacts_what_spark_wrote(
    lake: LakeAddress, session: Session, keys: tuple[str, ...]
) -> None:
    with lake.open() as catalog:
        create(catalog, partitioned_by=keys, sorted_by=["id desc"])
        with catalog.transaction() as tx:
            staged = append(tx, "t", session.spark.sql(ALL))
        assert staged.record_count == 50
        with catalog.transaction() as tx:
            append(tx, "t", session.spark.sql(ALL).withColumn("id", _plus_100()))
    with Oracle(lake) as duck:
        assert duck.value("SELECT count(*) FROM t") == 100
        assert duck.rows("SELECT name, st, m, d, t::VARCHAR, f, u64 FROM t WHERE id = 7") == [
            ("n7", {"a": 7, "b": ["x", None]}, {"k": 7}, 1, "01:02:03.45", 7 / 3, 7)
        ]
        assert duck.value("SELECT min(length(u::VARCHAR)) FROM t") == 36
        assert duck.value("SELECT count(*) FROM t WHERE isnan(f)") == 2
        assert duck.rows("SELECT id FROM t ORDER BY id LIMIT 2") == [(0,), (1,)]
        duck.run("DELETE FROM t WHERE id = 5", "UPDATE t SET name = 'new' WHERE id = 6")
        duck.run("CALL ducklake_merge_adjacent_files('lake')")
        duck.run("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.0)")
        duck.run("ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 7")
        expected = duck.rows("SELECT id, name, f::VARCHAR, u::VARCHAR, extra FROM t ORDER BY ALL")
    with lake.open() as catalog:
        reader = catalog.at()
        frame = read_table(session, reader, reader.table("t"))
        frame.createOrReplaceTempView("ours")
        assert frame.count() == 99
        rows = session.spark.sql("SELECT id, name, u, extra FROM ours ORDER BY id, name, u")
        assert [tuple(row) for row in rows.collect()] == sorted(
            (row[0], row[1], row[3], row[4]) for row in expected
        )
        with catalog.transaction() as tx:
            overwrite(tx, "t", session.spark.sql(ALL).limit(3))
    with Oracle(lake) as duck:
        assert duck.value("SELECT count(*) FROM t") == 3
        assert duck.value("SELECT sum(extra) FROM t") == 21


def _plus_100():  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as F

    return F.col("id") + 100


def test_partitions_are_those_that_duckdb_makes(lake: LakeAddress, session: Session) -> None:
    keys = ("bucket(5, id)", "year(day)", "month(tz)", "hour(ts)", "name")
    query = (
        "SELECT DISTINCT partition_value, partition_key_index FROM {}.ducklake_file_partition_value"
    )
    with lake.open() as catalog:
        create(catalog, partitioned_by=keys)
        with catalog.transaction() as tx:
            append(tx, "t", session.spark.sql(ALL))
    with Oracle(lake) as duck:
        ours = duck.rows(query.format("__ducklake_metadata_lake") + " ORDER BY ALL")
        duck.run("CREATE TEMP TABLE copy AS FROM t", "TRUNCATE t", "INSERT INTO t FROM temp.copy")
        ended = "SELECT data_file_id FROM __ducklake_metadata_lake.ducklake_data_file"
        theirs = duck.rows(
            query.format("__ducklake_metadata_lake")
            + f" WHERE data_file_id IN ({ended} WHERE end_snapshot IS NULL) ORDER BY ALL"
        )
    assert ours == theirs


def test_empty_text_null_and_odd_text_are_partitions_of_their_own(
    lake: LakeAddress, session: Session
) -> None:
    values = ["", None, "__", "__HIVE_DEFAULT_PARTITION__", "a/b=c %", "é", "A", "a"]
    frame = session.spark.createDataFrame([(v,) for v in values], "s string")
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("p", [Field("s", "varchar")], partitioned_by=["s"])
        with catalog.transaction() as tx:
            append(tx, "p", frame)
            files = tx.files(tx.table("p"))
    assert sorted(map(repr, (f.partition_values[0] for f in files))) == sorted(map(repr, values))
    with Oracle(lake) as duck:
        assert duck.value("SELECT count(*) FROM p WHERE s = ''") == 1
        assert duck.value("SELECT count(*) FROM p WHERE s IS NULL") == 1


def test_values_that_do_not_fit_are_refused_and_nothing_is_left_behind(
    lake: LakeAddress, session: Session
) -> None:
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("n", [Field("a", "int8", nullable=False), Field("b", "date")])
        folder = Path(catalog.at().table("n").location)
        wrong = {
            "SELECT 'x' AS a": Exception,
            "SELECT 1 AS a, true AS b": InvalidDefinitionError,
            "SELECT CAST(NULL AS INT) AS a": InvalidDefinitionError,
            "SELECT 1000 AS a": Exception,
        }
        for query, error in wrong.items():
            with pytest.raises(error) as caught, catalog.transaction() as tx:
                append(tx, "n", session.spark.sql(query))
            assert (
                "'a'" in str(caught.value)
                or "'b'" in str(caught.value)
                or "1000" in str(caught.value)
            )
        assert catalog.snapshot().id == 1
        assert not folder.exists()


def test_a_move_that_fails_leaves_no_files(
    lake: LakeAddress, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[str] = []

    def move(source: str, target: str) -> None:
        moved.append(target)
        if len(moved) > 2:
            raise OSError("No room.")
        move_file(source, target)

    monkeypatch.setattr(sys.modules["ducklake_spark.write.stage"], "move_file", move)
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("p", [Field("a", "int64")], partitioned_by=["a"])
        with pytest.raises(OSError, match="No room"), catalog.transaction() as tx:
            append(tx, "p", session.spark.range(4).toDF("a"))
    assert not list(lake.data_folder.rglob("*.parquet"))


def test_spark_reads_back_what_it_wrote_as_duckdb_reads_it(
    lake: LakeAddress, session: Session
) -> None:
    with lake.open() as catalog:
        create(catalog)
        with catalog.transaction() as tx:
            append(tx, "t", session.spark.sql(ALL))
        reader = catalog.at()
        frame = read_table(session, reader, reader.table("t"))
        shown = frame.selectExpr(*(f"CAST({c} AS STRING)" for c in TEXTS)).collect()
        deep = [row.deep[0] for row in frame.collect()]
    assert {(len(d.t), len(d.u)) for d in deep} == {(15, 36)}
    with Oracle(lake) as duck:
        listed = ", ".join(f"{c}::VARCHAR" for c in TEXTS)
        assert sorted(tuple(row) for row in shown) == sorted(duck.rows(f"SELECT {listed} FROM t"))
        assert duck.rows("SELECT DISTINCT deep[1].t::VARCHAR FROM t") == [("23:59:59.999999",)]
        continue_with(duck)


TEXTS = ("id", "name", "d", "ts", "day", "u", "t", "u64", "tms", "tsec", "u8", "j")


def continue_with(duck: Oracle) -> None:
    """DuckDB filters by these columns' statistics and takes the table further."""
    assert duck.value("SELECT count(*) FROM t WHERE t = TIME '01:02:03.45'") == 50
    assert duck.value("SELECT count(*) FROM t WHERE t > TIME '02:00:00'") == 0
    assert duck.value("SELECT count(*) FROM t WHERE tms < TIMESTAMP '2024-01-01 10:00:00.2'") == 50
    duck.run("INSERT INTO t (id, t) VALUES (1000, TIME '05:00:00')", "DELETE FROM t WHERE id = 3")
    duck.run("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.0)")
    assert duck.rows("SELECT max(t)::VARCHAR, count(*) FROM t") == [("05:00:00", 50)]


@pytest.mark.parametrize("layout", ["", "PARTITIONED BY (b)"])
def test_columns_of_another_table_do_not_bring_their_field_ids(
    lake: LakeAddress, session: Session, layout: str
) -> None:
    """DuckDB's files have them, and the statistics of a file must be those of its own columns."""
    with Oracle(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")
        duck.run("CREATE TABLE s AS SELECT i AS a, i + 1000 AS b, {'x': i} AS c FROM range(9) t(i)")
    with Lake.open(lake.catalog, spark=session.spark) as opened:
        opened.sql(f"CREATE TABLE t {layout} AS SELECT b, a, c FROM s WHERE a < 6")
        for condition in ("a = 3", "b = 1003", "c.x = 3"):
            found = opened.sql(f"SELECT a, b, c.x AS x FROM t WHERE {condition}").toArrow()
            assert found.to_pylist() == [{"a": 3, "b": 1003, "x": 3}], condition
    with Oracle(lake) as duck:
        for condition in ("a = 3", "b = 1003", "c.x = 3"):
            assert duck.rows(f"SELECT a, b, c.x FROM t WHERE {condition}") == [(3, 1003, 3)]


@pytest.mark.parametrize(
    ("options", "codec", "groups"),
    [
        ({}, "SNAPPY", 1),
        ({"parquet_compression": "uncompressed", "parquet_version": 2}, "UNCOMPRESSED", 1),
        ({"parquet_compression": "zstd", "parquet_compression_level": 9}, "ZSTD", 1),
        ({"parquet_compression": "gzip", "parquet_row_group_size": 1000}, "GZIP", 3),
        ({"parquet_compression_level": 9, "parquet_row_group_size_bytes": 9000}, "SNAPPY", 2),
    ],
)
def test_inserts_and_updates_are_written_with_the_options_in_force(
    lake: LakeAddress, session: Session, options: dict[str, object], codec: str, groups: int
) -> None:
    """Spark writes the one and PyArrow the other."""
    with Lake.open(lake.catalog, data_path=lake.data_path, spark=session.spark) as opened:
        for name, value in options.items():
            opened.sql(f"CALL set_option('{name}', '{value}')")
        opened.sql("CREATE TABLE t AS SELECT /*+ COALESCE(1) */ uuid() AS v FROM range(3000)")
        opened.sql("UPDATE t SET v = uuid()")
    footers = [pq.ParquetFile(file).metadata for file in lake.data_folder.rglob("*.parquet")]
    written = [footer for footer in footers if footer.num_columns < 3]
    assert sorted(footer.num_columns for footer in written) == [1, 2]  # the update keeps row ids
    for footer in written:
        assert footer.row_group(0).column(0).compression == codec
        assert footer.num_row_groups >= groups if groups > 1 else footer.num_row_groups == 1
    with Oracle(lake) as duck:
        assert duck.rows("SELECT count(v), count(DISTINCT rowid) FROM t") == [(3000, 3000)]
