"""SQL in a catalog that somebody else has written: it computes, and does nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ducklake_spark.errors import DuckLakeError, PathOutsideLakeError, UntrustedSqlError
from ducklake_spark.lake import Lake
from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake

pytestmark = pytest.mark.xdist_group("untrusted")
SECRET = "G9_SECRET_OF_THE_HOST"


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that the lake may not use."""
    file = tmp_path_factory.mktemp("host") / "secret"
    file.write_text("of the host\n")
    return file


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    folder = tmp_path_factory.mktemp("untrusted")
    with sql_lake(session, folder) as opened:
        opened.run(
            "CREATE TABLE t (id INT, note STRING DEFAULT 'n')",
            "INSERT INTO t (id) VALUES (1), (2)",
            "CREATE TABLE stream (id INT)",
            "CREATE VIEW v AS SELECT id FROM t",
            "CREATE FUNCTION lake.main.f(a INT) RETURNS INT RETURN a + 1",
        )
        opened.lake.session.spark.udf.register("theirs", lambda *_: "called", "string")
        yield opened


def _store_view(on: SqlLake, text: str) -> None:
    """Do what somebody with write access to the catalog can do."""
    on.address.sql(
        f"UPDATE ducklake_tag SET value = {quote_text(text)} WHERE key = 'spark_sql' "
        "AND object_id = (SELECT view_id FROM ducklake_view)"
    )


def quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


REACH_OUT = [
    # functions
    "SELECT reflect('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT `reflect`('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT ReFlect /* */ ('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT reflect -- \\\n ('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT java_method('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT try_reflect('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT builtin.reflect('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT system.builtin.`reflect`('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT 'a' AS reflect, reflect('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT x FROM t LATERAL VIEW reflect('java.lang.System', 'getenv', 'PATH') e AS x",
    "SELECT transform(array(1), i -> reflect('java.lang.System', 'getenv', 'PATH')) AS x",
    "SELECT lake.main.f(reflect('java.lang.System', 'getenv', 'PATH')) AS x",
    "SELECT /*+ reflect('java.lang.System', 'getenv', 'PATH') */ id FROM t",
    "SELECT theirs(id) AS x FROM t",
    "SELECT `theirs`(id) AS x FROM t",
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv', 'PATH') AS x",
    "SELECT id FROM t TIMESTAMP AS OF reflect('java.lang.System', 'getenv', 'PATH')",
    "SELECT from_avro(X'00', '{}', map('avroSchemaUrl', 'file:{secret}')) AS x",
    "SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '{secret}')) AS x",
    "SELECT xpath_string('<!DOCTYPE a SYSTEM \"file:{secret}\"><a/>', 'a') AS x",
    "SELECT * FROM python_worker_logs()",
    "SELECT * FROM lake.list_files(reflect('java.lang.System', 'getenv', 'PATH'))",
    # programs
    "SELECT TRANSFORM(id) USING 'cat' AS (x) FROM t",
    "FROM t MAP id USING 'cat' AS x",
    'FROM (FROM t REDUCE id USING "cat" AS x) SELECT x',
    # files
    "SELECT * FROM text.`{secret}`",
    "SELECT * FROM `text`.`{secret}`",
    "SELECT * FROM `org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`{secret}`",
    "SELECT * FROM t, text.`{secret}`",
    "SELECT * FROM t where, text.`{secret}`",
    "SELECT * FROM t AS set, text.`{secret}`",
    "SELECT * FROM t window, text.`{secret}`",
    "SELECT * FROM t group, text.`{secret}`",
    "SELECT * FROM t when, text.`{secret}`",
    "SELECT * FROM t limit, text.`{secret}`",
    "SELECT * FROM t select (a, b), text.`{secret}`",
    "SELECT * FROM t where JOIN t u, text.`{secret}`",
    "SELECT * FROM t select u, text.`{secret}`",
    "FROM t SELECT JOIN t u, text.`{secret}`",
    "FROM t SELECT (a, b), text.`{secret}`",
    "SELECT * FROM VALUES (1), (2) x, (text.`{secret}`)",
    "SELECT * FROM t values, (text.`{secret}`)",
    "SELECT text.`{secret}` AS text FROM t, text.`{secret}`",
    "SELECT X'${env:" + SECRET + "}' AS x",
    "SELECT /*+ SKEW('t') */ id AS x FROM t",
    "SELECT * FROM t JOIN t u ON CASE WHEN true THEN true END, text.`{secret}`",
    "SELECT * FROM (SELECT 1 AS union) t JOIN t u ON t.union = 1, text.`{secret}`",
    "SELECT * FROM (SELECT 1 AS except) t JOIN t u ON except = 1, text.`{secret}`",
    "SELECT is distinct FROM text.`{secret}`",
    "SELECT not distinct FROM text.`{secret}`",
    "SELECT ALL is distinct FROM text.`{secret}` x(is)",
    "WITH q (SELECT * FROM text.`{secret}`) SELECT * FROM q",
    "WITH q AS (SELECT * FROM text.`{secret}`) SELECT * FROM q",
    "WITH q (a) AS (TABLE text.`{secret}`) SELECT * FROM q",
    "SELECT * FROM stream text.`{secret}`",
    "TABLE text.`{secret}`",
    "FROM text.`{secret}`",
    "SELECT (SELECT max(value) FROM text.`{secret}`) AS x",
    "SELECT * FROM IDENTIFIER('text.`{secret}`')",
    "SELECT * FROM IDENTIFIER(concat('text.`', '{secret}', '`'))",
    "SELECT * FROM t |> UNION ALL TABLE text.`{secret}`",
    "SELECT * FROM t VERSION AS OF 1, text.`{secret}`",
    "SELECT * FROM t TIMESTAMP AS OF (SELECT max(value) FROM text.`{secret}`)",
    "SELECT * FROM t \u017from, text.`{secret}`",
    "SELECT /* /* */ id */ * FROM text.`{secret}`",
    "SELECT x.`a`, text.`{secret}`.x FROM text.`{secret}` x",
    # Spark's own relations, variables and statements
    "SELECT * FROM spark_catalog.default.of_the_session",
    "SELECT * FROM of_the_session",
    "SELECT system.session.secret AS x",
    "WITH q AS (SELECT 1 AS x) INSERT OVERWRITE DIRECTORY '{secret}.d' USING csv SELECT * FROM q",
    "FROM t INSERT OVERWRITE DIRECTORY '{secret}.d' USING csv SELECT *",
    "SELECT 1 AS x) INSERT OVERWRITE DIRECTORY '{secret}.d' USING csv SELECT * FROM (SELECT 1",
    "SELECT 1 AS x; DROP TABLE t",
    "SHOW TABLES",
    "SET spark.sql.ansi.enabled = false",
    "SELECT ${env:" + SECRET + "} AS x",
    "SELECT 1 AS `${env:" + SECRET + "}`",
    "SELECT $1 AS x",
    "SELECT http://example.org/a--b\n AS x",
]


