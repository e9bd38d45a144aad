"""Text to intent, for every statement there is; and what is none gets a clear error."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from ducklake_spark.errors import DuckLakeError, StatementError, UnsupportedFeatureError
from ducklake_spark.sql.parse_changes import Assignments
from ducklake_spark.sql.parser import parse
from ducklake_spark.sql.statements import (
    AddColumns,
    Alter,
    Begin,
    Call,
    ChangeColumn,
    ColumnDefinition,
    Comment,
    Commit,
    CreateSchema,
    CreateTable,
    CreateTemporaryView,
    CreateView,
    Delete,
    Describe,
    DescribeSchema,
    Drop,
    DropColumns,
    DropSchema,
    Explain,
    Insert,
    Merge,
    Query,
    RenameColumn,
    RenameTo,
    Rollback,
    SetLayout,
    SetOptions,
    SetQuery,
    Show,
    SparkCommand,
    Statement,
    Truncate,
    Update,
    Use,
    When,
)

T = ("t",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1 ;", Query("SELECT 1")),
        ("(SELECT 1)", Query("(SELECT 1)")),
        ("WITH c AS (SELECT 1) SELECT 2", Query("WITH c AS (SELECT 1) SELECT 2")),
        ("FROM t", Query("FROM t")),
        ("TABLE t", Query("TABLE t")),
        ("VALUES (1)", Query("VALUES (1)")),
        ("EXPLAIN SELECT 1", Explain("simple", "        SELECT 1")),
        ("EXPLAIN FORMATTED\nSELECT 1", Explain("formatted", " " * 17 + "\nSELECT 1")),
        ("CREATE SCHEMA a.b", CreateSchema(("a", "b"), False)),
        ("create database if not exists `x y`", CreateSchema(("x y",), True)),
        ("DROP SCHEMA IF EXISTS s CASCADE", DropSchema(("s",), True, True)),
        ("DROP NAMESPACE s RESTRICT", DropSchema(("s",), False, False)),
        ("DROP TABLE IF EXISTS a.b.c PURGE", Drop("table", ("a", "b", "c"), True)),
        ("DROP VIEW v", Drop("view", ("v",), False)),
        ("CREATE OR REPLACE VIEW v (a, b COMMENT 'c') COMMENT 'd' AS SELECT 1",
         CreateView(("v",), " " * 59 + "SELECT 1", (("a", None), ("b", "c")), "d", False, True)),
        ("CREATE VIEW IF NOT EXISTS v AS TABLE t",
         CreateView(("v",), " " * 31 + "TABLE t", if_not_exists=True)),
        ("CREATE OR REPLACE TEMP VIEW v (a) AS SELECT 1",
         CreateTemporaryView("v", " " * 37 + "SELECT 1", True, ("a",))),
        ("CREATE TEMP VIEW v COMMENT 'x' TBLPROPERTIES ('AS' = 'b') AS SELECT 1",
         CreateTemporaryView("v", " " * 61 + "SELECT 1", False)),
        ("SHOW COLUMNS IN t IN a.b", Show("columns", ("a", "b", "t"))),
        ("CREATE TABLE t LIKE a.b", CreateTable(T, like=("a", "b"))),
        ("CREATE OR REPLACE TABLE t AS SELECT 1",
         CreateTable(T, query=" " * 29 + "SELECT 1", replace=True)),
        ("ALTER TABLE t RENAME TO s.u", Alter("table", T, False, RenameTo(("s", "u")))),
        ("ALTER TABLE IF EXISTS t RENAME COLUMN a.b TO c",
         Alter("table", T, True, RenameColumn('"a"."b"', "c"))),
        ("ALTER TABLE t DROP COLUMNS (a, b)",
         Alter("table", T, False, DropColumns(('"a"', '"b"')))),
        ("ALTER TABLE t DROP COLUMN IF EXISTS a",
         Alter("table", T, False, DropColumns(('"a"',), True))),
        ("ALTER TABLE t ALTER COLUMN a TYPE DECIMAL(10, 2)",
         Alter("table", T, False, ChangeColumn('"a"', "type", "DECIMAL(10, 2)"))),
        ("ALTER TABLE t ALTER COLUMN a SET DATA TYPE BIGINT",
         Alter("table", T, False, ChangeColumn('"a"', "type", "BIGINT"))),
        ("ALTER TABLE t CHANGE a SET NOT NULL",
         Alter("table", T, False, ChangeColumn('"a"', "not null"))),
        ("ALTER TABLE t ALTER a DROP NOT NULL",
         Alter("table", T, False, ChangeColumn('"a"', "null"))),
        ("ALTER TABLE t ALTER a SET DEFAULT now()",
         Alter("table", T, False, ChangeColumn('"a"', "default", "now()"))),
        ("ALTER TABLE t ALTER a DROP DEFAULT",
         Alter("table", T, False, ChangeColumn('"a"', "no default"))),
        ("ALTER TABLE t SET PARTITIONED BY (bucket(4, a), b)",
         Alter("table", T, False, SetLayout("partitioning", ("bucket(4, a)", "b")))),
        ("ALTER TABLE t RESET SORTED BY", Alter("table", T, False, SetLayout("sort order", ()))),
        ("ALTER TABLE t SET TBLPROPERTIES ('a.b' = 'c', ducklake.d = 5)",
         Alter("table", T, False, SetOptions({"a.b": "c", "d": "5"}))),
        ("ALTER TABLE t UNSET TBLPROPERTIES ('a')",
         Alter("table", T, False, SetOptions({"a": None}))),
        ("ALTER VIEW v AS SELECT 1",
         Alter("view", ("v",), False, SetQuery(" " * 16 + "SELECT 1"))),
        ("COMMENT ON TABLE a.t IS 'it''s'", Comment("table", ("a", "t"), "it's")),
        ("COMMENT ON COLUMN t.a IS NULL", Comment("column", ("t", "a"), None)),
        ("INSERT INTO t SELECT 1", Insert(T, " " * 14 + "SELECT 1")),
        ("INSERT INTO TABLE t (a, `b c`) VALUES (1, 2)",
         Insert(T, " " * 31 + "VALUES (1, 2)", columns=("a", "b c"))),
        ("INSERT INTO t (SELECT 1)", Insert(T, " " * 14 + "(SELECT 1)")),
        ("INSERT INTO t BY NAME TABLE u", Insert(T, " " * 22 + "TABLE u", by_name=True)),
        ("INSERT OVERWRITE t PARTITION (a = 1, b) SELECT 1",
         Insert(T, " " * 40 + "SELECT 1", True, partition={"a": "1", "b": None})),
        ("INSERT INTO t REPLACE WHERE a = 1 TABLE u",
         Insert(T, " " * 34 + "TABLE u", True, replace_where="a = 1")),
        ("INSERT INTO t AS x BY NAME REPLACE WHERE x.a = 1 TABLE u",
         Insert(T, " " * 49 + "TABLE u", True, by_name=True, replace_where="x.a = 1", alias="x")),
        ("INSERT INTO t AS x REPLACE ONLY WHERE x.a = 1 TABLE u",
         Insert(T, " " * 46 + "TABLE u", True, replace_where="x.a = 1", alias="x",
                only_matching=True)),
        ("WITH c AS (SELECT 1) DELETE FROM t WHERE a IN (TABLE c)",
         Delete(T, None, " " * 41 + "a IN (TABLE c)", "WITH c AS (SELECT 1) ")),
        ("EXPLAIN WITH c AS (SELECT 1) DELETE FROM t WHERE a IN (TABLE c)",
         Explain("simple", " " * 8 + "WITH c AS (SELECT 1)  SELECT * FROM `t` WHERE "
                 "a IN (TABLE c)")),
        ("WITH c AS (SELECT 1) INSERT INTO t TABLE c",
         Insert(T, "WITH c AS (SELECT 1) " + " " * 14 + "TABLE c")),
        ("DELETE FROM t", Delete(T, None, None)),
        ("DELETE FROM a.t AS x WHERE x.b", Delete(("a", "t"), "x", " " * 27 + "x.b")),
        ("UPDATE t x SET a = f(1, 2), x.b == 3 WHERE c",
         Update(T, "x", ((("a",), "f(1, 2)"), (("x", "b"), "3")), " " * 43 + "c")),
        ("TRUNCATE TABLE t", Truncate(T)),
        ("TRUNCATE TABLE IDENTIFIER('a.' || '`t u`')", Truncate(("a", "t u"))),
        ("EXPLAIN DELETE FROM a.t x WHERE b",
         Explain("simple", "SELECT * FROM `a`.`t` AS `x` WHERE b")),
        ("EXPLAIN COST INSERT INTO t SELECT 1", Explain("cost", " " * 27 + "SELECT 1")),
        ("BEGIN", Begin()),
        ("BEGIN TRANSACTION;", Begin()),
        ("START TRANSACTION", Begin()),
        ("COMMIT WORK", Commit()),
        ("COMMIT MESSAGE 'why'", Commit("why")),
        ("ROLLBACK", Rollback()),
        ("USE SCHEMA a.b", Use(("a", "b"))),
        ("USE lake", Use(("lake",))),
        ("SHOW TABLES", Show("tables")),
        ("SHOW TABLES IN a.b LIKE 'x*'", Show("tables", ("a", "b"), "x*")),
        ("SHOW DATABASES", Show("schemas")),
        ("SHOW CATALOGS LIKE 'l*'", Show("catalogs", (), "l*")),
        ("SHOW TABLE EXTENDED IN s LIKE 't'", Show("tables", ("s",), "t", extended=True)),
        ("DESCRIBE SCHEMA a.s", DescribeSchema(("a", "s"))),
        ("DESC DATABASE EXTENDED s", DescribeSchema(("s",))),
        ("DESCRIBE SCHEMA extended", DescribeSchema(("extended",))),
        ("DESCRIBE schema", Describe(("schema",))),
        ("SHOW COLUMNS IN t IN s", Show("columns", ("s", "t"))),
        ("SHOW CREATE TABLE a.t", Show("create table", ("a", "t"))),
        ("SHOW TBLPROPERTIES t", Show("tblproperties", T)),
        ("DESCRIBE TABLE EXTENDED a.t", Describe(("a", "t"), True)),
        ("DESC t", Describe(T)),
        ("DESC QUERY SELECT 1", Describe(query=" " * 11 + "SELECT 1")),
        ("CALL lake.f(1, x => 'a,b', Y := g(1, 2))",
         Call(("lake", "f"), ((None, "1"), ("x", "'a,b'"), ("y", "g(1, 2)")))),
        ("CACHE TABLE c AS SELECT 1",
         CreateTemporaryView("c", " " * 17 + "SELECT 1", True, (), True)),
    ],
)  # fmt: skip
def test_statements(text: str, expected: Statement) -> None:
    assert bare(parse(text)) == expected


def bare(statement: Statement) -> Statement:
    """The statement without the blanks that put its expressions at their places."""
    match statement:
        case Insert(replace_where=str(where)):
            return replace(statement, replace_where=where.strip())
        case Update(assignments=assignments):
            return replace(statement, assignments=stripped(assignments))
        case Merge(clauses=clauses):
            found = tuple(
                replace(
                    clause,
                    condition=clause.condition and clause.condition.strip(),
                    assignments=stripped(clause.assignments),
                )
                for clause in clauses
            )
            source, on = statement.source.strip(), statement.on.strip()
            return replace(statement, source=source, on=on, clauses=found)
    return statement


def stripped(assignments: Assignments | None) -> Assignments | None:
    return assignments and tuple((path, text.strip()) for path, text in assignments)


def test_expressions_keep_their_places() -> None:
    text = (
        "MERGE INTO t USING (\n  SELECT a FROM u) s\nON t.a = s.a WHEN MATCHED AND b\n"
        "THEN UPDATE SET x = 1,\n  y = nope WHEN NOT MATCHED THEN INSERT (x) VALUES (z)"
    )
    found = parse(text)
    assert isinstance(found, Merge)
    update, insert = found.clauses
    ((_, first), (_, second)), ((_, third),) = update.assignments or (), insert.assignments or ()
    for part in (found.source, found.on, update.condition or "", first, second, third):
        lines, line = part.count("\n"), part.splitlines()[-1]
        at = len(line) - len(line.lstrip())
        assert text.splitlines()[lines][at:].startswith(line.strip()), part


def test_create_table() -> None:
    found = parse(
        "CREATE TABLE IF NOT EXISTS a.t (id BIGINT NOT NULL COMMENT 'k', `x y` DECIMAL(10, 2) "
        "DEFAULT 1.5 NOT NULL, s STRUCT<a: ARRAY<MAP<STRING, INT>>, b: INT>, d DATE "
        "DEFAULT CASE WHEN true THEN DATE '2024-01-01' END) USING ducklake "
        "PARTITIONED BY (a, month(b)) SORTED BY (lower(c) DESC NULLS LAST, d) "
        "TBLPROPERTIES ('p' = 'q') COMMENT 'c'"
    )
    assert found == CreateTable(
        ("a", "t"),
        (
            ColumnDefinition("id", "BIGINT", False, None, "k"),
            ColumnDefinition("x y", "DECIMAL(10, 2)", False, "1.5"),
            ColumnDefinition("s", "STRUCT<a: ARRAY<MAP<STRING, INT>>, b: INT>"),
            ColumnDefinition("d", "DATE", True, "CASE WHEN true THEN DATE '2024-01-01' END"),
        ),
        partitioned_by=("a", "month(b)"),
        sorted_by=("lower(c) DESC NULLS LAST", "d"),
        options={"p": "q"},
        comment="c",
        if_not_exists=True,
    )


def test_columns_are_added() -> None:
    added = parse("ALTER TABLE t ADD COLUMNS (a INT DEFAULT 1, s.b STRING COMMENT 'c')")
    assert added == Alter(
        "table", T, False,
        AddColumns((ColumnDefinition('"a"', "INT", True, "1"),
                    ColumnDefinition('"s"."b"', "STRING", True, None, "c"))),
    )  # fmt: skip


def test_merge() -> None:
    found = bare(
        parse(
            "MERGE INTO a.t AS x USING (SELECT 1 AS id) s ON x.id = CASE WHEN true THEN s.id END "
            "WHEN MATCHED AND x.v = 'WHEN' THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET x.v = CASE WHEN s.v THEN 1 END, w = 2 "
            "WHEN NOT MATCHED AND s.id > 1 THEN INSERT (id, v) VALUES (s.id, f(1, 2)) "
            "WHEN NOT MATCHED BY TARGET THEN INSERT * "
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = NULL"
        )
    )
    assert found == Merge(
        ("a", "t"), "x", "SELECT 1 AS id", "s", "x.id = CASE WHEN true THEN s.id END",
        (
            When("matched", "x.v = 'WHEN'", "delete"),
            When("matched", None, "update",
                 ((("x", "v"), "CASE WHEN s.v THEN 1 END"), (("w",), "2"))),
            When("not matched", "s.id > 1", "insert", ((("id",), "s.id"), (("v",), "f(1, 2)"))),
            When("not matched", None, "insert", None),
            When("not matched by source", None, "update", ((("v",), "NULL"),)),
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "query", "alias"),
    [
        ("s", "SELECT * FROM s AS `s`", "s"),
        ("a.b.s", "SELECT * FROM a.b.s AS `s`", "s"),
        ("a.s AS x", "SELECT * FROM a.s AS `s`", "x"),
        ("s VERSION AS OF 3 x", "SELECT * FROM s VERSION AS OF 3 AS `s`", "x"),
        ("s FOR VERSION AS OF 3", "SELECT * FROM s FOR VERSION AS OF 3 AS `s`", "s"),
        ("s TIMESTAMP AS OF '2024-01-01' x", "SELECT * FROM s TIMESTAMP AS OF '2024-01-01' AS `s`",
         "x"),
        ("s TIMESTAMP AS OF TIMESTAMP '2024-01-01' x",
         "SELECT * FROM s TIMESTAMP AS OF TIMESTAMP '2024-01-01' AS `s`", "x"),
        ("range(5) r", "SELECT * FROM range(5) AS `range`", "r"),
        ("(SELECT 1)", "SELECT 1", None),
    ],
)  # fmt: skip
def test_sources_of_a_merge(source: str, query: str, alias: str | None) -> None:
    found = bare(parse(f"MERGE INTO t USING {source} ON true WHEN MATCHED THEN DELETE"))
    assert isinstance(found, Merge)
    assert (found.source, found.source_alias) == (query, alias)


@pytest.mark.parametrize(
    "text",
    [
        "SET a = b",
        "CREATE FUNCTION f AS 'x'",
        "CREATE TABLE t (a INT) USING parquet",
        "CREATE TEMPORARY VIEW v USING csv OPTIONS (path 'x')",
        "SHOW CREATE TABLE t AS SERDE",
        "SHOW FUNCTIONS",
        "SHOW TABLE EXTENDED LIKE 't' PARTITION (a = 1)",
        "DESCRIBE FUNCTION f",
        "USE CATALOG c",
        "REFRESH TABLE t",
        "ADD JAR 'x'",
        "DECLARE x INT",
        "BEGIN SELECT 1; END",
        "DROP FUNCTION f",
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "`SELECT` 1",
        "'x'",
    ],
)
def test_what_is_sparks_own(text: str) -> None:
    assert parse(text) == SparkCommand(text)


@pytest.mark.parametrize(
    ("command", "query"),
    [
        ("CACHE LAZY TABLE c AS ", "SELECT * FROM t"),
        ("CACHE TABLE c OPTIONS ('a' 'b') ", "SELECT 1"),
        ("SET VAR x = ", "(SELECT 1)"),
        ("INSERT OVERWRITE LOCAL DIRECTORY '/x' USING csv OPTIONS (a = 'b') ", "FROM t SELECT 1"),
    ],
)
def test_a_command_of_sparks_with_a_query(command: str, query: str) -> None:
    assert parse(command + query) == SparkCommand(command + query, len(command))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no statement"),
        ("  ;; ", "no statement"),
        ("CREATE TABLE", "name of a table and found 'the end'"),
        ("CREATE TABLE t (", "a column"),
        ("CREATE TABLE t (a INT,)", "a column"),
        ("CREATE TABLE t (a INT NOT)", "NOT NULL, DEFAULT or COMMENT"),
        ("CREATE TABLE t (a INT) nonsense", "AS and a query"),
        ("CREATE TABLE t (a INT) TBLPROPERTIES ('a' = )", "value for a"),
        ("CREATE VIEW v (a SELECT 1", r"\)"),
        ("CREATE TEMPORARY VIEW lake.v AS SELECT 1", r"lake\.v cannot be the name of a temporary"),
        ("CREATE TEMP VIEW v nonsense here AS SELECT 1", "Expected AS and found 'nonsense'"),
        ("CREATE TEMP VIEW IF NOT EXISTS v AS SELECT 1", "Expected AS and found 'NOT'"),
        ("CREATE TEMP VIEW v AS", "a query"),
        ("CREATE SCHEMA a.b.c", r"a\.b\.c has 3 parts"),
        ("DROP SCHEMA a.b.c", r"a\.b\.c has 3 parts"),
        ("USE a.b.c", r"a\.b\.c has 3 parts"),
        ("USE IDENTIFIER('a.b.c')", "has 3 parts"),
        ("SHOW CREATE TABLE t nonsense", "end of the statement"),
        ("SHOW TABLES IN a IN b", "a pattern"),
        ("CALL lake.main.snapshots()", r"lake\.main\.snapshots has 3 parts"),
        ("CALL lake.snapshots() nonsense", "end of the statement"),
        ("DROP TABLE", "name of a table"),
        ("DROP TABLE t u", "end of the statement"),
        ("ALTER TABLE t", "ADD, DROP, RENAME"),
        ("ALTER TABLE t ALTER COLUMN a", "TYPE, SET NOT NULL"),
        ("ALTER TABLE t RENAME a b", "TO"),
        ("ALTER TABLE t SET x", "PARTITIONED BY, SORTED BY"),
        ("COMMENT ON t IS 'x'", "TABLE, VIEW or COLUMN"),
        ("COMMENT ON TABLE t IS x", "a text in quotes"),
        ("INSERT INTO", "a table"),
        ("INSERT OVERWRITE INTO t SELECT 1", "a table and found 'INTO'"),
        ("INSERT INTO t (a, b) ", "a query or VALUES"),
        ("INSERT INTO t PARTITION a SELECT 1", r"\("),
        ("UPDATE t", "SET"),
        ("UPDATE t SET a 1", "="),
        ("DELETE t", "FROM"),
        ("DELETE FROM t WHERE", "a condition"),
        ("MERGE INTO t USING s", "ON"),
        ("MERGE INTO t USING s ON true WHEN MATCHED DELETE", "THEN"),
        ("MERGE INTO t USING s ON true WHEN MATCHED THEN NOTHING", "INSERT"),
        (
            "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT VALUES (1)",
            "name its columns",
        ),
        ("MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT (a VALUES (1)", r"\)"),
        ("TRUNCATE t", "TABLE"),
        ("TRUNCATE TABLE IDENTIFIER('a..b')", r"IDENTIFIER\('a..b'\) spells no name"),
        ("CALL lake.f", r"\("),
        ("CALL lake.f(1", r"\)"),
        ("SHOW TABLES IN", "a name"),
        ("USE", "name of a schema"),
        ("COMMIT nonsense", "end of the statement"),
        ("SELECT 'x", "not closed"),
    ],
)
def test_what_is_no_statement(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "CREATE TABLE t (a INT, UNIQUE (a))",
        "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)",
        "ALTER TABLE t ADD COLUMN a INT AFTER b",
        "ALTER TABLE t ALTER COLUMN a FIRST",
        "ALTER TABLE t ALTER COLUMN a TYPE BIGINT AFTER b",
        "ALTER TABLE t ALTER COLUMN a TYPE BIGINT, b TYPE BIGINT",
        "ALTER TABLE t ADD PARTITION (a = 1)",
        "ALTER TABLE t ADD IF NOT EXISTS PARTITION (a = 1)",
        "ALTER TABLE t DROP IF EXISTS PARTITION (a = 1)",
        "ALTER TABLE t PARTITION (a = 1) RENAME TO PARTITION (a = 2)",
        "ALTER TABLE t RECOVER PARTITIONS",
        "ALTER TABLE t CHANGE COLUMN a b INT",
        "CREATE SCHEMA s LOCATION 'x'",
        "COMMENT ON SCHEMA s IS 'x'",
        "DELETE FROM t USING s WHERE true",
        "UPDATE t SET a = 1 FROM s",
        "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON true WHEN MATCHED THEN DELETE",
        "INSERT OVERWRITE t PARTITION (a = 1) IF NOT EXISTS SELECT 1",
        "DESCRIBE HISTORY t",
        "FROM t INSERT INTO a SELECT * INSERT INTO b SELECT *",
        "TRUNCATE TABLE IDENTIFIER(concat('a', 'b'))",
        "EXPLAIN MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE",
    ],
)
def test_what_is_not_supported_is_said_with_a_way_out(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        parse(text)
    assert caught.value.hint or "name only" in caught.value.message


@pytest.mark.parametrize("length", range(0, 260, 7))
def test_a_statement_cut_off_anywhere_has_a_clear_error_or_a_meaning(length: int) -> None:
    text = (
        "MERGE INTO a.t AS x USING (SELECT 'a' AS id) s ON x.id = s.id WHEN MATCHED AND x.v "
        "THEN UPDATE SET v = CASE WHEN s.v THEN 1 END WHEN NOT MATCHED THEN INSERT (id, `v`) "
        "VALUES (s.id, f(1, [2])) WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    with suppress(DuckLakeError):
        parse(text[:length])
