"""Every codec and level that an option accepts works in Spark, PyArrow and DuckDB."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import ConfigError
from support.sql_lakes import SqlLake

_CODECS = {
    "uncompressed": "UNCOMPRESSED",
    "snappy": "SNAPPY",
    "gzip": "GZIP",
    "zstd": "ZSTD",
    "lz4": "LZ4",  # what PyArrow calls LZ4_RAW; Hadoop's own framing would be UNKNOWN
    "lz4_raw": "LZ4",
}


def _codecs(lake: SqlLake, table: str) -> set[str]:
    folder = Path(lake.address.data_path, "main", table)
    return {
        pq.read_metadata(path).row_group(0).column(0).compression
        for path in folder.rglob("*.parquet")
        if not path.name.endswith("-delete.parquet")
    }


def test_every_codec_is_read_and_continued_by_duckdb(on: SqlLake) -> None:
    for codec, name in _CODECS.items():
        on.run(
            f"CREATE TABLE {codec} (id BIGINT, xs ARRAY<BIGINT>) "
            f"TBLPROPERTIES ('parquet_compression' = '{codec}')",
            f"INSERT INTO {codec} SELECT id, array(id) FROM range(100)",
            f"UPDATE {codec} SET xs = array(7) WHERE id < 10",  # PyArrow writes these
        )
        assert _codecs(on, codec) == {name}
        on.duck_runs(f"INSERT INTO {codec} SELECT range, [range] FROM range(100, 200)")
        assert on.same(f"SELECT count(*), sum(id) FROM {codec}") == [(200, 19900)]
        on.lake.sql(f"CALL lake.merge_adjacent_files('{codec}')")
        assert on.same(f"SELECT count(*), sum(id) FROM {codec}") == [(200, 19900)]


@pytest.mark.parametrize(("codec", "levels"), [("gzip", (0, 5, 9)), ("zstd", (1, 19))])
def test_levels_are_honoured_by_both_writers(
    on: SqlLake, codec: str, levels: tuple[int, ...]
) -> None:
    sizes = []
    for level in levels:
        table = f"t{level}"
        on.run(
            f"CREATE TABLE {table} (id BIGINT, s STRING) TBLPROPERTIES "
            f"('parquet_compression' = '{codec}', 'parquet_compression_level' = '{level}')",
            f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, md5(CAST(id % 999 AS STRING)) "
            "FROM range(30000)",
        )
        ((size,),) = on.duck(
            f"SELECT file_size_bytes FROM ducklake_table_info('lake') WHERE table_name = '{table}'"
        )
        sizes.append(size)
        on.run(f"UPDATE {table} SET id = -1 WHERE id = 5")
        assert on.same(f"SELECT count(*), sum(id) FROM {table}") == [(30000, 449984994)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize(
    ("option", "value", "codec", "message"),
    [
        ("parquet_compression", "brotli", "brotli", "'brotli', which Spark does not support"),
        ("parquet_compression_level", 22, "gzip", "22, but gzip has levels from 0 to 9"),
    ],
)
def test_options_of_duckdb_that_spark_cannot_follow_stop_a_write(
    on: SqlLake, option: str, value: object, codec: str, message: str
) -> None:
    on.run("CREATE TABLE t AS SELECT id, array(id) AS xs FROM range(10)")
    on.duck_runs(
        f"CALL lake.set_option('parquet_compression', '{codec}')",
        f"CALL lake.set_option('{option}', {value!r})",
    )
    before = on.address.dump()
    files = sorted(Path(on.address.data_path).rglob("*"))
    for statement in (
        "INSERT INTO t SELECT 1, array(1)",
        "UPDATE t SET id = 5 WHERE id = 1",
        "MERGE INTO t USING (SELECT 3 AS k) ON id = k WHEN MATCHED THEN UPDATE SET id = 9",
        "CREATE TABLE u AS SELECT 1 AS a",
    ):
        with pytest.raises(ConfigError, match=message):
            on.lake.sql(statement)
    assert on.address.dump() == before
    assert sorted(Path(on.address.data_path).rglob("*")) == files
    assert on.same("SELECT count(*), sum(id) FROM t") == [(10, 45)]


@pytest.mark.parametrize("value", ["brotli", "none"])
def test_a_codec_that_spark_lacks_cannot_be_set(on: SqlLake, value: str) -> None:
    with pytest.raises(ConfigError, match="parquet_compression cannot be"):
        on.lake.sql(f"CALL lake.set_option('parquet_compression', '{value}')")


def test_a_sort_key_that_spark_does_not_know_is_left_out(on: SqlLake) -> None:
    on.duck_runs(
        "CREATE TABLE t (id BIGINT, s VARCHAR)",
        "ALTER TABLE t SET SORTED BY (strip_accents(s), id)",
    )
    on.run("INSERT INTO t SELECT id, 'x' FROM range(100)")
    on.run("UPDATE t SET s = 'y' WHERE id = 3")
    assert on.same("SELECT count(*), sum(id), min(s), max(s) FROM t") == [(100, 4950, "x", "y")]


@pytest.mark.parametrize(
    "setting", ["ducklake_max_retry_count", "DUCKLAKE_RETRY_WAIT_MS", "ducklake_retry_backoff"]
)
def test_settings_of_duckdb_are_rejected(on: SqlLake, setting: str) -> None:
    with pytest.raises(ConfigError, match=f"{setting} is a setting of DuckDB"):
        on.lake.sql(f"SET {setting} = 3")