# Spark's own errors for texts that turn out to be harmless.
_IS_NOTHING = ("syntax", "cannot be resolved", "does not exist")


@pytest.mark.parametrize("text", REACH_OUT)
def test_a_view_cannot_reach_out(on: SqlLake, secret: Path, text: str) -> None:
    on.lake.session.spark.range(1).createOrReplaceTempView("of_the_session")
    _store_view(on, text.replace("{secret}", str(secret)))
    with pytest.raises(DuckLakeError) as caught:
        on.rows("SELECT * FROM v")
    said = str(caught.value)
    is_checked = isinstance(caught.value, (UntrustedSqlError, PathOutsideLakeError))
    assert is_checked or any(words in said.lower() for words in _IS_NOTHING)
    assert "of the host" not in said
    assert not secret.with_suffix(".d").exists()


COMPUTES = [
    ("SELECT 'reflect(1)' AS x -- reflect(1)", "reflect(1)"),
    ("SELECT \"a\\\" FROM text.`/etc/passwd` --\" AS x", 'a" FROM text.`/etc/passwd` --'),
    ("SELECT max(reflect.id) /* text.`/x` */ AS x FROM t AS reflect", 2),
    ("SELECT max(u.x) AS x FROM t reflect(x, y), t u(x, y)", 2),
    ("WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 3) "
     "SELECT max(n) AS x FROM q", 3),
    ("WITH q (SELECT id FROM t), r AS (SELECT * FROM q) SELECT max(id) AS x FROM r", 2),
    ("SELECT count(*) AS x FROM t a JOIN t b ON a.note IS NOT DISTINCT FROM b.note", 4),
    ("SELECT max(u.`a/b`) AS x FROM (SELECT id AS `a/b` FROM t) u", 2),
    ("SELECT /*+ BROADCAST(u) */ lake.main.f(max(t.id)) AS x FROM t JOIN t u USING (id)", 3),
    ("SELECT CAST(max(id) AS decimal(10, 2)) AS x FROM t GROUP BY window(now(), '1 day')", 2),
    ("SELECT max(v) AS x FROM t LATERAL VIEW explode(array(id, 7)) e AS v", 7),
    ("SELECT extract(year FROM date'2024-01-01') AS x", 2024),
    ("FROM t |> AGGREGATE max(id) AS x", 2),
    ("SELECT '${env:PATH}' AS x", "${env:PATH}"),
    ("SELECT r'${system:user.dir}' AS x", "${system:user.dir}"),
    ("SELECT \"${spark.app.name}\" AS x", "${spark.app.name}"),
    ("SELECT max(note) AS x FROM (SELECT note FROM t UNION ALL SELECT '${env:PATH}') "
     "WHERE note = '${env:PATH}'", "${env:PATH}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), COMPUTES)
def test_a_view_may_compute(on: SqlLake, text: str, value: object) -> None:
    _store_view(on, text)
    assert on.rows("SELECT x FROM v") == [(value,)]


def test_a_view_reads_permanent_tables_of_spark(on: SqlLake) -> None:
    spark = on.lake.session.spark
    spark.sql("CREATE TABLE default.permanent USING parquet AS SELECT 7 AS id")
    try:
        on.run("CREATE VIEW of_spark AS SELECT id FROM default.permanent")
        assert on.rows("SELECT * FROM of_spark") == [(7,)]
    finally:
        spark.sql("DROP TABLE default.permanent")
        on.run("DROP VIEW IF EXISTS of_spark")


def test_a_view_reads_files_where_files_of_the_lake_may_be(on: SqlLake, tmp_path: Path) -> None:
    inside, elsewhere = on.address.data_folder / "raw", tmp_path / "elsewhere"
    for folder in (inside, elsewhere):
        on.lake.session.spark.range(3).write.parquet(str(folder))
    on.run(f"CREATE VIEW of_files AS SELECT id FROM parquet.`{inside}`")
    assert on.rows("SELECT count(*) FROM of_files") == [(3,)]
    on.run("DROP VIEW of_files")
    with pytest.raises(PathOutsideLakeError, match=r"allow_paths: \["):
        on.run(f"CREATE VIEW of_files AS SELECT id FROM parquet.`{elsewhere}`")
    with Lake.open(
        on.address.catalog, spark=on.lake.session.spark, allow_paths=[str(elsewhere)]
    ) as lake:
        lake.sql(f"CREATE VIEW of_files AS SELECT id FROM parquet.`{elsewhere}`")
        assert lake.sql("SELECT count(*) FROM of_files").collect()[0][0] == 3
    with pytest.raises(PathOutsideLakeError):
        on.rows("SELECT * FROM of_files")
    on.run("DROP VIEW of_files")
    for path in (f"{inside}/../raw", f"{inside.parent}/{{raw,x}}"):
        with pytest.raises(UntrustedSqlError):
            on.run(f"CREATE VIEW of_files AS SELECT id FROM parquet.`{path}`")


def test_variables_are_replaced_in_the_users_text_alone(on: SqlLake) -> None:
    _store_view(on, "SELECT '${spark.mine}' AS x, id FROM t")
    on.lake.session.spark.conf.set("spark.mine", "2")
    found = on.rows("SELECT x, '${spark.mine}' AS y FROM v WHERE id = ${spark.mine}")
    assert found == [("${spark.mine}", "2")]
    on.lake.session.spark.conf.unset("spark.mine")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT st.`a/b` AS x FROM odd",
        "SELECT st.`c.d` - 1 AS x, st.`e:f`, st.`*` FROM odd",
        "SELECT q.st.`a/b` AS x FROM (SELECT st FROM odd) q",
        "SELECT z.`a/b` AS x FROM (SELECT st AS z FROM odd)",
        "SELECT transform(xs, e -> e.`q/r`)[0] AS x FROM odd",
        "SELECT aggregate(xs, 0, (sum, e) -> sum + e.`q/r`) AS x FROM odd",
        "SELECT e.`q/r` AS x FROM odd LATERAL VIEW explode(xs) l AS e",
        "WITH c AS (SELECT st AS z FROM odd) SELECT z.`a/b` AS x FROM c",
        "FROM odd SELECT id AS x, st, xs",
        "FROM odd o SELECT DISTINCT o.id AS x, o.id",
        "SELECT max(v.x) AS x FROM VALUES (1, NULL), (NULL, 2) AS v(x, y)",
    ],
)
def test_a_view_that_can_be_created_can_be_read(on: SqlLake, query: str) -> None:
    on.run(
        "CREATE OR REPLACE TABLE odd (id INT, xs ARRAY<STRUCT<`q/r`: INT>>, "
        "st STRUCT<`a/b`: INT, `c.d`: INT, `e:f`: INT, `*`: INT>)",
        "INSERT INTO odd VALUES (1, array(named_struct('q/r', 1)), "
        "named_struct('a/b', 1, 'c.d', 2, 'e:f', 3, '*', 4))",
        f"CREATE OR REPLACE VIEW of_odd AS {query}",
    )
    assert on.rows("SELECT x FROM of_odd") == [(1,)]
    on.run("DROP VIEW of_odd")


