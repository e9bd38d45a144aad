"""Few rows of literals are written without a Spark job, and nothing about them is different."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.write import at_hand
from support.sql_lakes import SqlLake

_COLUMNS = (
    "id INT NOT NULL, n TINYINT, big BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(9, 2), b BOOLEAN, "
    "s STRING, moment TIMESTAMP, local TIMESTAMP_NTZ, day DATE, raw BINARY, u UUID, ti TIME, "
    "xs ARRAY<INT>, st STRUCT<`a.b`: DOUBLE, y: STRING>, m MAP<STRING, DATE>"
)
_ROWS = """SELECT /*+ COALESCE(1) */ * FROM VALUES
    (1, 127, 9223372036854775807, FLOAT('NaN'), 0.5D, 1.5, true, '',
     TIMESTAMP '1900-01-01 00:00:00', TIMESTAMP_NTZ '0044-03-15 01:02:03.000001', DATE '9999-12-31',
     X'00FF', '123e4567-e89b-12d3-a456-426614174000', '23:59:59.999999', array(1, NULL),
     named_struct('a.b', DOUBLE('NaN'), 'y', 'é'), map('k', DATE '1582-10-10')),
    (2, -1, 0, 1.5, DOUBLE('-Infinity'), -0.01, false, 'x\\'\\n', current_timestamp(), NULL,
     DATE '2026-01-01', X'', NULL, '00:00:00', array(), named_struct('a.b', NULL, 'y', ''), NULL),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL)
"""

_BY_PYARROW, _BY_SPARK = {"parquet-cpp-arrow"}, {"parquet-mr"}


def _statistics(on: SqlLake, table: str) -> list[tuple[object, ...]]:
    """What the catalog knows of a table's columns; of f, PyArrow gives no bounds beside NaN."""
    query = """
        SELECT c.column_name, s.value_count, s.null_count, s.min_value, s.max_value, s.contains_nan
        FROM ducklake_file_column_stats s JOIN ducklake_column c USING (table_id, column_id)
        JOIN ducklake_table t USING (table_id)
        WHERE t.table_name = :name AND c.column_name NOT IN ('moment', 'f') ORDER BY 1, 2, 3
    """
    with closing(sqlite3.connect(on.address.catalog.removeprefix("sqlite:"))) as catalog:
        return catalog.execute(query, {"name": table}).fetchall()


def _writers(folder: Path, table: str) -> set[str]:
    """The programs that wrote the files of a table."""
    files = (folder / "data" / "main" / table).rglob("*.parquet")
    return {pq.read_metadata(file).created_by.partition(" ")[0] for file in files}


