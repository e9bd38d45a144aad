"""Names that could be taken for others: reserved ones, ones with dots, and very long ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import DuckLakeError, InvalidDefinitionError
from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("names")) as opened:
        opened.run("CREATE TABLE t AS SELECT id FROM range(3)")
        yield opened


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE n (_ducklake_place INT)",
        "CREATE TABLE n AS SELECT 1 AS `_DuckLake_Row_Id`",
        "ALTER TABLE t ADD COLUMN _ducklake_internal_row_id INT",
        "ALTER TABLE t RENAME COLUMN id TO _ducklake_action",
        "MERGE INTO t USING (SELECT id, 1 AS _ducklake_in_source FROM t) s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE",
    ],
)
def test_reserved_names_are_rejected(on: SqlLake, statement: str) -> None:
    before = on.newest
    with pytest.raises(InvalidDefinitionError, match="begin with _ducklake_"):
        on.run(statement)
    assert on.newest == before


def test_tables_of_duckdb_with_reserved_names_can_be_read(on: SqlLake) -> None:
    on.duck_runs(
        "CREATE TABLE reserved AS SELECT i AS _ducklake_place, -i AS _ducklake_row_id "
        "FROM range(4) r(i)",
        "DELETE FROM reserved WHERE _ducklake_place = 2",
    )
    query = "SELECT _ducklake_place, _ducklake_row_id FROM reserved"
    assert on.same(query) == [(0, 0), (1, -1), (3, -3)]
    for statement in (
        "INSERT INTO reserved VALUES (9, 9)",
        "DELETE FROM reserved WHERE _ducklake_place = 1",
        "UPDATE reserved SET _ducklake_place = 7",
    ):
        with pytest.raises(DuckLakeError, match="reserved name"):
            on.run(statement)
    assert on.same(query) == [(0, 0), (1, -1), (3, -3)]
    on.run(
        "ALTER TABLE reserved RENAME COLUMN _ducklake_place TO a",
        "ALTER TABLE reserved RENAME COLUMN _ducklake_row_id TO b",
        "UPDATE reserved SET a = 7 WHERE b = -3",
    )
    assert on.same("SELECT a, b FROM reserved") == [(0, 0), (1, -1), (7, -3)]


def test_added_files_keep_columns_that_the_scan_has_names_for(on: SqlLake) -> None:
    """UPDATE wrote the catalog's values in place of those of `row_id_start` of an added file."""
    folder = Path(on.lake.catalog().data_path) / "added"
    folder.mkdir()
    columns = {"row_id_start": [70, 71], "begin_snapshot": [80, 81], "v": [1, 2]}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    on.run("CREATE TABLE added (row_id_start BIGINT, begin_snapshot BIGINT, v BIGINT)")
    on.rows(f"CALL lake.add_data_files('added', '{folder}/a.parquet')")
    on.run("UPDATE added SET v = v + 1 WHERE v = 2")
    assert on.same("SELECT * FROM added") == [(70, 80, 1), (71, 81, 3)]


@pytest.mark.parametrize(
    ("schema", "table", "column"),
    [("a.b", "c.d", "e.f"), ("a`.`b", 'c"."d', "e.f`.g"), ("s" * 300, "t" * 300, "c" * 300),
     ("ü" * 130, "語" * 100, "é" * 200)],
    ids=["dots", "quotes", "long", "long in bytes"],
)  # fmt: skip
def test_names(on: SqlLake, schema: str, table: str, column: str) -> None:
    def quoted(*parts: str) -> str:
        return ".".join("`" + part.replace("`", "``") + "`" for part in parts)

    s, t, c = quoted(schema), quoted(schema, table), quoted(column)
    on.run(
        f"CREATE SCHEMA {s}",
        f"CREATE TABLE {t} ({c} INT, p STRING) PARTITIONED BY (p)",
        f"INSERT INTO {t} VALUES (1, 'x'), (2, 'y')",
        f"INSERT INTO lake.{t} SELECT {quoted(table)}.{c} + 2, p FROM {t}",
        f"UPDATE {t} SET {c} = 5 WHERE {quoted(table)}.{c} = 4",
        f"DELETE FROM {t} WHERE {quoted(table, column)} = 3",
        f"MERGE INTO {t} USING (SELECT 2 AS k) s ON {quoted(table, column)} = s.k "
        f"WHEN MATCHED THEN UPDATE SET {c} = k + 20 "
        f"WHEN NOT MATCHED BY SOURCE AND {c} = 5 THEN UPDATE SET {c} = 6",
        f"CREATE VIEW {quoted(schema, 'v.' + table[:298])} AS "
        f"SELECT {quoted(schema, table, column)} AS {c} FROM {t}",
        f"ALTER TABLE {t} ADD COLUMN {quoted(column + '2')} INT",
    )
    assert on.rows(f"SELECT x.{c} FROM {t} AS x") == [(1,), (22,), (6,)]
    assert on.rows(f"SELECT * FROM {quoted(schema, 'v.' + table[:298])}") == [(1,), (22,), (6,)]
    names = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, table))
    c_duck = '"' + column.replace('"', '""') + '"'
    assert on.duck(f"SELECT {c_duck} FROM {names}") == [(1,), (22,), (6,)]
    files = on.rows(f"SELECT * FROM lake.list_files(table_name => {quote_text(names)})")
    assert files
    on.rows(f"CALL lake.rewrite_data_files(table_name => {quote_text(names)})")
    on.rows(f"DESCRIBE TABLE {t}")
    assert (table,) in {row[1:2] for row in on.rows(f"SHOW TABLES IN {s}")}
    on.run(f"DROP TABLE {t}", f"DROP SCHEMA {s} CASCADE")


def quote_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
