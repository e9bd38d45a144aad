"""NaN in data files and in the catalog: both engines find it after every way of writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import duckdb
import pytest

from support.oracle import Oracle
from support.sql_lakes import SqlLake

_VALUES = "DOUBLE('NaN'), 1D, -0D, 0D, DOUBLE('Infinity'), DOUBLE('-Infinity'), NULL"
_COLUMNS = (
    "id INT, f DOUBLE, g FLOAT, s STRUCT<f: DOUBLE, n: INT>, l ARRAY<DOUBLE>, m MAP<INT, DOUBLE>"
)
_CONDITIONS = [
    "f > 8", "f >= 8", "f < 0", "f <= 0", "f = 'nan'", "f < 'nan'", "f <> 1", "f <> 'nan'",
    "f IS NOT DISTINCT FROM 'nan'", "f IS DISTINCT FROM 1", "f IN (8, 'nan')", "f = 'inf'",
    "f > 'inf'", "f = 0", "f = 1", "NOT f <= 8", "f BETWEEN 8 AND 'nan'", "f IS NULL",
    "f IS NOT NULL", "g > 8", "g <> 1", "s.f > 8", "s.f <> 1", "s.f = 'nan'", "l[1] > 8",
    "m[1] > 8", "list_max(l) > 8",
]  # fmt: skip
_QUERIES = [f"SELECT id FROM t WHERE {condition}" for condition in _CONDITIONS] + [
    "SELECT max(f), min(f), max(g), max(s.f), min(s.f) FROM t",
    "SELECT max(f) FROM t WHERE f > 0",
    "SELECT max(l[1]), max(m[1]) FROM t",
    "SELECT f FROM t ORDER BY f DESC, id LIMIT 1",
    "SELECT count(*) FROM t WHERE isnan(f)",
]

_IN_SPARK = ["f > 8", "f <> 1", "s.f > 8", "f = double('nan')", "l[0] > 8", "isnan(f)", "f <= 1"]
Change = Callable[[SqlLake], None]


def _insert(lake: SqlLake, ids: str, values: str) -> None:
    lake.run(
        f"INSERT INTO t SELECT id, v, CAST(v AS FLOAT), named_struct('f', v, 'n', id), "
        f"array(v, v), map(1, v) FROM (SELECT explode(sequence({ids})) AS id) "
        f"CROSS JOIN (SELECT explode(array({values})) AS v)"
    )


def _leave(_: SqlLake) -> None:
    """Keep the files of Spark's own writer."""


def _update(lake: SqlLake) -> None:
    lake.run("UPDATE t SET id = id + 0")


def _merge(lake: SqlLake) -> None:
    lake.run(
        "MERGE INTO t USING (SELECT DISTINCT id FROM t) AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET id = s.id"
    )


def _compact(lake: SqlLake) -> None:
    lake.run("DELETE FROM t WHERE id = 1")
    lake.rows("CALL lake.rewrite_data_files('t', delete_threshold => 0)")
    lake.rows("CALL lake.merge_adjacent_files('t')")


def _late(lake: SqlLake) -> None:
    """Let the writer meet NaN after it wrote row groups without NaN."""
    lake.rows("CALL lake.set_option('parquet_row_group_size', 2, table_name => 't')")
    lake.run("ALTER TABLE t SET SORTED BY (f)", "UPDATE t SET id = id + 0")


def _expected(lake: SqlLake) -> duckdb.DuckDBPyConnection:
    """Copy the rows of t to a DuckDB table that does not use any file statistics."""
    rows = lake.lake.sql("SELECT * FROM t").toArrow()
    connection = duckdb.connect()
    connection.register("rows", rows)
    connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    return connection