@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
def test_rows_and_statistics_are_those_of_a_job(
    on: SqlLake, zone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on.lake.execute(f"SET TIME ZONE '{zone}'")
    for table in ("here", "there"):
        on.run(f"CREATE TABLE {table} ({_COLUMNS})", f"INSERT INTO {table} {_ROWS}")
        monkeypatch.setattr(at_hand, "_MOST_ROWS", -1)
    assert _writers(tmp_path, "here") == _BY_PYARROW
    assert _writers(tmp_path, "there") == _BY_SPARK
    of_spark = "SELECT * EXCEPT (moment) FROM {table}"
    assert repr(on.rows(of_spark.format(table="here"))) == repr(
        on.rows(of_spark.format(table="there"))
    )
    query = "SELECT COLUMNS(* EXCLUDE (moment))::VARCHAR FROM {table} ORDER BY id"
    assert on.duck(query.format(table="here")) == on.duck(query.format(table="there"))
    assert _statistics(on, "here") == _statistics(on, "there")


@pytest.mark.parametrize(
    ("query", "writers"),
    [
        ("SELECT 1, 'a'", _BY_PYARROW),
        ("SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, s) WHERE id > 1 LIMIT 5", _BY_PYARROW),
        ("SELECT count(*), max(s) FROM VALUES (1, 'a') AS v(id, s)", _BY_PYARROW),
        ("SELECT explode(array(1, 2)), 'a'", _BY_SPARK),  # nobody knows how many
        ("SELECT id, 'a' FROM range(3)", _BY_SPARK),
        ("SELECT x.id, y.s FROM VALUES (1) AS x(id), VALUES ('a') AS y(s)", _BY_SPARK),
    ],
)
def test_only_a_few_rows_of_literals_need_no_job(
    on: SqlLake, query: str, writers: set[str], tmp_path: Path
) -> None:
    on.run("CREATE TABLE t (id BIGINT, s STRING)", f"INSERT INTO t {query}")
    assert _writers(tmp_path, "t") == writers
    assert on.same("SELECT * FROM t")


def test_partitions_sort_orders_and_many_rows_take_a_job(on: SqlLake, tmp_path: Path) -> None:
    on.run(
        "CREATE TABLE p (id INT, s STRING) PARTITIONED BY (s)",
        "CREATE TABLE o (id INT, s STRING)",
        "ALTER TABLE o SET SORTED BY (id)",
        "CREATE TABLE m (id INT)",
        "INSERT INTO p VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO o VALUES (2, 'a'), (1, 'b')",
        f"INSERT INTO m VALUES {', '.join(f'({at})' for at in range(10_001))}",
    )
    for table in ("p", "o", "m"):
        assert _writers(tmp_path, table) == _BY_SPARK
    assert on.same("SELECT count(*), min(id), max(id) FROM m") == [(10_001, 0, 10_000)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("(1, 'a'), (NULL, 'b')", "is NOT NULL, and 1 of the rows"),
        ("(1, 'a'), (3000000000, 'b')", "3000000000"),
        ("(1, 'a'), (1 / 0, 'b')", r"1 / 0"),
    ],
)
def test_of_rows_with_a_wrong_one_nothing_stays(
    on: SqlLake, values: str, message: str, tmp_path: Path
) -> None:
    on.run("CREATE TABLE t (id INT NOT NULL, s STRING)")
    before = on.newest
    with pytest.raises(DuckLakeError, match=message):
        on.run(f"INSERT INTO t VALUES {values}")
    assert on.newest == before
    assert not list((tmp_path / "data").rglob("*.parquet"))
    assert on.same("SELECT * FROM t") == []


def test_what_no_job_wrote_is_continued_by_duckdb(on: SqlLake) -> None:
    on.run("CREATE TABLE t (id INT, f DOUBLE)", "INSERT INTO t VALUES (1, DOUBLE('NaN')), (2, 0.5)")
    on.duck_runs(
        "UPDATE t SET f = 9 WHERE f > 8",
        "INSERT INTO t VALUES (3, 'nan')",
        "CALL lake.merge_adjacent_files()",
    )
    on.run("INSERT INTO t SELECT 4, -0.0", "DELETE FROM t WHERE id = 2")
    assert on.same("SELECT id FROM t WHERE f > 8") == [(1,), (3,)]
    assert on.rows("CALL lake.verify()") == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.execution.arrow.useLargeVarTypes", "true"),
        ("spark.sql.execution.arrow.maxRecordsPerBatch", "1"),
        ("spark.sql.session.timeZone", "+05:30"),
        ("spark.sql.caseSensitive", "true"),
        (
            "spark.sql.optimizer.excludedRules",
            "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
        ),
    ],
)
def test_settings_of_the_session_change_no_row(on: SqlLake, key: str, value: str) -> None:
    on.lake.session.spark.conf.set(key, value)
    query = (
        "SELECT id, repeat(s, 3000) AS `a.b``c`, TIMESTAMP '1890-01-01 00:00:00.000001Z' AS at_, "
        "rand() AS r FROM VALUES (1, 'é'), (2, NULL), (3, '') AS v (id, s)"
    )
    on.run(f"CREATE TABLE t AS {query}", f"INSERT INTO t {query}")
    counts = "count(*), count(DISTINCT r), max(length({name})), count(DISTINCT at_)"
    spark, duck = counts.format(name="`a.b``c`"), counts.format(name='"a.b`c"')
    assert on.rows(f"SELECT {spark} FROM t") == [(6, 6, 3000, 1)]
    assert on.duck(f"SELECT {duck} FROM t") == [(6, 6, 3000, 1)]
    moment = "SELECT DISTINCT epoch_us(at_) FROM t"
    assert on.duck(moment) == [(-2524521599999999,)]
