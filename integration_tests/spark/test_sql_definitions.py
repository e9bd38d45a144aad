"""CREATE, DROP, ALTER and COMMENT through SQL; DuckDB sees the same definitions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.session import Session
from support.sql_lakes import Rows, SqlLake, sql_lake


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("definitions")) as opened:
        yield opened


def columns(on: SqlLake, name: str) -> Rows:
    """Columns as DuckDB describes them, in order."""
    on.duck(f"SELECT * FROM {name}")
    found = on.duck(
        "SELECT column_index, column_name, data_type, is_nullable, column_default, comment "
        f"FROM duckdb_columns() WHERE database_name = 'lake' AND table_name = '{name}'"
    )
    return [tuple(None if v == "NULL" else v for v in row[1:]) for row in sorted(found)]


def test_create_table_with_everything(on: SqlLake) -> None:
    outcome = on.run(
        "CREATE TABLE lake.main.full_house (id BIGINT NOT NULL COMMENT 'the key', "
        "`odd name` STRING DEFAULT 'it''s', at TIMESTAMP, d DECIMAL(10, 2) DEFAULT 1.5, "
        "xs ARRAY<INT>, m MAP<STRING, DOUBLE>, s STRUCT<a: INT, b: ARRAY<STRING>>) "
        "PARTITIONED BY (bucket(4, id), month(at)) SORTED BY (at DESC NULLS LAST, id) "
        "TBLPROPERTIES ('parquet_compression' = 'zstd', target_file_size = '10MB') "
        "COMMENT 'all of it'"
    )
    assert (outcome.operation, outcome.snapshot_id) == ("CREATE TABLE", on.newest)
    assert columns(on, "full_house") == [
        ("id", "BIGINT", False, None, "the key"),
        ("odd name", "VARCHAR", True, "'it''s'", None),
        ("at", "TIMESTAMP WITH TIME ZONE", True, None, None),
        ("d", "DECIMAL(10,2)", True, "'1.50'", None),
        ("xs", "INTEGER[]", True, None, None),
        ("m", "MAP(VARCHAR, DOUBLE)", True, None, None),
        ("s", "STRUCT(a INTEGER, b VARCHAR[])", True, None, None),
    ]
    options = on.rows("SHOW TBLPROPERTIES full_house")
    assert ("parquet_compression", "zstd") in options
    on.run("INSERT INTO full_house (id, at, s) SELECT id, TIMESTAMP '2024-01-15 10:00:00', "
           "named_struct('a', 1, 'b', array('x')) FROM range(20)")  # fmt: skip
    assert on.duck('SELECT count(*), min("odd name"), min(d)::VARCHAR FROM full_house') == [
        (20, "it's", "1.50")
    ]
    files = on.rows("SELECT partition_values FROM lake.list_files('full_house')")
    assert len(files) > 1


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("CREATE TABLE c AS SELECT 1 AS a, 'x' AS b", [(1, "x")]),
        ("CREATE OR REPLACE TABLE c AS SELECT 2 AS z", [(2,)]),
        ("CREATE TABLE IF NOT EXISTS c AS SELECT 3 AS y", [(0,), (1,)]),
        ("CREATE OR REPLACE TABLE c (a BIGINT, b STRING) AS SELECT 3, 'y'", [(3, "y")]),
        ("CREATE OR REPLACE TABLE c PARTITIONED BY (a) AS SELECT id AS a FROM range(2)",
         [(0,), (1,)]),
        ("CREATE OR REPLACE TABLE c AS SELECT a + 1 AS a FROM c", [(1,), (2,)]),
        ("CREATE OR REPLACE TABLE c USING ducklake AS WITH q AS (SELECT 1 AS a) SELECT * FROM q",
         [(1,)]),
        ("CREATE OR REPLACE TABLE c AS SELECT 1 AS a WHERE false", []),
        ("CREATE OR REPLACE TABLE c SELECT 5 AS a", [(5,)]),
        ("CREATE OR REPLACE TABLE c LIKE c", []),
    ],
)  # fmt: skip
def test_create_table_as(on: SqlLake, statement: str, rows: Rows) -> None:
    on.run("CREATE OR REPLACE TABLE c AS SELECT id AS a FROM range(2)")
    if statement.startswith("CREATE TABLE c"):
        on.run("DROP TABLE c")
    newest = on.newest
    on.run(statement)
    assert on.same("SELECT * FROM c") == rows
    assert on.newest == newest + ("IF NOT EXISTS" not in statement)


def test_a_failed_replacement_leaves_the_table(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE TABLE kept AS SELECT 1 AS a")
    newest = on.newest
    with pytest.raises(DuckLakeError, match="Division by zero"):
        on.run("CREATE OR REPLACE TABLE kept AS SELECT 1 / (id - 5) AS a FROM range(10)")
    assert on.newest == newest
    assert on.same("SELECT * FROM kept") == [(1,)]


def test_alter_table(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE a (id INT, v STRING, s STRUCT<x: INT>, gone INT)",
        "INSERT INTO a VALUES (1, 'one', named_struct('x', 1), 0)",
        "ALTER TABLE a ADD COLUMN n BIGINT DEFAULT 7 COMMENT 'seven'",
        "ALTER TABLE lake.main.a ADD COLUMNS (p DOUBLE, q STRING NOT NULL DEFAULT 'q')",
        "ALTER TABLE a ADD COLUMN IF NOT EXISTS n INT",
        "ALTER TABLE a ADD COLUMN s.y STRING",
        "ALTER TABLE a DROP COLUMN gone",
        "ALTER TABLE a DROP COLUMN IF EXISTS gone",
        "ALTER TABLE a RENAME COLUMN v TO w",
        "ALTER TABLE a RENAME COLUMN s.x TO z",
        "ALTER TABLE a ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE a ALTER COLUMN w SET DEFAULT 'dflt'",
        "ALTER TABLE a ALTER COLUMN w COMMENT 'was v'",
        "ALTER TABLE a ALTER COLUMN q DROP NOT NULL",
        "ALTER TABLE a ALTER COLUMN id SET NOT NULL",
        "INSERT INTO a (id, s) VALUES (2, named_struct('z', 2, 'y', 'yy'))",
    )
    assert on.duck("SELECT * FROM a") == [
        (1, "one", {"z": 1, "y": None}, 7, None, "q"),
        (2, "dflt", {"z": 2, "y": "yy"}, 7, None, "q"),
    ]
    assert on.rows("SELECT id, w, s.z, s.y, n, p, q FROM a") == [
        (1, "one", 1, None, 7, None, "q"), (2, "dflt", 2, "yy", 7, None, "q"),
    ]  # fmt: skip
    assert [row[0] for row in columns(on, "a") if row[4]] == ["w", "n"]
    on.run("ALTER TABLE a ALTER COLUMN w DROP DEFAULT", "ALTER TABLE a RENAME TO b")
    assert on.duck("SELECT count(*) FROM b") == [(2,)]
    on.run("ALTER TABLE main.b RENAME TO main.a", "DROP TABLE a")


def test_defaults_of_bytes(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE x AS SELECT 1 AS id", "ALTER TABLE x ADD COLUMN b BINARY DEFAULT X'00fF61'"
    )
    on.run("INSERT INTO x (id) VALUES (2)", "INSERT INTO x VALUES (3, DEFAULT)")
    on.duck_runs("INSERT INTO x (id) VALUES (4)")
    assert on.same("SELECT id, hex(b) FROM x") == [(i, "00FF61") for i in range(1, 5)]
    (text,) = (row[0] for row in on.rows("SHOW CREATE TABLE x"))
    assert "DEFAULT X'00ff61'" in text
    on.run("DROP TABLE x")


def test_layout_and_options(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE l (id INT, at DATE)",
        "ALTER TABLE l SET PARTITIONED BY (year(at), bucket(2, id))",
        "ALTER TABLE l SET SORTED BY (id DESC)",
        "INSERT INTO l SELECT id, date_add(DATE '2024-01-01', CAST(id * 100 AS INT)) FROM range(8)",
    )
    values = on.rows("SELECT DISTINCT partition_values[0] FROM lake.list_files('l')")
    assert values == [("2024",), ("2025",)]
    (text,) = (row[0] for row in on.rows("SHOW CREATE TABLE l"))
    assert "PARTITIONED BY (year(`at`), bucket(2, `id`))" in text
    assert "SORTED BY (id DESC" in text
    on.run("ALTER TABLE l RESET PARTITIONED BY", "ALTER TABLE l RESET SORTED BY")
    (text,) = (row[0] for row in on.rows("SHOW CREATE TABLE l"))
    assert "BY" not in text
    on.run("ALTER TABLE l SET TBLPROPERTIES ('parquet_compression' = 'gzip')")
    assert ("parquet_compression", "gzip") in on.rows("SHOW TBLPROPERTIES l")
    on.run("ALTER TABLE l UNSET TBLPROPERTIES ('parquet_compression')")
    assert ("parquet_compression", "gzip") not in on.rows("SHOW TBLPROPERTIES l")
    on.run("DROP TABLE l")


def test_what_show_create_says_creates_the_same(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE twin (id INT NOT NULL, `a b` STRING DEFAULT 'x' COMMENT 'it''s', "
        "d DECIMAL(5, 1), xs ARRAY<STRUCT<k: STRING, v: TIMESTAMP>>) "
        "PARTITIONED BY (bucket(3, id)) SORTED BY (id) COMMENT 'c' "
        "TBLPROPERTIES ('target_file_size' = '1MB')"
    )
    (text,) = (row[0] for row in on.rows("SHOW CREATE TABLE twin"))
    before = columns(on, "twin")
    on.run("DROP TABLE twin", text)
    assert columns(on, "twin") == before
    assert [row[0] for row in on.rows("SHOW CREATE TABLE twin")] == [text]


def test_show_create_names_the_types_of_the_lake(on: SqlLake) -> None:
    types = (
        "tinyint", "smallint", "int", "bigint", "hugeint", "utinyint", "usmallint", "uinteger",
        "ubigint", "uhugeint", "float", "double", "decimal(5, 1)", "string", "binary", "boolean",
        "date", "timestamp", "timestamp_ntz", "timestamp_s", "timestamp_ms",
        "time", "uuid", "json", "array<time>", "map<string, utinyint>",
        "struct<`a b`: uuid, `c``d`: timestamp, comment: array<struct<x: json>>>",
    )  # fmt: skip
    defaults = (
        "INT DEFAULT 42", "DOUBLE DEFAULT -1.5", "DOUBLE DEFAULT 'nan'", "BOOLEAN DEFAULT true",
        "DATE DEFAULT DATE '2024-01-15'", "TIMESTAMP DEFAULT TIMESTAMP '2024-01-15 01:02:03'",
        "TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ '2024-01-15 01:02:03.5'", "BINARY DEFAULT X'0061'",
        "UBIGINT DEFAULT 18446744073709551615", "STRING DEFAULT '42'", "TIME DEFAULT '01:02:03'",
        "UUID DEFAULT '00000000-ffff-4fff-bfff-ffffffffffff'", "DECIMAL(5, 1) DEFAULT 1.5",
    )  # fmt: skip
    defined = ", ".join(f"c{at} {text}" for at, text in enumerate((*types, *defaults)))
    on.run(f"CREATE TABLE every ({defined})")
    (text,) = (row[0] for row in on.rows("SHOW CREATE TABLE every"))
    before = columns(on, "every")
    on.run("DROP TABLE every", text)
    assert columns(on, "every") == before
    assert [row[0] for row in on.rows("SHOW CREATE TABLE every")] == [text]
    assert "`c27` int DEFAULT 42," in text


def test_schemas(on: SqlLake) -> None:
    on.run("CREATE SCHEMA s1", "CREATE SCHEMA IF NOT EXISTS lake.s1", "CREATE DATABASE `s 2`")
    on.run("CREATE TABLE s1.t AS SELECT 1 AS a", "CREATE TABLE lake.`s 2`.t AS SELECT 2 AS a")
    assert on.duck('SELECT a FROM s1.t UNION ALL SELECT a FROM "s 2".t') == [(1,), (2,)]
    on.run("USE s1")
    assert on.rows("SELECT a FROM t") == [(1,)]
    on.run("USE main")
    with pytest.raises(DuckLakeError, match="s1"):
        on.run("DROP SCHEMA s1")
    on.run("DROP SCHEMA s1 CASCADE", "DROP SCHEMA IF EXISTS s1", "DROP SCHEMA lake.`s 2` CASCADE")
    on.run("ALTER TABLE IF EXISTS s1.gone ADD COLUMN a INT", "DROP VIEW IF EXISTS s1.gone")
    assert on.rows("SHOW SCHEMAS") == [("main",)]


def test_comments(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE k (id INT)",
        "COMMENT ON TABLE lake.main.k IS 'a \"table\"'",
        "COMMENT ON COLUMN k.id IS 'it''s'",
    )
    assert columns(on, "k")[0][4] == "it's"
    found = "SELECT comment FROM duckdb_tables() WHERE table_name = 'k' AND database_name = 'lake'"
    assert on.duck(found) == [('a "table"',)]
    on.run(
        "CREATE TABLE deep AS SELECT named_struct('a', 1) AS s",
        "COMMENT ON COLUMN deep.s.a IS 'one'",
        "COMMENT ON COLUMN lake.main.deep.s.a IS 'two'",
    )
    field = on.lake.reader().table("main.deep").column("s.a")
    assert field.comment == "two"
    on.run("COMMENT ON TABLE k IS NULL", "COMMENT ON COLUMN lake.main.k.id IS NULL")
    assert on.duck(found) == [(None,)]
    assert columns(on, "k")[0][4] is None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE x", "columns or a query"),
        ("CREATE TABLE x (a INT", r"\)"),
        ("CREATE TABLE x (a)", "type"),
        ("CREATE TABLE x (a INT, A INT)", "(?i)a"),
        ("CREATE TABLE x (a NOSUCHTYPE)", "NOSUCHTYPE|nosuchtype"),
        ("CREATE TABLE x (a INT PRIMARY KEY)", "no constraint"),
        ("CREATE TABLE x (a INT, CONSTRAINT c CHECK (a > 0))", "no constraint"),
        ("CREATE TABLE x (a INT) PARTITIONED BY (b)", "b"),
        ("CREATE TABLE x (a INT) PARTITIONED BY (truncate(3, a))", "truncate"),
        ("CREATE TABLE x (a INT) PARTITIONED BY (nope)", "Column 'nope'"),
        ("CREATE TABLE x (a INT) SORTED BY (nope)", "nope"),
        ("CREATE TABLE x (a INT) SORTED BY (a descending)", "'a descending' is no sort key"),
        ("CREATE TABLE x (a INT) SORTED BY (a desc nulls)", "'a desc nulls' is no sort key"),
        ("CREATE TABLE x (a INT) TBLPROPERTIES ('nope' = '1')", "nope"),
        ("CREATE TABLE x AS SELECT 1 AS a, 2 AS a", "(?i)a"),
        ("CREATE TABLE x AS SELECT INTERVAL 1 MONTH AS i", "no table of a lake|INTERVAL|interval"),
        ("CREATE TABLE x (a INT) AS SELECT 1, 2", "1 columns, and its query gives 2"),
        ("CREATE TABLE base AS SELECT 1 AS a", "base"),
        ("CREATE TABLE nope.x AS SELECT 1 AS a", "nope"),
        ("CREATE TABLE a.b.c AS SELECT 1 AS a", "single-part namespace"),
        ("CREATE TABLE a.b.c.d AS SELECT 1 AS a", "single-part namespace"),
        ("CREATE SCHEMA main", "main"),
        ("CREATE SCHEMA x LOCATION '/tmp/x'", "LOCATION"),
        ("DROP TABLE nope", "nope"),
        ("DROP VIEW base", "(?i)view|base"),
        ("DROP SCHEMA nope", "nope"),
        ("DROP TABLE base extra", "end of the statement"),
        ("ALTER TABLE base", "ADD, DROP"),
        ("ALTER TABLE base ADD COLUMN id INT", "id"),
        ("ALTER TABLE base ADD COLUMN z INT FIRST", "at the end"),
        ("ALTER TABLE base DROP COLUMN nope", "nope"),
        ("ALTER TABLE base ALTER COLUMN id TYPE TINYINT", "(?i)type|int"),
        ("ALTER TABLE base RENAME TO other.base", "schema|other"),
        ("ALTER TABLE base SET PARTITIONED BY (nope)", "nope"),
        ("ALTER TABLE base SET LOCATION 'x'", "PARTITIONED BY"),
        ("ALTER TABLE base RENAME COLUMN id TO v", "v"),
        ("COMMENT ON TABLE nope IS 'x'", "nope"),
        ("COMMENT ON COLUMN base.nope IS 'x'", "nope"),
        ("COMMENT ON TABLE base", "IS"),
        ("USE nope", "nope"),
        ("CALL lake.nope()", "nope"),
        ("CALL lake.set_option('nope', 1)", "nope"),
        ("SELECT * FROM lake.nope()", "nope"),
        ("CREATE TABLE `x'; DROP TABLE base; --` (`a\"b` NOSUCH)", "(?i)nosuch"),
    ],
)
def test_what_cannot_be_defined_changes_nothing(on: SqlLake, statement: str, message: str) -> None:
    on.run("CREATE TABLE IF NOT EXISTS base AS SELECT 1 AS id, 'x' AS v")
    before = on.newest
    with pytest.raises(DuckLakeError, match=message) as caught:
        on.run(statement)
    assert "JVM" not in str(caught.value)
    assert on.newest == before


@pytest.mark.parametrize("name", ["x'; DROP TABLE base; --", 'q"q', "a`b", "ünï cödé", "a.b", "1"])
def test_hostile_names(on: SqlLake, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    on.run(f"CREATE OR REPLACE TABLE {quoted} AS SELECT 1 AS {quoted}")
    assert on.rows(f"SELECT {quoted} FROM lake.main.{quoted}") == [(1,)]
    on.run(f"UPDATE {quoted} SET {quoted} = 2", f"COMMENT ON COLUMN {quoted}.{quoted} IS 'c'")
    duck = '"' + name.replace('"', '""') + '"'
    assert on.duck(f"SELECT {duck} FROM {duck}") == [(2,)]
    on.run(f"DROP TABLE {quoted}")