def test_what_reaches_out_cannot_be_stored(on: SqlLake) -> None:
    for statement in (
        "CREATE OR REPLACE VIEW w AS SELECT theirs(id) AS x FROM t",
        "CREATE OR REPLACE VIEW w AS SELECT * FROM text.`/etc/hostname`",
        "CREATE OR REPLACE VIEW w AS SELECT TRANSFORM(id) USING 'cat' AS (x) FROM t",
        "CREATE OR REPLACE VIEW w AS SELECT '${env:PATH}' AS `${env:PATH}`",
        "CREATE OR REPLACE VIEW w AS SELECT text.`a/b` AS x FROM (SELECT named_struct('a/b', 1) "
        "AS text)",
        "CREATE OR REPLACE VIEW w AS SELECT /*+ SKEW('t') */ id FROM t",
        "CREATE FUNCTION lake.main.g(a INT) RETURN theirs(a)",
        "ALTER TABLE t ALTER COLUMN note SET DEFAULT theirs(1)",
    ):
        with pytest.raises(DuckLakeError, match=r"DL703|DL702|Cannot keep \$"):
            on.run(statement)


@pytest.mark.parametrize(
    "definition",
    [
        "(a INT) RETURNS STRING RETURN reflect('java.lang.System', 'getenv', 'PATH')",
        "(a INT) RETURNS STRING RETURN theirs(a)",
        "(a STRING DEFAULT reflect('java.lang.System', 'getenv', 'PATH')) RETURN a",
        "(a INT) RETURNS STRING RETURN (SELECT max(value) FROM text.`/etc/hostname`)",
        "AS 'org.apache.hadoop.hive.ql.udf.UDFHex' USING JAR '/tmp/some.jar'",
        "(a INT) RETURNS TABLE (x STRING) RETURN SELECT * FROM text.`/etc/hostname`",
        "(a INT) RETURN 1) SELECT (1",
    ],
)
def test_a_function_cannot_reach_out(on: SqlLake, definition: str) -> None:
    stored = "(SELECT value FROM ducklake_tag WHERE key = 'spark_sql' AND value LIKE '%RETURN%')"
    before = on.address.sql(stored[1:-1])[0][0]
    change = "UPDATE ducklake_tag SET value = {} WHERE value = {}"
    on.address.sql(change.format(quote_text(definition), quote_text(before)))
    try:
        with pytest.raises(UntrustedSqlError):
            on.rows("SELECT lake.main.f(1) AS x")
    finally:
        on.address.sql(change.format(quote_text(before), quote_text(definition)))


