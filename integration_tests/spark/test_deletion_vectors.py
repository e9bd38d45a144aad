"""Spark changes and compacts tables from which DuckDB deletes with deletion vectors."""

from __future__ import annotations

from support.sql_lakes import SqlLake

VECTORS = (
    "CALL lake.set_option('data_inlining_row_limit', 0)",
    "CALL lake.set_option('write_deletion_vectors', true)",
)


def _formats(on: SqlLake) -> set[str]:
    query = "SELECT format FROM ducklake_delete_file WHERE end_snapshot IS NULL"
    return {row[0] for row in on.address.sql(query)}


def test_both_engines_change_a_table_with_vectors(on: SqlLake) -> None:
    on.duck_runs(
        *VECTORS,
        "CREATE TABLE t AS SELECT range AS k, 'v' || range AS v FROM range(1000)",
        "DELETE FROM t WHERE k % 7 = 0",
    )
    assert _formats(on) == {"puffin"}
    on.same("SELECT * FROM t")
    on.run("DELETE FROM t WHERE k BETWEEN 10 AND 20", "UPDATE t SET v = 'ours' WHERE k = 30")
    assert _formats(on) == {"parquet"}
    on.same("SELECT * FROM t")
    on.duck_runs("UPDATE t SET v = 'theirs' WHERE k IN (31, 32)", "DELETE FROM t WHERE k > 990")
    assert _formats(on) == {"puffin"}
    on.same("SELECT * FROM t")
    on.run("MERGE INTO t USING (SELECT 33 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE")
    on.same("SELECT * FROM t")


def test_upkeep_keeps_the_rows_of_a_table_with_vectors(on: SqlLake) -> None:
    on.duck_runs(
        *VECTORS,
        "CREATE TABLE t AS SELECT range AS k FROM range(1000)",
        "INSERT INTO t SELECT range FROM range(1000, 1500)",
        "DELETE FROM t WHERE k % 3 = 0",
    )
    rows = on.same("SELECT * FROM t")
    on.lake.sql("CALL lake.rewrite_data_files(delete_threshold => 0.1)")
    assert on.same("SELECT * FROM t") == rows
    on.lake.sql("CALL lake.merge_adjacent_files()")
    assert on.same("SELECT * FROM t") == rows
    on.duck_runs("DELETE FROM t WHERE k < 500")
    on.lake.sql("CALL lake.rollback(3)")
    assert on.same("SELECT * FROM t") == rows
