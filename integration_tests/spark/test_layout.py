"""Which files Spark's rows go to: those that DuckDB's own would, whatever the session is set to."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from ducklake_spark.errors import RowCountError
from support.sql_lakes import Rows, SqlLake

# 02:30 does not exist in New York on that day, and in November 01:30 comes twice.
MOMENTS = (
    "2024-03-10 01:30:00", "2024-03-10 02:30:00", "2024-03-10 03:30:00", "2024-11-03 05:30:00",
    "2024-11-03 06:30:00", "1500-02-28 23:59:59.999999", "0044-03-15 (BC) 01:02:03",
    "12000-01-01 00:00:00", "infinity", "-infinity", "294247-01-10 03:00:00",
)  # fmt: skip
FILES = """
    SELECT partition_value, sum(record_count) FROM {0}.ducklake_file_partition_value
    JOIN {0}.ducklake_data_file USING (data_file_id, table_id)
    JOIN {0}.ducklake_table USING (table_id)
    WHERE table_name = '{1}' GROUP BY ALL
"""


def partitions(on: SqlLake, table: str) -> Rows:
    return on.duck(FILES.format("__ducklake_metadata_lake", table))


@pytest.mark.parametrize("key", ["bucket(16, ts)", "hour(ts)", "month(tz)", "day(d)", "tz"])
def test_partitions_in_a_time_zone_that_changes_its_clocks(on: SqlLake, key: str) -> None:
    values = ", ".join(f"('{moment}')" for moment in MOMENTS)
    on.duck_runs(  # whose clock shows UTC
        "CREATE TABLE source AS SELECT m::TIMESTAMP AS ts, ts::TIMESTAMPTZ AS tz, ts::DATE AS d "
        f"FROM (VALUES {values}) s(m)",
        "CREATE TABLE theirs AS FROM source WITH NO DATA",
        f"ALTER TABLE theirs SET PARTITIONED BY ({key})",
        "INSERT INTO theirs FROM source",
    )
    on.lake.sql("SET TIME ZONE 'America/New_York'")
    on.run(
        f"CREATE TABLE ours (ts TIMESTAMP_NTZ, tz TIMESTAMP, d DATE) PARTITIONED BY ({key})",
        "INSERT INTO ours SELECT * FROM source",
    )
    assert partitions(on, "ours") == partitions(on, "theirs")
    assert not on.duck("FROM ours EXCEPT FROM theirs")
    (first,) = on.duck("SELECT count(*) FROM ours WHERE ts = '2024-03-10 02:30:00'")
    assert first == (1,)


@pytest.mark.parametrize("name", ["p q", "a.b", "it's", "select", "x`y", "é"])
def test_partitions_by_columns_of_odd_names(on: SqlLake, name: str) -> None:
    spelled = "`" + name.replace("`", "``") + "`"
    on.run(f"CREATE TABLE t (i INT, {spelled} STRING) PARTITIONED BY ({spelled}, bucket(2, i))")
    on.run("INSERT INTO t VALUES (1, 'a'), (2, NULL)", f"UPDATE t SET {spelled} = 'b' WHERE i = 2")
    assert on.same("SELECT * FROM t") == [(1, "a"), (2, "b")]


def test_bytes_that_are_no_text_are_partitions_of_their_own(on: SqlLake) -> None:
    on.run("CREATE TABLE t (b BINARY, i INT) PARTITIONED BY (b)")
    on.run("INSERT INTO t VALUES (X'FE', 1), (X'FF', 2), (X'', 3), (X'61', 4), (NULL, 5)")
    assert len(partitions(on, "t")) == 5
    assert len(on.same("SELECT * FROM t")) == 5


@pytest.mark.parametrize(
    ("kind", "value"),
    [("UUID", "'F79C3E09-677C-4BBD-A479-3F349CB785E7'"), ("DECIMAL(20, 20)", "-0.25")],
)
def test_buckets_of_one_value_in_two_spellings(on: SqlLake, kind: str, value: str) -> None:
    on.duck_runs(
        f"CREATE TABLE ours (k {kind})", "ALTER TABLE ours SET PARTITIONED BY (bucket(997, k))",
        f"CREATE TABLE theirs (k {kind})", "ALTER TABLE theirs SET PARTITIONED BY (bucket(997, k))",
        f"INSERT INTO theirs SELECT {value} FROM range(20)",
    )  # fmt: skip
    on.run(f"INSERT INTO ours SELECT {value} FROM range(20)")
    assert partitions(on, "ours") == partitions(on, "theirs")
    assert on.rows("SELECT * FROM ours") == on.rows("SELECT * FROM theirs")


def test_values_too_long_for_the_name_of_a_folder(on: SqlLake) -> None:
    on.run("CREATE TABLE t (s STRING, i INT) PARTITIONED BY (s)")
    for i in range(2):
        on.run(f"INSERT INTO t VALUES (repeat('長', 40), {i}), (repeat('x', 400), {i}), ('a', {i})")
    on.duck_runs("CALL lake.merge_adjacent_files()")
    assert len(partitions(on, "t")) == 3
    assert on.same("SELECT count(*), count(DISTINCT s), sum(length(s)) FROM t") == [(6, 3, 882)]


def test_an_order_in_words_of_duckdbs(on: SqlLake, caplog: pytest.LogCaptureFixture) -> None:
    on.duck_runs(
        "CREATE TABLE t (d DATE, i INTEGER)", "ALTER TABLE t SET SORTED BY (i, strftime(d, '%Y'))"
    )
    for start in (0, 10):
        on.run(f"INSERT INTO t SELECT DATE '2024-01-01', {start} + 9 - id FROM range(10)")
    assert "strftime" in caplog.text
    on.rows("CALL lake.merge_adjacent_files()")
    assert [row[1] for row in on.lake.sql("SELECT * FROM t").collect()] == list(range(20))
    assert on.same("SELECT count(*), sum(i) FROM t") == [(20, 190)]


@pytest.mark.parametrize(
    "key",
    ["s COLLATE NOCASE", "regexp_extract(s, '(a')", "s::INT", "i + 2147483647", "10 / (i - 1)",
     "m", "list_sort(l)", "epoch(d)"],
)  # fmt: skip
def test_a_sort_key_that_could_fail_is_not_computed(
    on: SqlLake, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    on.duck_runs(
        "CREATE TABLE t (i INTEGER, s VARCHAR, d DATE, m MAP(VARCHAR, INTEGER), l INTEGER[])",
        f"ALTER TABLE t SET SORTED BY ({key})",
    )
    on.run("INSERT INTO t (i, s) VALUES (2, 'b'), (1, 'a'), (NULL, NULL)")
    on.run("UPDATE t SET i = 3 WHERE i = 2")
    on.rows("CALL lake.merge_adjacent_files()")
    assert "not sorted" in caplog.text
    assert on.same("SELECT i, s FROM t") == [(1, "a"), (3, "b"), (None, None)]


def test_sort_keys_of_duckdb_are_computed(on: SqlLake, caplog: pytest.LogCaptureFixture) -> None:
    on.duck_runs(
        'CREATE TABLE t (i INTEGER, "S t" VARCHAR, d TIMESTAMP, s VARCHAR)',
        "ALTER TABLE t SET SORTED BY (date_trunc('day', d) DESC, lower(\"S t\"), d::DATE, "
        "year(d), length(s) NULLS FIRST, i::VARCHAR DESC)",
    )
    on.run(
        "INSERT INTO t SELECT id, IF(id % 2 = 0, 'B', 'a'), TIMESTAMP_NTZ'2024-01-02 10:00:00', "
        "repeat('x', 4 - id) FROM range(0, 4, 1, 1)"
    )
    assert [row[0] for row in on.lake.sql("SELECT i FROM t").collect()] == [3, 1, 2, 0]
    assert "not sorted" not in caplog.text


def test_a_local_lake_where_spark_is_at_home_on_another_store(on: SqlLake) -> None:
    on.lake._workspace.session.spark.conf.set("fs.defaultFS", "hdfs://nowhere.invalid:1")
    on.run("CREATE TABLE t (s STRING, i INT) PARTITIONED BY (s)")
    on.run("INSERT INTO t VALUES ('a', 1), ('b/%20', 2)", "UPDATE t SET i = 3 WHERE i = 1")
    assert on.same("SELECT * FROM t") == [("a", 3), ("b/%20", 2)]


def test_rows_that_spark_wrote_on_another_machine_are_not_lost(
    on: SqlLake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    elsewhere = f"{tmp_path}/elsewhere/"
    # Its name in the package is a function's.
    stage = importlib.import_module("ducklake_spark.write.stage")
    monkeypatch.setattr(stage, "hadoop_path", lambda _: elsewhere)
    on.run("CREATE TABLE t (i INT)")
    with pytest.raises(RowCountError, match=r"Spark wrote 1 rows of main\.t to"):
        on.run("INSERT INTO t SELECT id FROM range(1)")