@pytest.mark.parametrize(
    "default",
    [
        "reflect('java.lang.System', 'getenv', 'PATH')",
        "upper(theirs(1))",
        "(SELECT max(value) FROM text.`/etc/hostname`)",
        "(SELECT max(column0) FROM '/etc/hostname')",
    ],
)
def test_a_default_cannot_reach_out(on: SqlLake, default: str) -> None:
    on.run("CREATE OR REPLACE TABLE d (id INT, x STRING DEFAULT 'n')")
    table = "SELECT max(table_id) FROM ducklake_table WHERE table_name = 'd'"
    on.address.sql(
        f"UPDATE ducklake_column SET default_value_type = 'expression', default_value = "
        f"{quote_text(default)} WHERE column_name = 'x' AND table_id = ({table})"
    )
    for statement in (
        "INSERT INTO d (id) VALUES (1)",
        "INSERT INTO d VALUES (1, DEFAULT)",
        "MERGE INTO d USING t ON d.id = t.id WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)",
    ):
        with pytest.raises(DuckLakeError, match=r"DL703|has no form"):
            on.run(statement)
    assert on.rows("SELECT * FROM d") == []


def test_a_literal_default_keeps_its_variables(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE TABLE d AS SELECT 1 AS id")
    on.duck_runs("ALTER TABLE d ADD COLUMN x VARCHAR DEFAULT '${env:PATH}'")
    on.run("INSERT INTO d (id) VALUES (2)", "INSERT INTO d VALUES (3, DEFAULT)")
    on.run("UPDATE d SET x = DEFAULT WHERE id = 2")
    assert on.same("SELECT DISTINCT x FROM d") == [("${env:PATH}",)]


def test_a_sort_key_cannot_reach_out(on: SqlLake, caplog: pytest.LogCaptureFixture) -> None:
    on.run("CREATE OR REPLACE TABLE d (id INT) ")
    on.duck_runs("ALTER TABLE d SET SORTED BY (id)")
    on.address.sql(
        "UPDATE ducklake_sort_expression SET expression = "
        "'reflect(''java.lang.System'', ''exit'', ''7'')'"
    )
    on.run("INSERT INTO d SELECT id FROM t")
    assert on.rows("SELECT * FROM d") == [(1,), (2,)]
    assert "not sorted" in caplog.text