def _shown(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """The rows as texts, in which NaN equals NaN and -0.0 equals 0.0."""
    return sorted(
        repr([value + 0.0 if isinstance(value, float) else value for value in row]) for row in rows
    )


def _check(lake: SqlLake) -> None:
    expected = _expected(lake)
    with Oracle(lake.address) as duck:
        for query in _QUERIES:
            assert _shown(duck.rows(query)) == _shown(expected.execute(query).fetchall()), query
    checks = ", ".join(f"IF({one}, id, NULL)" for one in _IN_SPARK)
    wanted = lake.rows(f"SELECT explode(array({checks})) AS id, 1 FROM t")
    pruned = " UNION ALL ".join(f"SELECT id, 1 FROM t WHERE {one}" for one in _IN_SPARK)
    assert lake.rows(pruned) == [row for row in wanted if row[0] is not None]
    _check_catalog(lake)
    assert lake.rows("CALL lake.verify()") == []


def _check_catalog(lake: SqlLake) -> None:
    """Check the bounds and flags. DuckDB skips a file for f <> 1 if both bounds are 1."""
    for table in ("file", "table"):
        said = f"SELECT min_value, max_value, contains_nan FROM ducklake_{table}_column_stats"
        for low, high, contains_nan in lake.address.sql(said):
            assert "nan" not in (low, high)
            assert not contains_nan or low is None or low != high or table == "table"
    unknown = "SELECT * FROM ducklake_file_column_stats WHERE column_id IN (2, 3, 5, 8, 11) "
    assert not lake.address.sql(unknown + "AND (contains_nan IS NULL OR null_count IS NULL)")
    columns = "SELECT column_id FROM ducklake_column WHERE column_type IN ('float32', 'float64')"
    assert lake.address.sql(columns) == [(2,), (3,), (5,), (8,), (11,)]


@pytest.fixture
def lake(on: SqlLake) -> SqlLake:
    on.run(f"CREATE TABLE t ({_COLUMNS})")
    return on


_OTHER_VALUES = ("DOUBLE('NaN'), 1D", "DOUBLE('NaN'), NULL")
_CASES = [(change, _VALUES) for change in (_leave, _update, _merge, _compact, _late)] + [
    (_update, values) for values in _OTHER_VALUES
]


@pytest.mark.parametrize(("change", "values"), _CASES)
def test_both_engines_find_nan(lake: SqlLake, change: Change, values: str) -> None:
    _insert(lake, "1, 3", values)
    _insert(lake, "4, 6", "2D, 3D")
    change(lake)
    _check(lake)
    if "NULL" not in values:
        lake.run("ALTER TABLE t ALTER COLUMN f SET NOT NULL")
    lake.duck_runs("INSERT INTO t (id, f, g) VALUES (7, 500, 500)")
    (left,) = lake.rows("SELECT count(*) FROM t WHERE NOT coalesce(f > 8, false)")
    lake.duck_runs("DELETE FROM t WHERE f > 8")
    assert lake.same("SELECT count(*) FROM t") == [left]


def test_files_without_nan_keep_their_bounds(lake: SqlLake) -> None:
    lake.run(
        "INSERT INTO t (id, f) SELECT id, IF(id = 3, double('NaN'), id) FROM range(1, 4, 1, 1)"
    )
    lake.run("UPDATE t SET id = 0 WHERE id < 3")
    said = "SELECT min_value, max_value, contains_nan FROM ducklake_file_column_stats "
    found = lake.address.sql(said + "WHERE column_id = 2 ORDER BY data_file_id")
    assert [tuple(row) for row in found] == [("1.0", None, 1), ("1.0", "2.0", 0)]
    assert lake.same("SELECT id FROM t WHERE f > 8") == [(3,)]
    # Earlier builds wrote NaN as a bound, and footers with bounds that hide NaN.
    change = "UPDATE ducklake_file_column_stats SET contains_nan = {} WHERE column_id = 2 AND {}"
    lake.address.sql(change.format("1, max_value = 'nan'", "max_value IS NULL"))
    assert lake.same("SELECT id FROM t WHERE f > 8") == [(3,)]
    assert lake.rows("CALL lake.verify()") == []
    lake.address.sql(change.format(1, "max_value = '2.0'"))
    assert [row[1] for row in lake.rows("CALL lake.verify()")] == ["nan-hidden"]
    lake.address.sql(change.format(0, "max_value = '2.0'"))
    lake.run("UPDATE t SET id = 4 WHERE id = 3")
    assert lake.rows("CALL lake.verify()") == []
    lake.address.sql(change.format(0, "min_value IS NULL"))
    assert [row[1] for row in lake.rows("CALL lake.verify()")] == ["file-statistics-wrong"]


def test_partitions_of_floats(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE t (f DOUBLE, n INT)",
        "ALTER TABLE t SET PARTITIONED BY (f)",
        f"INSERT INTO t SELECT f, CAST(1 AS INT) FROM (SELECT explode(array({_VALUES})) AS f)",
    )
    on.duck_runs("INSERT INTO t VALUES ('nan', 2), (-0.0, 2), (0.0, 2), ('-nan', 2), (1, 2)")
    assert on.run("UPDATE t SET n = n + 10").rows_updated == 12
    said = "SELECT DISTINCT partition_value FROM ducklake_file_partition_value"
    values = {row[0] for row in on.address.sql(said)}
    assert values >= {"nan", "0.0", "1.0", "inf", "-inf", None}
    assert not values & {"-nan"}
    assert on.same("SELECT n, count(*) FROM t GROUP BY n") == [(11, 7), (12, 5)]
    overwritten = on.run("INSERT OVERWRITE t PARTITION (f) SELECT double('NaN'), 20")
    assert (overwritten.rows_deleted, overwritten.rows_inserted) == (3, 1)
    assert on.same("SELECT n FROM t WHERE f = CAST('nan' AS DOUBLE)") == [(20,)]
    overwritten = on.run("INSERT OVERWRITE t PARTITION (f) SELECT 0D, 30")
    assert (overwritten.rows_deleted, overwritten.rows_inserted) == (4, 1)
    assert on.same("SELECT n FROM t WHERE f = 0") == [(30,)]
    assert on.run("DELETE FROM t WHERE f = double('NaN')").rows_deleted == 1
    assert not on.rows("CALL lake.verify()")
