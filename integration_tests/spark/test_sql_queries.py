"""Queries over lakes: names, snapshots, everything that Spark's SQL can say, errors."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ducklake_spark.errors import (
    ConfigError,
    DuckLakeError,
    NotFoundError,
    QueryError,
    StatementError,
)
from ducklake_spark.lake import Lake
from ducklake_spark.session import Session
from support.lakes import file_lake
from support.sql_lakes import SqlLake, sql_lake

FILL = (
    "CREATE TABLE t (id INTEGER, g VARCHAR, xs INTEGER[], s STRUCT(a INTEGER, b VARCHAR))",
    "INSERT INTO t SELECT i, 'g' || i % 3, [i, i + 1], {'a': i, 'b': 'b' || i} FROM range(10) r(i)",
    "CREATE SCHEMA other",
    "CREATE TABLE other.t (id INTEGER, note VARCHAR)",
    "INSERT INTO other.t SELECT i, 'n' || i FROM range(5, 15) r(i)",
    'CREATE TABLE "odd name" ("select" INTEGER, "a b" VARCHAR, "ü`q" INTEGER)',
    "INSERT INTO \"odd name\" VALUES (1, 'x', 2)",
)


@pytest.fixture(scope="module")
def shop(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    """Two schemas that DuckDB filled, with a table `t` in each; not to be changed."""
    with sql_lake(session, tmp_path_factory.mktemp("shop")) as opened:
        opened.duck_runs(*FILL)
        yield opened


@pytest.fixture
def own(on: SqlLake) -> SqlLake:
    """The same, to be changed."""
    on.duck_runs(*FILL)
    return on


@pytest.mark.parametrize("name", ["t", "main.t", "lake.main.t", "lake.t", "LAKE.Main.T",
                                  "`lake`.`main`.`t`"])  # fmt: skip
def test_names_of_one_two_and_three_parts(shop: SqlLake, name: str) -> None:
    assert shop.rows(f"SELECT count(*), sum(id) FROM {name}") == [(10, 45)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) FROM t WHERE id IN (SELECT id FROM other.t)", 5),
        ("SELECT count(*) FROM t LEFT ANTI JOIN other.t o ON t.id = o.id", 5),
        ("SELECT count(*) FROM (SELECT id FROM t UNION SELECT id FROM other.t)", 15),
        ("WITH t AS (SELECT * FROM t WHERE id < 3) SELECT count(*) FROM t", 3),
        ("WITH c(a, b) AS (SELECT id, g FROM t) SELECT max(a) FROM c WHERE b = 'g1'", 7),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) "
         "SELECT count(*) FROM r JOIN t ON t.id = r.n", 5),
        ("SELECT sum(x) FROM t LATERAL VIEW explode(xs) e AS x", 100),
        ("SELECT sum(e.x) FROM t, LATERAL explode(t.xs) AS e(x)", 100),
        ("SELECT sum(size(filter(transform(xs, x -> x + 1), x -> x % 2 = 0))) FROM t", 10),
        ("SELECT aggregate(collect_list(id), 0, (acc, x) -> acc + x) FROM t", 45),
        ("SELECT count(*) FROM (SELECT g, id FROM t) PIVOT (sum(id) FOR g IN ('g0', 'g1'))", 1),
        ("SELECT count(*) FROM (SELECT id, id + 1 AS j FROM t) UNPIVOT (v FOR n IN (id, j))", 20),
        ("FROM t |> WHERE id > 6 |> AGGREGATE count(*) AS n", 3),
        ("FROM t |> UNION ALL (TABLE t) |> AGGREGATE count(*)", 20),
        ("FROM t SELECT count(*)", 10),
        ("SELECT count(*) FROM (TABLE other.t)", 10),
        ("SELECT /*+ BROADCAST(o) */ count(*) FROM t JOIN other.t o USING (id)", 5),
        ("SELECT count(*) FROM t NATURAL JOIN other.t", 5),
        ("SELECT count(*) FROM t a JOIN t b ON a.id = b.id + 1", 9),
        ("SELECT sum(s.a) FROM t WHERE t.s.b IN ('b1', 'b2')", 3),
        ("SELECT count(*) FROM t -- FROM nowhere\n WHERE /* JOIN x */ g <> 'FROM y'", 10),
        ("SELECT max(extract(year FROM DATE '2024-05-05') + id) FROM t", 2033),
        ("SELECT count(*) FROM t WHERE g IS NOT DISTINCT FROM 'g0'", 4),
        ("SELECT count(*) FROM t TABLESAMPLE (100 PERCENT) x", 10),
        ("SELECT count(*) FROM t TABLESAMPLE (100 PERCENT) WHERE t.id >= 0", 10),
        ("SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) AS n "
         "FROM t) WHERE n = 1", 3),
        ("SELECT sum(`select` + `ü``q`) FROM `odd name` WHERE `a b` = 'x'", 3),
        ("SELECT (SELECT max(o.id) FROM other.t o WHERE o.id = t.id) FROM t WHERE id = 7", 7),
        ("SELECT count(*) FROM range(5) r JOIN t ON r.id = t.id", 5),
        ("SELECT count(*) FROM VALUES (1), (2) AS v(id) JOIN t USING (id)", 2),
        ("SELECT count(*) FROM ((t JOIN other.t o ON t.id = o.id))", 5),
    ],
)  # fmt: skip
def test_what_sql_can_say(shop: SqlLake, query: str, expected: int) -> None:
    assert shop.rows(query) == [(expected,)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT main.t.id FROM main.t WHERE lake.main.t.id = 3", 3),
        ("SELECT t.id FROM main.t WHERE main.t.id = 3", 3),
        ("SELECT main.t.s.a FROM lake.main.t WHERE t.id = 3", 3),
        ("SELECT count(main.t.id) FROM main.t JOIN other.t ON main.t.id = other.t.id", 5),
        # The inner table has the outer one's last name: each keeps to its own.
        ("SELECT count(*) FROM main.t WHERE EXISTS "
         "(SELECT 1 FROM other.t WHERE other.t.id = main.t.id)", 5),
        ("SELECT count(*) FROM main.t WHERE EXISTS "
         "(SELECT 1 FROM other.t t WHERE t.id = main.t.id)", 5),
        ("SELECT count(*) FROM main.t WHERE EXISTS "
         "(SELECT 1 FROM (SELECT 100 AS id) t WHERE t.id = main.t.id)", 0),
        ("WITH t AS (SELECT 100 AS id) SELECT count(*) FROM main.t WHERE EXISTS "
         "(SELECT 1 FROM t WHERE t.id = main.t.id)", 0),
    ],
)  # fmt: skip
def test_columns_by_their_full_names(shop: SqlLake, query: str, expected: int) -> None:
    assert shop.rows(query) == [(expected,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM IDENTIFIER('lake.main.t') WHERE t.id < 10",
        "SELECT count(*) FROM IDENTIFIER('main' || '.t') x WHERE x.id < 10",
        "TABLE IDENTIFIER('`t`') |> AGGREGATE count(*)",
        "SELECT count(*) FROM IDENTIFIER('t') VERSION AS OF 2",
        "SELECT count(main.t.id) FROM IDENTIFIER('main.t') JOIN IDENTIFIER('other.t') o ON true "
        "WHERE o.id = 5",
        "WITH q AS (SELECT 1) SELECT count(IDENTIFIER('id')) FROM identifier(r'lake.t'), q",
    ],
)
def test_names_that_identifier_spells(shop: SqlLake, query: str) -> None:
    assert shop.rows(query) == [(10,)]


def test_names_that_only_spark_can_spell(shop: SqlLake) -> None:
    shop.lake.sql("CREATE OR REPLACE TEMP VIEW of_spark AS SELECT 1 AS a")
    assert shop.rows("SELECT * FROM IDENTIFIER(concat('of_', 'spark'))") == [(1,)]
    with pytest.raises(QueryError, match=r"lake\.other\.t is named where .* are not seen"):
        shop.rows("SELECT * FROM IDENTIFIER(concat('other', '.t'))")


def test_columns_of_a_star_by_full_name(shop: SqlLake) -> None:
    assert shop.lake.sql("SELECT main.t.* FROM main.t").columns == ["id", "g", "xs", "s"]


def test_temporary_views_win_over_tables_of_the_same_short_name(own: SqlLake) -> None:
    outcome = own.run("CREATE OR REPLACE TEMP VIEW t AS SELECT id FROM lake.main.t WHERE id < 2")
    assert outcome.operation == "CREATE TEMPORARY VIEW"
    assert own.rows("SELECT count(*) FROM t") == [(2,)]
    assert own.rows("SELECT count(*) FROM main.t") == [(10,)]
    own.run("INSERT INTO lake.main.t (id) VALUES (0)")
    # The view is what it was at its own snapshot, as every statement is.
    assert own.rows("SELECT count(*) FROM t") == [(2,)]
    own.lake.sql("DROP VIEW t")
    assert own.rows("SELECT count(*) FROM t") == [(11,)]


def test_spark_reads_what_is_its_own(own: SqlLake, tmp_path: Path) -> None:
    folder = tmp_path / "loose"
    own.lake.sql("SELECT * FROM t").write.parquet(str(folder))
    assert own.rows(f"SELECT count(*) FROM parquet.`{folder}` p JOIN t USING (id)") == [(10,)]
    partitions = own.lake.session.spark.conf.get("spark.sql.shuffle.partitions")
    assert own.rows("SET spark.sql.shuffle.partitions") == [
        ("spark.sql.shuffle.partitions", partitions)
    ]
    assert own.rows("CACHE TABLE c AS SELECT id FROM t WHERE id > 7") is not None
    assert own.rows("SELECT count(*) FROM c") == [(2,)]


def test_queries_within_commands_of_sparks(own: SqlLake, tmp_path: Path) -> None:
    own.lake.sql("DECLARE OR REPLACE most INT")
    own.lake.sql("SET VAR most = (SELECT min(id) FROM main.t WHERE t.id > 3)")
    assert own.rows("SELECT count(*) FROM t WHERE id < most") == [(4,)]
    own.lake.sql("CACHE TABLE few OPTIONS ('storageLevel' 'MEMORY_ONLY') SELECT id FROM t LIMIT 2")
    assert own.rows("SELECT count(*) FROM few") == [(2,)]
    own.lake.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING json SELECT id FROM lake.t")
    assert own.rows(f"SELECT sum(id) FROM json.`{tmp_path}/out`") == [(45,)]
    with pytest.raises(QueryError, match="no ANALYZE, CACHE or REFRESH"):
        own.lake.sql("REFRESH TABLE t")


def test_time_travel_for_each_reference(own: SqlLake) -> None:
    before = own.newest
    moment = datetime.datetime.now(datetime.UTC)
    own.run("DELETE FROM t WHERE id < 4")
    query = f"SELECT count(*) FROM t VERSION AS OF {before} a LEFT ANTI JOIN t ON a.id = t.id"
    assert own.rows(query) == [(4,)]
    assert own.rows(f"SELECT count(*) FROM t VERSION AS OF {before} WHERE t.id < 4") == [(4,)]
    for text in (f"'{moment.isoformat()}'", f"TIMESTAMP '{moment.isoformat()}'",
                 "current_timestamp() - INTERVAL 0 SECONDS",
                 "current_timestamp() - INTERVAL '0 seconds' - INTERVAL '0-0' YEAR TO MONTH",
                 "current_timestamp()::TIMESTAMP",
                 f"(SELECT snapshot_time FROM lake.snapshots() WHERE snapshot_id = {before})",
                 ):  # fmt: skip
        expected = 6 if "current" in text else 10
        query = f"SELECT count(x.id) FROM main.t TIMESTAMP AS OF {text} x WHERE x.id IS NOT NULL"
        assert own.rows(query) == [(expected,)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM t VERSION AS OF 999", "999"),
        ("SELECT * FROM t VERSION AS OF 'yesterday'", "takes a snapshot id"),
        ("SELECT * FROM t TIMESTAMP AS OF '1999-01-01'", "1999"),
        ("SELECT * FROM t TIMESTAMP AS OF NULL", "no point in time"),
        ("SELECT * FROM t TIMESTAMP AS OF nope", r"line 1: nope\n +\^"),
        ("SELECT * FROM nowhere VERSION AS OF 1", "nowhere"),
        ("SELECT * FROM t VERSION AS OF 0", r"lake\.main\.t of snapshot 0 does not exist"),
        (
            "SELECT * FROM lake.main.t VERSION AS OF 0",
            r"lake\.main\.t of snapshot 0 does not exist",
        ),
    ],
)
def test_time_travel_to_nowhere(shop: SqlLake, query: str, message: str) -> None:
    with pytest.raises(DuckLakeError, match=message):
        shop.rows(query)


def test_several_lakes(own: SqlLake, tmp_path: Path) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    address = file_lake("duckdb", folder)
    own.lake.attach("second", address.catalog, address.data_path)
    own.run(
        "CREATE SCHEMA second.s",
        "CREATE TABLE second.s.u AS SELECT id * 2 AS id FROM lake.main.t",
        "CREATE TABLE second.v AS SELECT 1 AS one",
    )
    assert own.rows("SELECT count(*) FROM lake.main.t JOIN second.s.u USING (id)") == [(5,)]
    assert own.rows("SELECT * FROM second.v JOIN second.main.v USING (one)") == [(1,)]
    own.run("USE second.s")
    assert own.rows("SELECT count(*) FROM u") == [(10,)]
    assert own.rows("SELECT count(*) FROM lake.t") == [(10,)]
    own.run("USE lake")
    assert own.rows("SELECT count(*) FROM t") == [(10,)]


def test_where_names_without_a_schema_lead(own: SqlLake) -> None:
    catalogs = {"lake": own.lake.catalog()}
    lake = Lake(own.lake.session.sibling(), catalogs, "OTHER")
    assert lake.sql("SELECT max(note) FROM t").collect() == [("n9",)]
    assert [row.namespace for row in lake.sql("SHOW TABLES").collect()] == ["other"]
    assert lake.sibling().sql("SELECT max(note) FROM t").collect() == [("n9",)]
    lake = Lake(own.lake.session.sibling(), catalogs, "later")
    with pytest.raises(NotFoundError, match=r"'later' does not exist\..* CREATE SCHEMA makes it"):
        lake.sql("CREATE TABLE made (id INT)")
    lake.sql("CREATE SCHEMA later")
    lake.sql("CREATE TABLE made (id INT)")
    assert lake.sql("SELECT * FROM later.made").collect() == []


def test_one_snapshot_for_a_statement(own: SqlLake) -> None:
    frame = own.lake.sql("SELECT count(*) AS n FROM t a UNION ALL SELECT count(*) FROM t b")
    own.duck_runs("INSERT INTO t (id) VALUES (77)")
    assert [row.n for row in frame.collect()] == [10, 10]
    assert own.rows("SELECT count(*) FROM t") == [(11,)]


@pytest.mark.parametrize(
    ("query", "kind", "expected"),
    [
        ("SELECT * FROM tt", NotFoundError, r"lake\.main\.tt does not exist.*Did you mean 't'"),
        ("SELECT * FROM lake.other.u", NotFoundError, r"lake\.other\.u does not exist"),
        ("SELECT * FROM lake.nope.t", NotFoundError, r"nope"),
        ("SELECT idd FROM t", QueryError, r"idd.*\n  line 1: SELECT idd FROM t\n +\^"),
        ("SELECT id,\n  t.nope\nFROM main.t", QueryError, r"line 2:   t.nope\n +\^"),
        ("SELECT id FROM main.t, other.t WHERE", QueryError, "line 1"),
        ("SELECT nofunction(id) FROM t", QueryError, "nofunction"),
        ("SELECT id FROM t GROUP BY g", QueryError, "id"),
        ("SELECT id + xs FROM t", QueryError, "line 1"),
        ("SELECT * FROM t WHERE id = 'abc' AND (", StatementError, "found 'the end'"),
        ("SELECT 'a", StatementError, "not closed"),
        ("", StatementError, "no statement"),
        ("-- nothing", StatementError, "no statement"),
        ("SELEC 1", QueryError, "SELEC"),
    ],
)
def test_errors_in_the_users_terms(
    shop: SqlLake, query: str, kind: type[Exception], expected: str
) -> None:
    with pytest.raises(kind, match=expected) as caught:
        shop.rows(query)
    text = str(caught.value)
    assert " @" not in text
    assert "JVM" not in text
    assert "'Project" not in text


def test_a_hundred_kilobytes(shop: SqlLake) -> None:
    listed = ", ".join(map(str, range(15_000)))
    assert shop.rows(f"SELECT count(*) FROM t WHERE id IN ({listed})") == [(10,)]
    deep = "(" * 200 + "id" + ")" * 200
    assert shop.rows(f"SELECT sum({deep}) FROM t") == [(45,)]


def test_tables_as_dataframes(shop: SqlLake) -> None:
    assert shop.lake.table("other.t").count() == 10
    assert shop.lake.table("lake.main.t", version=1).count() == 0
    assert shop.lake.table("t", timestamp="2999-01-01 00:00:00").count() == 10
    with pytest.raises(QueryError, match="soon"):
        shop.lake.table("t", timestamp="soon")
    with pytest.raises(NotFoundError):
        shop.lake.table("nope")


def test_siblings_have_views_of_their_own(own: SqlLake) -> None:
    other = own.lake.sibling()
    other.sql("CREATE TEMP VIEW t AS SELECT 1 AS one")
    assert other.sql("SELECT * FROM t").columns == ["one"]
    assert own.lake.sql("SELECT * FROM t").columns == ["id", "g", "xs", "s"]


def test_a_time_zone_that_only_spark_knows(own: SqlLake) -> None:
    own.duck_runs("CREATE TABLE z AS SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00' AS at")
    own.lake.sql("SET TIME ZONE '+02:00'")
    assert own.rows("SELECT count(*) FROM z WHERE at = '2024-01-01 02:00:00'") == [(1,)]


def test_lakes_are_opened_by_name(session: Session, tmp_path: Path) -> None:
    address = file_lake("sqlite", tmp_path)
    with Lake.open(address.catalog, address.data_path, session.spark, name="my lake") as lake:
        lake.sql("CREATE TABLE `my lake`.main.t AS SELECT 1 AS a")
        assert lake.sql("SELECT * FROM `my lake`.main.t").collect() == [(1,)]


@pytest.mark.parametrize(
    "key", ["spark.sql.ansi.enabled", "spark.sql.parquet.enableVectorizedReader"]
)
def test_settings_that_a_lake_relies_on(own: SqlLake, key: str) -> None:
    with pytest.raises(ConfigError, match=f"Cannot change {key}: "):
        own.lake.sql(f"SET {key} = false")
    assert own.rows(f"SET {key}") == [(key, "true")]
    own.lake.sql("RESET")
    assert own.rows(f"SET {key}") == [(key, "true")]


def test_threads_on_one_lake_read_all_rows(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE t AS SELECT id FROM range(100)",
        "DELETE FROM t WHERE id < 5",
        "INSERT INTO t SELECT id FROM range(10)",
    )

    def count(_: int) -> int:
        return on.lake.table("t").count()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(count, range(40))) == {105}
