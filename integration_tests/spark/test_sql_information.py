"""SHOW, DESCRIBE, EXPLAIN, table functions and procedures; what is pruned is not opened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ducklake_spark.errors import DuckLakeError, QueryError
from ducklake_spark.session import Session
from support.oracle import Oracle
from support.sql_lakes import SqlLake, sql_lake

TIMES = 8


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    """A table of a file for each ten numbers, and some more to list."""
    with sql_lake(session, tmp_path_factory.mktemp("information")) as opened:
        opened.duck_runs(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (id INTEGER, g VARCHAR, d DATE)",
            *(
                f"INSERT INTO t SELECT i, 'g{at}', DATE '2024-01-01' + i::INTEGER "
                f"FROM range({at * 10}, {at * 10 + 10}) r(i)"
                for at in range(TIMES)
            ),
            "CREATE SCHEMA s",
            "CREATE TABLE s.parts (a INTEGER, b VARCHAR)",
            "ALTER TABLE s.parts SET PARTITIONED BY (a)",
            "INSERT INTO s.parts VALUES (1, 'x'), (2, 'y')",
            "CREATE VIEW v AS SELECT id, g FROM t",
            "COMMENT ON TABLE t IS 'numbers'",
            "COMMENT ON COLUMN t.id IS 'a number'",
        )
        yield opened


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SHOW SCHEMAS", [("main",), ("s",)]),
        ("SHOW DATABASES IN lake LIKE 'm*'", [("main",)]),
        ("SHOW CATALOGS", [("lake",), ("spark_catalog",)]),
        ("SHOW CATALOGS LIKE 'l*'", [("lake",)]),
        ("DESCRIBE SCHEMA lake.s",
         [("Catalog Name", "lake"), ("Namespace Name", "s"), ("Comment", "")]),
        ("DESCRIBE DATABASE EXTENDED main",
         [("Catalog Name", "lake"), ("Namespace Name", "main"), ("Comment", "")]),
        ("SHOW TABLES", [("main", "t", False), ("main", "v", False)]),
        ("SHOW TABLES IN lake.s", [("s", "parts", False)]),
        ("SHOW TABLES FROM s LIKE 'p*|x'", [("s", "parts", False)]),
        ("SHOW TABLES LIKE 'T'", [("main", "t", False)]),
        ("SHOW VIEWS IN main", [("main", "v", False)]),
        ("SHOW COLUMNS IN t", [("d",), ("g",), ("id",)]),
        ("SHOW COLUMNS FROM parts FROM s", [("a",), ("b",)]),
        ("SHOW COLUMNS IN v", [("g",), ("id",)]),
        ("SHOW TBLPROPERTIES t ('data_inlining_row_limit')", [("data_inlining_row_limit", "0")]),
        ("SHOW TBLPROPERTIES t (parquet_version)", []),
        ("DESCRIBE t ID", [("col_name", "id"), ("comment", "a number"), ("data_type", "int")]),
        ("SHOW PARTITIONS s.parts", [("`a`=1",), ("`a`=2",)]),
        ("DESCRIBE t", [("d", "date", None), ("g", "string", None), ("id", "int", "a number")]),
        ("DESC TABLE lake.main.v", [("g", "string", None), ("id", "int", None)]),
        ("DESCRIBE QUERY SELECT id + 1 AS x FROM t", [("x", "int", None)]),
        ("SELECT option_name FROM lake.options('s.parts') WHERE value = '0'",
         [("data_inlining_row_limit",)]),
        ("SELECT count(*), sum(row_count) FROM lake.list_files('t')", [(TIMES, TIMES * 10)]),
        ("SELECT count(data_file_footer_size), count(delete_file_footer_size) "
         "FROM lake.list_files('t')", [(TIMES, 0)]),
        ("SELECT count(*) FROM lake.table_changes('t', 1, 5) WHERE id < 20", [(20,)]),
        ("SELECT count(*) FROM lake.table_insertions('main.t', 0, (SELECT max(snapshot_id) "
         "FROM lake.snapshots()))", [(TIMES * 10,)]),
        ("SELECT count(*) FROM lake.table_deletions('t', 0, 5)", [(0,)]),
        ("SELECT commit_message FROM lake.snapshots() WHERE snapshot_id = 0", [(None,)]),
    ],
)  # fmt: skip
def test_what_is_there(on: SqlLake, statement: str, expected: list[tuple[object, ...]]) -> None:
    assert on.rows(statement) == sorted(expected, key=repr)


@pytest.fixture
def of_spark(on: SqlLake) -> Iterator[str]:
    """A table of Spark's own beside the lake's."""
    on.lake.session.spark.sql(
        "CREATE TABLE default.of_spark (x INT COMMENT 'theirs') USING parquet"
    )
    yield "of_spark"
    on.lake.session.spark.sql("DROP TABLE default.of_spark")


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("SHOW COLUMNS IN {}", "'x'"),
        ("SHOW CREATE TABLE {}", "USING parquet"),
        ("SHOW TBLPROPERTIES default.{}", "transient_lastDdlTime|^$"),
        ("SHOW TABLES IN default", "of_spark"),
        ("SHOW TABLE EXTENDED IN default LIKE 'of*'", "of_spark.*Provider: parquet"),
        ("DESCRIBE SCHEMA default", "Location"),
        ("DESCRIBE {}", "theirs"),
    ],
)
def test_what_is_sparks_own_is_shown_by_spark(
    on: SqlLake, of_spark: str, statement: str, shown: str
) -> None:
    assert re.search(shown, "".join(map(str, on.rows(statement.format(of_spark)))))


def test_describe_extended(on: SqlLake) -> None:
    facts = {row[0]: row[1] for row in on.lake.sql("DESCRIBE EXTENDED t").collect()}
    assert (facts["Files"], facts["Comment"], facts["Provider"]) == ("8", "numbers", "ducklake")


def test_show_table_extended(on: SqlLake) -> None:
    rows = on.lake.sql("SHOW TABLE EXTENDED LIKE '*'").collect()
    assert [row[:3] for row in rows] == [("main", "t", False), ("main", "v", False)]
    assert "Comment: numbers\nLocation: " in rows[0].information
    assert "Type: view" in rows[1].information


@pytest.mark.parametrize(
    ("statement", "files"),
    [
        ("DELETE FROM lake.main.t AS x WHERE x.id < 15", "2 of 8 files, by id < 15"),
        ("UPDATE t SET g = 'x' WHERE id IN (1, 75)", "2 of 8 files, by id in (1, 75)"),
        ("UPDATE t SET g = 'x'", "all of its 8 files"),
        ("INSERT INTO s.parts SELECT id, g FROM t WHERE id = 3", "1 of 8 files, by id = 3"),
        ("WITH q AS (SELECT * FROM t WHERE id = 3) INSERT INTO s.parts SELECT id, g FROM q",
         "1 of 8 files, by id = 3"),
        ("CREATE TABLE new AS SELECT * FROM t WHERE d > '2024-03-15'",
         "1 of 8 files, by d > 2024-03-15"),
    ],
)  # fmt: skip
def test_what_a_change_reads_is_explained(on: SqlLake, statement: str, files: str) -> None:
    newest = on.newest
    ((plan,),) = on.rows(f"EXPLAIN {statement}")
    assert plan.splitlines()[0] == f"lake.main.t @{newest}: {files}"
    assert on.newest == newest


def test_what_is_not_explained(on: SqlLake) -> None:
    with pytest.raises(DuckLakeError, match="EXPLAIN does not tell of MERGE"):
        on.rows("EXPLAIN MERGE INTO t USING s.parts p ON t.id = p.a WHEN MATCHED THEN DELETE")


def test_show_create(on: SqlLake) -> None:
    ((text,),) = on.rows("SHOW CREATE TABLE t")
    assert text.startswith("CREATE TABLE `lake`.`main`.`t` (\n  `id` int COMMENT 'a number'")
    ((text,),) = on.rows("SHOW CREATE TABLE v")
    assert text.startswith("CREATE VIEW `lake`.`main`.`v` AS ")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM t", "lake.main.t @{0}: all of its 8 files"),
        ("SELECT * FROM t WHERE id = 25", "lake.main.t @{0}: 1 of 8 files, by id = 25"),
        ("SELECT * FROM v WHERE id IN (1, 75)", "lake.main.t @{0}: 2 of 8 files, by id in (1, 75)"),
        ("WITH c AS (SELECT id AS k FROM t) SELECT * FROM c WHERE k < 10",
         "lake.main.t @{0}: 1 of 8 files, by id < 10"),
        ("SELECT * FROM t WHERE d >= '2024-03-11' AND g LIKE 'g%'",
         "lake.main.t @{0}: 1 of 8 files, by d >= 2024-03-11 and g like g%"),
        ("SELECT * FROM s.parts WHERE a = 2", "lake.s.parts @{0}: 1 of 2 files, by a = 2"),
        ("SELECT * FROM t WHERE id = 25 OR g = 'g7'",
         "lake.main.t @{0}: 2 of 8 files, by (id = 25 or g = g7)"),
        ("SELECT * FROM t VERSION AS OF 3 WHERE id = 75",
         "lake.main.t @3: 0 of 2 files, by id = 75"),
        ("SELECT * FROM t WHERE g NOT LIKE 'g1%'", "lake.main.t @{0}: all of its 8 files"),
    ],
)  # fmt: skip
def test_explain_says_which_files_are_read(on: SqlLake, query: str, said: str) -> None:
    ((plan,),) = on.rows(f"EXPLAIN {query}")
    assert plan.splitlines()[0] == said.format(on.newest)
    assert "== Physical Plan ==" in plan


@pytest.mark.parametrize("mode", ["EXTENDED", "FORMATTED", "COST"])
def test_modes_of_explain(on: SqlLake, mode: str) -> None:
    ((plan,),) = on.rows(f"EXPLAIN {mode} SELECT * FROM t WHERE id = 1")
    assert plan.startswith("lake.main.t @")


def test_pruned_files_are_not_opened(on: SqlLake) -> None:
    paths = {row[1]: Path(row[0]) for row in on.rows(
        "SELECT data_file, begin_snapshot FROM lake.list_files('t')")}  # fmt: skip
    first = paths[min(paths)]
    hidden = first.with_suffix(".hidden")
    first.rename(hidden)
    try:
        assert on.rows("SELECT count(*) FROM t WHERE id BETWEEN 30 AND 39") == [(10,)]
        assert on.rows("SELECT count(*) FROM v WHERE id > 9") == [(70,)]
        assert on.rows(
            "SELECT count(*) FROM s.parts p LEFT JOIN t ON t.id = p.a + 30 AND t.id > 20"
        ) == [(2,)]
        with pytest.raises(Exception, match=r"(?i)not exist|FileNotFound|missing"):
            on.lake.sql("SELECT count(*) FROM t WHERE id > 8").collect()
    finally:
        hidden.rename(first)


def test_conditions_that_no_database_parses(on: SqlLake) -> None:
    deep = "id = 1"
    for at in range(40):
        deep = f"(({deep} AND g >= 'g') OR (d = '2024-01-01' AND id = {at}))"
    assert on.rows(f"SELECT count(*) FROM t WHERE {deep}") == [(2,)]
    many = " OR ".join(f"id = {at} OR g = 'x{at}'" for at in range(300))
    assert on.rows(f"SELECT count(*) FROM t WHERE {many}") == [(80,)]


@pytest.mark.parametrize(
    "call",
    [
        "CALL lake.list_files('t')",
        "CALL lake.list_files(table_name => 'main.t')",
        "CALL lake.list_files(table => 't', schema => 'main')",
        "CALL lake.list_files('t', schema_name => 'main')",
        "CALL ducklake_list_files('lake', 't')",
        "CALL list_files('lake.main.t')",
    ],
)
def test_ways_to_call(on: SqlLake, call: str) -> None:
    assert len(on.rows(call)) == TIMES


def test_tables_as_they_were(on: SqlLake) -> None:
    ((files,),) = on.rows("SELECT file_count FROM lake.table_info('t', snapshot_version => 4)")
    assert files == 3
    with pytest.raises(DuckLakeError, match="snapshot at"):
        on.rows("CALL lake.list_files('t', snapshot_time => '3 weeks')")


def test_options_by_call(on: SqlLake) -> None:
    on.lake.sql("CALL lake.set_option('parquet_compression', 'gzip', table_name => 't')")
    chosen = (
        "SELECT value, scope, scope_entry FROM lake.options({}) WHERE option_name LIKE '%_comp%'"
    )
    assert on.rows(chosen.format("'t'")) == [("gzip", "TABLE", "main.t")]
    assert on.rows(chosen.format("schema => 'main'")) == []
    on.lake.sql("CALL set_option('parquet_compression', NULL, schema => 'main', table_name => 't')")
    assert on.rows(chosen.format("'t'")) == []


def test_options_in_force_are_the_narrowest(on: SqlLake) -> None:
    on.lake.begin()
    for value, scope in ((1, ""), (2, ", schema => 's'"), (3, ", table_name => 's.parts'")):
        on.lake.sql(f"CALL lake.set_option('parquet_compression_level', {value}{scope})")
    found = {
        given: on.rows(f"SELECT value FROM lake.options({given}) WHERE option_name LIKE '%_level'")
        for given in ("", "'t'", "schema => 's'", "'s.parts'")
    }
    on.lake.rollback()
    assert list(found.values()) == [[("1",), ("2",), ("3",)], [("1",)], [("2",)], [("3",)]]


def test_the_table_of_a_feed_is_found_as_others_are(on: SqlLake) -> None:
    rows = [(1, "x"), (2, "y")]
    for given in ("'s.parts', 0, 99", "'lake.s.parts', 0, 99", "'parts', 0, 99, schema => 's'"):
        given = given.replace("99", str(on.lake.reader().snapshot.id))
        assert on.rows(f"SELECT a, b FROM lake.table_insertions({given})") == rows
    on.run("USE lake.s")
    try:
        found = on.rows("SELECT count(*) FROM lake.table_changes('parts', 0, current_timestamp())")
    finally:
        on.run("USE lake.main")
    assert found == [(2,)]


def test_a_view_as_a_frame(on: SqlLake) -> None:
    assert on.lake.table("v").columns == ["id", "g"]
    assert on.lake.table("lake.main.v").count() == TIMES * 10


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SHOW TABLES IN nope", "nope"),
        ("SHOW COLUMNS IN nope", "nope"),
        ("SHOW SCHEMAS IN nope", "nope"),
        ("DESCRIBE nope", "nope"),
        ("DESCRIBE lake.s.nope", "nope"),
        ("EXPLAIN SELECT nope FROM t", "nope"),
        ("EXPLAIN SELECT * FROM nope", "nope"),
        (
            "SELECT * FROM lake.list_files()",
            "list_files needs table_name. Its arguments: table_name",
        ),
        ("SELECT * FROM lake.list_files('nope')", "nope"),
        ("SELECT * FROM lake.table_changes('t', 1)", "needs end_snapshot"),
        ("SELECT * FROM lake.table_changes('t', 1, 999)", "999"),
        ("SELECT * FROM lake.snapshots(1)", "takes 0 arguments"),
        ("CALL lake.set_option('parquet_compression')", "set_option needs value"),
        ("CALL lake.set_option(nope => 1)", "no argument 'nope'. Its arguments: option"),
        ("CALL lake.set_option('auto_compact', true, option => 'x')", "option twice"),
        ("CALL lake.list_files(7)", "cannot take 7 for table_name"),
        ("CALL lake.list_files('t', snapshot_version => true)", "cannot take True"),
        ("CALL lake.list_files('t', snapshot_time => 'soon')", "'soon' is neither a duration"),
        ("CALL lake.list_files('other.main.t')", "no table of the lake lake"),
        ("CALL lake.cleanup_old_files(dry_run => NULL)", "cannot take NULL for dry_run"),
        ("CALL lake.sett_option('a', 1)", "Did you mean 'set_option'"),
        ("CALL nope.set_option('a', 1)", "nope"),
        ("CALL lake.set_option('a', 1", r"\)"),
    ],
)
def test_what_is_not_there(on: SqlLake, statement: str, message: str) -> None:
    with pytest.raises(DuckLakeError, match=message):
        on.rows(statement)


def test_explain_of_what_is_no_query_is_sparks(on: SqlLake) -> None:
    with pytest.raises(QueryError):
        on.rows("EXPLAIN DROP nope nope")


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("snapshots",
         "snapshot_id, schema_version, changes, author, commit_message, commit_extra_info"),
        ("options", "option_name, value, scope, scope_entry"),
    ],
)  # fmt: skip
def test_what_duckdb_tells_too_is_told_alike(on: SqlLake, function: str, told: str) -> None:
    on.duck_runs(
        'CREATE TABLE s."odd ""name" (a INTEGER)',
        "CALL lake.set_option('auto_compact', true, schema => 's')",
        "CALL lake.set_option('auto_compact', true, schema => 's', table_name => 'parts')",
        """CALL lake.set_option('auto_compact', true, schema => 's', table_name => 'odd "name')""",
        "CREATE MACRO m(a) AS a",
        "DROP MACRO m",
        'DROP TABLE s."odd ""name"',
    )
    on.same(f"SELECT {told} FROM lake.{function}()")
    with Oracle(on.address) as duck:
        described = duck.rows(f"DESCRIBE FROM lake.{function}()")
    assert on.lake.sql(f"CALL lake.{function}()").columns == [row[0] for row in described]
