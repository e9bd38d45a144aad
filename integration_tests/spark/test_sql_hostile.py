"""Malformed, hostile and odd statements: a clear error or the right answer, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.session import Session
from ducklake_spark.spec.names import backticked, quote
from support.sql_lakes import SqlLake, sql_lake

FILL = (
    "CREATE TABLE t (id INTEGER NOT NULL, g VARCHAR, n DECIMAL(6, 2), d DATE, xs INTEGER[], "
    "s STRUCT(a INTEGER, b VARCHAR))",
    "INSERT INTO t SELECT i, 'g' || i % 3, i, DATE '2024-01-01', [i], {'a': i, 'b': 'b'} "
    "FROM range(10) r(i)",
    "CREATE TABLE p (id INTEGER, g VARCHAR)",
    "CREATE VIEW v AS SELECT id, g FROM t",
    "CREATE SCHEMA other",
)
# What has no place in a message for a person, nor in what is asked of the engine.
NOISE = ("org.apache", "Traceback", "JVM", "_ducklake_", "py4j", "sqlalchemy", "[SQL:")


@pytest.fixture(scope="module")
def shop(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("hostile")) as opened:
        opened.duck_runs(*FILL)
        yield opened


@pytest.fixture(scope="module")
def victim(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    """The same, which statements may change."""
    with sql_lake(session, tmp_path_factory.mktemp("victim")) as opened:
        opened.duck_runs(*FILL)
        yield opened


def _state(on: SqlLake) -> tuple[int, bool]:
    return on.lake.catalog().at().snapshot.id, on.lake.in_transaction


# --- malformed, mistyped, and at odds with the lake ---

REFUSED = [
    # words out of place
    ("SELECT", "line 1"),
    ("SELECT FROM", "line 1"),
    ("SELECT id FROM", "line 1"),
    ("SELECT id FORM t", "form"),
    ("SELECT id,, g FROM t", "line 1"),
    ("SELECT (id FROM t", "expected )"),
    ("SELECT id) FROM t", "line 1"),
    ("SELECT * FROM t WHERE", "line 1"),
    ("SELECT * FROM t GROUP", "line 1"),
    ("SELECT * FROM t ORDER BY", "line 1"),
    ("SELECT * FROM t LIMIT x", "x"),
    ("SELECT * FROM t JOIN", "line 1"),
    ("SELECT * FROM t JOIN p ON", "line 1"),
    ("SELECT CASE WHEN id THEN 1 FROM t", "line 1"),
    ("SELECT count(* FROM t", "expected )"),
    ("FROM t WHERE id =", "line 1"),
    ("WITH c AS SELECT 1 SELECT * FROM c", "line 1"),
    ("WITH c AS (SELECT 1)", "line 1"),
    ("EXPLAIN", "explain"),
    ("SELEKT 1", "selekt"),
    ("1", "1"),
    (";", "statement"),
    ("SELECT 1; SELECT 2", "extra input"),
    ("DROP TABLE t; DROP TABLE p", "end of the statement"),
    # quotes and comments that do not end
    ("SELECT 'abc FROM t", "not closed"),
    ("SELECT `abc FROM t", "not closed"),
    ('SELECT "abc FROM t', "not closed"),
    ("SELECT 1 /* FROM t", "not closed"),
    ("DELETE FROM t WHERE g = 'x", "not closed"),
    ("INSERT INTO t VALUES ('", "not closed"),
    # names that lead nowhere
    ("SELECT * FROM nope", "nope"),
    ("SELECT * FROM other.t", "other.t"),
    ("SELECT * FROM lake.other.t", "other.t"),
    ("SELECT * FROM nolake.main.t", "nolake"),
    ("SELECT * FROM a.b.c.d", "a"),
    ("SELECT nope FROM t", "nope"),
    ("SELECT t.nope FROM t", "nope"),
    ("SELECT x.id FROM t", "x"),
    ("SELECT s.nope FROM t", "nope"),
    ("SELECT nofunction(id) FROM t", "nofunction"),
    ("SELECT * FROM t VERSION AS OF 999", "999"),
    ("SELECT * FROM t VERSION AS OF -1", "- is none"),
    ("SELECT * FROM t VERSION AS OF 'x'", "x"),
    ("SELECT * FROM t TIMESTAMP AS OF '1970-01-01'", "1970"),
    ("SELECT * FROM t TIMESTAMP AS OF 'yesterday-ish'", "yesterday-ish"),
    ("SELECT * FROM lake.nofunction()", "nofunction"),
    ("SELECT * FROM lake.table_changes('nope', 0, 1)", "nope"),
    ("SELECT * FROM lake.table_changes('t')", "table_changes"),
    ("SELECT * FROM lake.table_changes('t', 5, 99999)", "99999"),
    ("INSERT INTO nope VALUES (1)", "nope"),
    ("DELETE FROM nope", "nope"),
    ("UPDATE nope SET a = 1", "nope"),
    ("MERGE INTO nope USING t ON true WHEN MATCHED THEN DELETE", "nope"),
    ("TRUNCATE TABLE nope", "nope"),
    ("DROP TABLE nope", "nope"),
    ("DROP VIEW nope", "nope"),
    ("DROP SCHEMA nope", "nope"),
    ("ALTER TABLE nope ADD COLUMN a INT", "nope"),
    ("COMMENT ON TABLE nope IS 'x'", "nope"),
    ("DESCRIBE nope", "nope"),
    ("USE nope", "nope"),
    ("SHOW TABLES IN nope", "nope"),
    ("CALL lake.nope()", "nope"),
    ("CALL nolake.set_option('a', 'b')", "nolake"),
    # the wrong kind
    ("DROP VIEW t", "t"),
    ("DROP TABLE v", "v"),
    ("INSERT INTO v VALUES (1, 'a')", "view"),
    ("DELETE FROM v", "view"),
    ("UPDATE v SET id = 1", "view"),
    ("TRUNCATE TABLE v", "v"),
    ("ALTER TABLE v ADD COLUMN a INT", "v"),
    ("CREATE TABLE t (a INT)", "already"),
    ("CREATE TABLE v (a INT)", "v"),
    ("CREATE VIEW t AS SELECT 1 AS a", "t"),
    ("CREATE SCHEMA other", "other"),
    ("DROP SCHEMA main", "main"),
    ("SELECT * FROM v VERSION AS OF 0", "v"),
    # columns and types
    ("CREATE TABLE x (a)", "line 1"),
    ("CREATE TABLE x ()", "line 1"),
    ("CREATE TABLE x (a INT, a INT)", "a"),
    ("CREATE TABLE x (a INT, A STRING)", "a"),
    ("CREATE TABLE x (a NOTYPE)", "notype"),
    ("CREATE TABLE x (a DECIMAL(50, 2))", "decimal"),
    ("CREATE TABLE x (a INT NOT)", "line 1"),
    ("CREATE TABLE x (a INT NOT NULL DEFAULT)", "line 1"),
    ("CREATE TABLE x (a INT DEFAULT 'abc')", "abc"),
    ("CREATE TABLE x (a INT) PARTITIONED BY (b)", "b"),
    ("CREATE TABLE x (a INT) PARTITIONED BY (nofunction(a))", "nofunction"),
    ("CREATE TABLE x (a INT) PARTITIONED BY (bucket(0, a))", "0"),
    ("CREATE TABLE x (a STRING) PARTITIONED BY (month(a))", "a"),
    ("CREATE TABLE x (a INT) SORTED BY (b)", "b"),
    ("CREATE TABLE x (a INT) TBLPROPERTIES ('no_such_option' = '1')", "no_such_option"),
    ("CREATE TABLE x (a INT) TBLPROPERTIES ('target_file_size' = 'big')", "big"),
    ("CREATE TABLE x (a INT) LOCATION '/etc'", "location"),
    ("CREATE TABLE x AS SELECT 1, 1", "name"),
    ("CREATE TABLE x AS SELECT 1 AS a, 2 AS a", "a"),
    ("CREATE TABLE x AS SELECT nope FROM t", "nope"),
    ("CREATE TABLE x AS INSERT INTO t VALUES (1)", "t"),
    ("CREATE VIEW x AS SELECT nope FROM t", "nope"),
    ("CREATE VIEW x (a, b) AS SELECT id FROM t", "x"),
    ("CREATE VIEW x AS", "line 1"),
    ("ALTER TABLE t ADD COLUMN id INT", "id"),
    ("ALTER TABLE t ADD COLUMN s.a INT", "a"),
    ("ALTER TABLE t ADD COLUMN nope.a INT", "nope"),
    ("ALTER TABLE t DROP COLUMN nope", "nope"),
    ("ALTER TABLE t RENAME COLUMN nope TO x", "nope"),
    ("ALTER TABLE t RENAME COLUMN id TO g", "g"),
    ("ALTER TABLE t RENAME TO p", "p"),
    ("ALTER TABLE t ALTER COLUMN g TYPE INT", "g"),
    ("ALTER TABLE t ALTER COLUMN id TYPE SMALLINT", "id"),
    ("ALTER TABLE t ALTER COLUMN nope SET NOT NULL", "nope"),
    ("ALTER TABLE t SET PARTITIONED BY (nope)", "nope"),
    ("ALTER TABLE t SET SORTED BY (nope)", "nope"),
    ("ALTER TABLE t FLY", "fly"),
    ("ALTER TABLE t", "line 1"),
    # rows
    ("INSERT INTO t VALUES (1)", "column"),
    ("INSERT INTO t VALUES (1, 2, 3, 4, 5, 6, 7)", "column"),
    ("INSERT INTO t (id, nope) VALUES (1, 2)", "nope"),
    ("INSERT INTO t (id, id) VALUES (1, 2)", "id"),
    ("INSERT INTO t (id, g) VALUES (1)", "1 columns"),
    ("INSERT INTO t (id) VALUES (NULL)", "id"),
    ("INSERT INTO t (g) VALUES ('a')", "id"),
    ("INSERT INTO t (id) VALUES ('abc')", "abc"),
    ("INSERT INTO t (id) VALUES (99999999999)", "out of range"),
    ("INSERT INTO t (id, n) VALUES (1, 123456.5)", "n"),
    ("INSERT INTO t (id, d) VALUES (1, 'not a date')", "not a date"),
    ("INSERT INTO t (id, xs) VALUES (1, 5)", "xs"),
    ("INSERT INTO t (id, s) VALUES (1, 'x')", "s"),
    ("INSERT INTO t (id) SELECT g FROM t", "id"),
    ("INSERT INTO t (id) SELECT id + 2147483640 FROM t", "overflow"),
    ("INSERT INTO t SELECT * FROM p", "column"),
    ("INSERT INTO t BY NAME SELECT 1 AS id, 2 AS nope", "nope"),
    ("INSERT INTO t", "line 1"),
    ("INSERT t VALUES (1)", "line 1"),
    ("INSERT OVERWRITE t PARTITION (id = 1) SELECT 1", "5 of main.t"),
    ("UPDATE t SET nope = 1", "nope"),
    ("UPDATE t SET id = NULL", "id"),
    ("UPDATE t SET id = 'abc'", "id"),
    ("UPDATE t SET id = 1, id = 2", "id"),
    ("UPDATE t SET", "line 1"),
    ("UPDATE t SET id", "line 1"),
    ("UPDATE t SET id = 1 WHERE nope", "nope"),
    ("UPDATE t SET id = 1 WHERE g", "g"),
    ("UPDATE t SET id = (SELECT id FROM t)", "more than one row"),
    ("DELETE FROM t WHERE nope = 1", "nope"),
    ("DELETE FROM t WHERE id = 'abc'", "abc"),
    ("DELETE t WHERE id = 1", "line 1"),
    ("DELETE FROM t id = 1", "line 1"),
    ("DELETE FROM t WHERE", "line 1"),
    ("MERGE INTO t USING p ON t.id = p.id", "when"),
    ("MERGE INTO t USING p WHEN MATCHED THEN DELETE", "on"),
    ("MERGE INTO t USING p ON nope WHEN MATCHED THEN DELETE", "nope"),
    ("MERGE INTO t USING p ON t.id = p.id WHEN MATCHED THEN FLY", "fly"),
    ("MERGE INTO t USING p ON t.id = p.id WHEN MATCHED THEN INSERT *", "lacks"),
    ("MERGE INTO t USING p ON t.id = p.id WHEN NOT MATCHED THEN DELETE", "cannot delete"),
    ("MERGE INTO t USING p ON t.id = p.id WHEN MATCHED THEN UPDATE SET nope = 1", "nope"),
    ("MERGE INTO t USING (SELECT 1 AS id FROM t) s ON t.id = s.id "
     "WHEN MATCHED THEN UPDATE SET g = 'x'", "several rows"),
    # transactions and options
    ("COMMIT", "transaction"),
    ("ROLLBACK", "transaction"),
    ("CALL lake.set_option()", "set_option"),
    ("CALL lake.set_option('no_such_option', 1)", "no_such_option"),
    ("CALL lake.set_option('target_file_size', 'x')", "x"),
    ("CALL lake.set_option('target_file_size', 1, nope => 2)", "nope"),
    ("CALL lake.set_option('target_file_size', 1, table_name => 'nope')", "nope"),
    ("CALL lake.set_option('a', 'b', 'c', 'd', 'e', 'f')", "argument"),
    ("CALL lake.set_option('parquet_compression', 'rar')", "rar"),
    ("CALL lake.set_option(target_file_size)", "line 1"),
    ("CALL lake.set_option", "line 1"),
    ("CALL set_option('a', 'b') x", "x"),
    ("COMMENT ON TABLE t IS 5", "line 1"),
    ("COMMENT ON COLUMN t.nope IS 'x'", "nope"),
    ("COMMENT ON t IS 'x'", "line 1"),
    ("SHOW", "show"),
    ("DESCRIBE", "a table or view"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "about"), REFUSED)
def test_refused(shop: SqlLake, statement: str, about: str) -> None:
    before = _state(shop)
    with pytest.raises(DuckLakeError) as caught:
        shop.lake.sql(statement).collect()
    message = str(caught.value)
    assert about.lower() in message.lower()
    assert not [noise for noise in NOISE if noise in message], message
    assert len(message) < 2000
    assert _state(shop) == before


# --- names and texts that would be something else if they were not quoted everywhere ---

NAMES = [
    "select", "table", "t; DROP TABLE t", "t--", "t/*", "'; DELETE FROM ducklake_table; --", "a'b",
    'a"b', "a`b", "a.b", "a b", " lead", "ünï", "日本", "🦆", "%s", ":x", "?", "{{ x }}", "$1",
    "a\\b", "a\tb", "x" * 200, "NULL", "1", "-", "__proto__", "<script>", "../up", "*",
    "a/b", "con",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_but_a_name(on: SqlLake, name: str) -> None:
    """One statement of each kind with the name as a table, a column, a value and a comment."""
    spark, text = backticked(name), "'" + re.sub(r"([\\'])", r"\\\1", name) + "'"
    on.run(
        f"CREATE TABLE {spark} ({spark} STRING COMMENT {text}, id INT) COMMENT {text}",
        f"INSERT INTO {spark} VALUES ({text}, 1), ('other', 2)",
        f"UPDATE main.{spark} SET {spark} = concat({spark}, '!') WHERE {spark} = {text}",
        f"DELETE FROM lake.main.{spark} WHERE {spark} = 'other'",
    )
    rows = [(f"{name}!", 1)]
    assert on.rows(f"SELECT {spark}.{spark}, id FROM {spark}") == rows
    assert on.duck(f"SELECT * FROM main.{quote(name)}") == rows
    assert on.duck("SELECT comment FROM duckdb_tables() WHERE database_name = 'lake'") == [(name,)]
    assert on.duck("SELECT count(*) FROM lake.snapshots()") == [(5,)]


# --- what is left of a statement that breaks off ---

WHOLE = [
    "CREATE TABLE x (a INT NOT NULL DEFAULT 1, s STRUCT<p: INT>) PARTITIONED BY (a) COMMENT 'c'",
    "INSERT INTO t (id, g) SELECT id, g FROM p WHERE id IN (1, 2)",
    "UPDATE p SET g = upper(g) WHERE id BETWEEN 1 AND 2",
    "MERGE INTO p USING t s ON p.id = s.id WHEN MATCHED THEN UPDATE SET g = s.g",
    "ALTER TABLE p ADD COLUMN extra INT COMMENT 'x'",
]


def _beginnings() -> Iterator[str]:
    for statement in WHOLE:
        words = statement.split()
        yield from (" ".join(words[:count]) for count in range(1, len(words)))


@pytest.mark.parametrize("statement", _beginnings())
def test_a_statement_that_breaks_off(victim: SqlLake, statement: str) -> None:
    """It is refused and changes nothing, or it is a whole statement and one commit."""
    snapshot, _ = _state(victim)
    message, commits = "", 1
    try:
        victim.lake.sql(statement).collect()
    except DuckLakeError as error:
        message, commits = str(error), 0
    assert not [noise for noise in NOISE if noise in message], message
    assert _state(victim) in [(snapshot, False), (snapshot + commits, False)]


# --- large ---


def test_a_hundred_kilobytes_of_rows(on: SqlLake) -> None:
    on.run("CREATE TABLE x (id INT, v STRING)")
    rows = ", ".join(f"({n}, 'it''s {n} \\' ; --')" for n in range(5_000))
    statement = f"INSERT INTO x VALUES {rows}"
    assert len(statement) > 100_000
    assert on.run(statement).rows_inserted == 5_000
    assert on.duck("SELECT count(*), sum(id) FROM x WHERE v LIKE 'it%'") == [(5_000, 12_497_500)]


def test_a_hundred_kilobytes_of_condition(on: SqlLake) -> None:
    on.duck_runs(*FILL)
    condition = " OR ".join(f"(id = {n} AND g = 'g{n % 3}')" for n in range(0, 6_000, 3))
    assert on.run(f"DELETE FROM t WHERE {condition} OR g = '{'x' * 60_000}'").rows_deleted == 4


def test_a_column_may_have_the_name_that_spark_has_for_files(victim: SqlLake) -> None:
    victim.run(
        "CREATE TABLE m (k INT, _metadata STRING, xs ARRAY<INT>)",
        "INSERT INTO m VALUES (1, 'a', array(1)), (2, 'b', array(2))",
        "INSERT INTO m VALUES (3, 'c', NULL)",
        "INSERT INTO m VALUES (4, 'd', NULL)",
        "DELETE FROM m WHERE k = 1",
        "UPDATE m SET _metadata = 'z' WHERE _metadata = 'b'",
    )
    victim.lake.sql("CALL lake.merge_adjacent_files('m')")
    found = [(2, "z", [2]), (3, "c", None), (4, "d", None)]
    assert victim.rows("SELECT * FROM m") == victim.duck("FROM m") == found
    victim.run("DROP TABLE m")
