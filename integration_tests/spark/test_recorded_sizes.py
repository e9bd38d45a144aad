"""Sizes and row counts in the catalog that are too small raise an error; no row is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from ducklake_spark.errors import CatalogDamagedError, ConfigError
from ducklake_spark.sql.failures import SPARK_ERRORS
from support.sql_lakes import SqlLake

_QUERIES = [
    "SELECT count(*) FROM t",
    "SELECT * FROM t WHERE id = 9999",
    "SELECT count(*) FROM t VERSION AS OF 1",
    "DELETE FROM t WHERE id >= 9000",
    "UPDATE t SET s = 'x' WHERE id >= 9000",
    "CREATE TABLE copied AS SELECT * FROM t",
    "INSERT INTO t SELECT id + 20000, s FROM t",
]


@pytest.fixture
def lake(on: SqlLake) -> SqlLake:
    """A lake with a table of one file of five row groups."""
    on.duck_runs(
        "CALL lake.set_option('parquet_row_group_size', 2048)",
        "CREATE TABLE t AS SELECT range AS id, md5(range::VARCHAR) AS s FROM range(10000)",
    )
    return on


def _record(lake: SqlLake, **values: int | str) -> None:
    changes = ", ".join(f"{key} = {value}" for key, value in values.items())
    lake.address.sql(f"UPDATE ducklake_data_file SET {changes}")


def _file(lake: SqlLake) -> Path:
    with lake.address.open(read_only=True) as catalog:
        (path,) = (p for p in catalog.named_files() if "-delete" not in p)
    return Path(path)


@pytest.mark.parametrize("size", ["0", "file_size_bytes - 1"])
def test_a_recorded_size_that_is_too_small_is_an_error(lake: SqlLake, size: str) -> None:
    real = _file(lake).stat().st_size
    _record(lake, file_size_bytes=size)
    before = lake.address.dump()
    for query in _QUERIES:
        with pytest.raises(CatalogDamagedError, match=f"{_file(lake).name}.* {real:,} bytes"):
            lake.lake.sql(query).collect()
    assert lake.address.dump() == before
    assert "file-size-wrong" in {row.fault for row in lake.lake.sql("CALL lake.verify()").collect()}


def test_a_recorded_size_that_is_too_large_does_no_harm(lake: SqlLake) -> None:
    for factor in (2, 500):
        _record(lake, file_size_bytes=f"{_file(lake).stat().st_size * factor}")
        assert lake.rows("SELECT count(*), count(DISTINCT s) FROM t") == [(10000, 10000)]


@pytest.mark.parametrize("footer_size", ["0", "footer_size * 2"])
def test_the_recorded_size_of_the_footer_does_not_matter(lake: SqlLake, footer_size: str) -> None:
    _record(lake, footer_size=footer_size)
    assert lake.rows("SELECT count(*), count(DISTINCT s) FROM t") == [(10000, 10000)]


def test_rows_are_counted_in_the_file(lake: SqlLake) -> None:
    _record(lake, record_count=100)
    assert lake.rows("SELECT count(*), max(id) FROM t") == [(10000, 9999)]


@pytest.mark.parametrize("record_count", [100, 9990])
def test_a_file_with_more_rows_than_recorded_is_not_ended(lake: SqlLake, record_count: int) -> None:
    _record(lake, record_count=record_count)
    before = lake.address.dump()
    with pytest.raises(CatalogDamagedError, match=f"10,000 rows, .* {record_count:,}[.]"):
        lake.lake.sql("DELETE FROM t WHERE id < 9995")
    assert lake.address.dump() == before


def test_a_file_with_deletes_and_more_rows_than_recorded_is_an_error(lake: SqlLake) -> None:
    """The rows behind the recorded count were lost, or deleted as those of another file."""
    lake.duck_runs(
        "DELETE FROM t WHERE id % 3 = 0", "INSERT INTO t SELECT range, 'n' FROM range(9)"
    )
    lake.duck_runs("DELETE FROM t WHERE id < 3 AND s = 'n'")
    lake.address.sql("UPDATE ducklake_data_file SET record_count = 4000 WHERE record_count = 10000")
    with pytest.raises(
        PySparkException, match=r"fewer rows than there are in the data file .*\.parquet"
    ):
        lake.rows("SELECT sum(id) FROM t")


def test_a_truncated_table_keeps_no_rows_behind_the_recorded_count(lake: SqlLake) -> None:
    lake.duck_runs("CALL lake.set_option('data_inlining_row_limit', 100, table_name => 't')")
    lake.duck_runs("DELETE FROM t WHERE id < 3")
    _record(lake, record_count=4000)
    with pytest.raises(CatalogDamagedError, match=r"10,000 rows, .* 4,000\."):
        lake.lake.sql("TRUNCATE TABLE t")


@pytest.mark.parametrize("fault", ["Missing", "Corrupt"])
def test_lost_and_damaged_files_are_not_read_as_empty(lake: SqlLake, fault: str) -> None:
    key = f"spark.sql.files.ignore{fault}Files"
    path = _file(lake)
    content = path.read_bytes()
    if fault == "Missing":
        path.unlink()
    else:
        path.write_bytes(content[:-300])
    with pytest.raises(ConfigError, match=f"Cannot change {key}"):
        lake.lake.sql(f"SET {key} = true")
    assert lake.rows(f"SET {key}") == [(key, "false")]
    lake.lake.session.spark.conf.set(key, "true")  # which passes by all checks
    try:
        with pytest.raises(SPARK_ERRORS):
            lake.rows("SELECT count(*) FROM t")
    finally:
        lake.lake.session.spark.conf.set(key, "false")
    path.write_bytes(content)
    assert lake.rows("SELECT count(*) FROM t") == [(10000,)]
