"""CALL lake.verify() gives each fault as a row, for one table or for all."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import NotFoundError
from support.sql_lakes import SqlLake


def test_a_lake_that_spark_wrote_has_no_fault(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE lake.main.t (id INT, xs ARRAY<INT>, m MAP<STRING, DOUBLE>, "
        "s STRUCT<a: INT, b: ARRAY<STRING>>, u TIMESTAMP, d DECIMAL(12, 3)) "
        "PARTITIONED BY (bucket(2, id))",
        "INSERT INTO lake.main.t SELECT id, array(id, NULL), map('k', id / 2), "
        "named_struct('a', id, 'b', array('x')), timestamp '2026-01-01 00:00:00', id "
        "FROM range(40)",
        "DELETE FROM lake.main.t WHERE id % 7 = 0",
        "UPDATE lake.main.t SET d = NULL WHERE id = 5",
        "MERGE INTO lake.main.t USING (SELECT 8 AS id UNION SELECT 90) n ON t.id = n.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (n.id)",
        "ALTER TABLE lake.main.t ADD COLUMN late DOUBLE DEFAULT 1.5",
        "INSERT INTO lake.main.t (id, late) VALUES (100, double('NaN'))",
        "CREATE TABLE lake.main.other AS SELECT * FROM lake.main.t",
        "INSERT OVERWRITE lake.main.other SELECT * FROM lake.main.t WHERE id < 9",
    )
    on.duck_runs(
        "CREATE TABLE times AS SELECT i::INTEGER AS k, TIME '10:00:00' AS tm FROM range(20) r(i)"
    )
    on.run("UPDATE lake.main.times SET k = 50 WHERE k = 3")
    assert on.rows("CALL lake.verify()") == []


def test_faults_are_rows(on: SqlLake) -> None:
    on.run("CREATE TABLE lake.main.t (id INT)", "CREATE TABLE lake.main.o (id INT)")
    on.address.sql("DELETE FROM ducklake_schema_versions")
    frame = on.lake.sql("CALL lake.verify(files => false)")
    assert frame.columns == ["severity", "fault", "relation", "problem", "advice"]
    found = {(row.severity, row.fault, row.relation) for row in frame.collect()}
    expected = {("error", "schema-version-missing", f"main.{name}") for name in ("t", "o")}
    assert found == expected
    (row,) = on.rows("CALL lake.verify(table_name => 'o')")
    assert row[2] == "main.o"
    with pytest.raises(NotFoundError, match=r"main\.oo"):
        on.rows("CALL lake.verify('oo')")
