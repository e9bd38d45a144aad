"""Views, both ways: what Spark's SQL creates DuckDB reads, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pytest

from ducklake_spark.errors import (
    DuckLakeError,
    QueryError,
    UnsupportedFeatureError,
)
from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("views")) as opened:
        opened.duck_runs(
            "CREATE SCHEMA s",
            "CREATE TABLE t AS SELECT i AS id, 'g' || i % 3 AS g, [i, i + 1] AS xs, "
            "DATE '2024-01-01' + i::INTEGER AS d FROM range(10) r(i)",
            "CREATE TABLE s.u AS SELECT i AS id, i * 2 AS twice FROM range(5) r(i)",
        )
        yield opened


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id, g FROM t WHERE id < 2", [(0, "g0"), (1, "g1")]),
        ("SELECT count(*) AS n FROM lake.main.t JOIN lake.s.u USING (id)", [(5,)]),
        ("SELECT `id` AS `the id` FROM lake.t WHERE id = 3", [(3,)]),
        ("WITH c AS (SELECT g, count(*) AS n FROM t GROUP BY g) SELECT * FROM c WHERE n > 3",
         [("g0", 4)]),
        ("SELECT main.t.id FROM main.t WHERE main.t.id = 4", [(4,)]),
        ("SELECT size(xs) AS n, element_at(xs, 1) AS first FROM t WHERE id = 5", [(2, 5)]),
        ("SELECT date_format(d, 'yyyy-MM') AS m, year(d) AS y FROM t WHERE id = 0",
         [("2024-01", 2024)]),
        ("SELECT explode(xs) AS x FROM t WHERE id = 1", [(1,), (2,)]),
        ("SELECT max(id) FILTER (WHERE g = 'g1') AS m FROM t", [(7,)]),
        ("SELECT id FROM t WHERE id IN (SELECT twice FROM s.u) -- comment\n AND id > 5",
         [(6,), (8,)]),
        ("SELECT id, CASE WHEN id = 1 THEN 'it''s' ELSE \"no\" END AS w FROM t WHERE id < 2",
         [(0, "no"), (1, "it's")]),
        ("SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY id DESC) = 1",
         [(7,), (8,), (9,)]),
    ],
)  # fmt: skip
def test_ours_are_read_by_duckdb(
    on: SqlLake, query: str, expected: list[tuple[object, ...]]
) -> None:
    on.run(f"CREATE OR REPLACE VIEW s.ours AS {query}")
    assert on.same("SELECT * FROM s.ours") == expected


@pytest.mark.parametrize(
    "expressions",
    [
        "dayofweek(d), weekday(d), extract(DOW FROM d), extract(DAYOFWEEK_ISO FROM d), "
        "date_part('dow', d), date_part('year', d)",
        "date_add(d, 1), date_sub(d, 1), add_months(d, 1), trunc(d, 'MM'), trunc(d, 'YYYY'), "
        "CAST(date_trunc('MON', d) AS DATE), next_day(d, 'MON')",
        "transform(xs, (x, i) -> x * 10 + i), filter(xs, (x, i) -> i > 0), xs[0], "
        "transform(xs, (x, I) -> i), transform(xs, x -> filter(xs, (y, i) -> y > x + i))",
        "exists(xs, x -> x > 3), forall(xs, x -> x > 3), cardinality(xs)",
        "CAST(id / 2 AS INT), CAST(2.7 AS INT), CAST(-2.5 + id AS BIGINT), id DIV 2, "
        "pmod(id - 5, 3), pmod(id - 5, -3)",
        "substring(g, 0, 1), substring(g, 1, 1), btrim(concat(' ', g)), btrim(g, 'g'), "
        "format_string('%s-%d', g, id), regexp_replace(g, '(g)([0-9])', '$2-$1')",
        "isnull(g), isnotnull(g), NOT isnull(nullif(id, 1))",
    ],
)
def test_what_both_know_under_one_name_has_one_meaning(on: SqlLake, expressions: str) -> None:
    on.run(f"CREATE OR REPLACE VIEW s.ours AS SELECT id, {expressions} FROM t")
    assert len(on.same("SELECT * FROM s.ours ORDER BY id")) == 10


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, x FROM t LATERAL VIEW OUTER explode(filter(xs, x -> x > 3)) e AS x",
        "SELECT id, explode_outer(filter(xs, x -> x > 3)) AS x FROM t",
        "SELECT g, count(*) AS n FROM t GROUP BY g WITH ROLLUP",
        "SELECT g, id % 2 AS e, count(*) AS n FROM t GROUP BY g, e WITH CUBE",
        "SELECT id FROM range(3)",
        "SELECT r.id + 1 AS n FROM range(2, 5) AS r",
        "SELECT col1, col2 FROM VALUES (1, 'a'), (2, 'b')",
        "SELECT max_by(g, id) AS g, some(id > 8) AS s, every(id > 0) AS e FROM t",
        "SELECT max_by(nullif(g, 'g0'), id) AS g, min_by(nullif(g, 'g0'), id) AS h FROM t",
    ],
)
def test_what_each_writes_in_its_own_way(on: SqlLake, query: str) -> None:
    on.run(f"CREATE OR REPLACE VIEW s.ours AS {query}")
    assert on.same("SELECT * FROM s.ours ORDER BY ALL NULLS LAST")


def test_column_aliases_and_comments(on: SqlLake) -> None:
    on.run(
        "CREATE OR REPLACE VIEW lake.main.named (`a b` COMMENT 'first', c) COMMENT 'a view' AS "
        "SELECT id, g FROM t WHERE id < 2"
    )
    assert on.lake.sql("SELECT * FROM named").columns == ["a b", "c"]
    assert on.duck('SELECT "a b" + 1, c FROM named') == [(1, "g0"), (2, "g1")]
    assert on.rows("SELECT `a b` FROM named WHERE c = 'g1'") == [(1,)]
    assert ("a b", "bigint", "first") in on.rows("DESCRIBE named")
    on.run("COMMENT ON COLUMN named.C IS 'second'", "COMMENT ON COLUMN named.c IS 'third'")
    assert ("c", "string", "third") in on.rows("DESCRIBE named")
    comment = "SELECT comment FROM duckdb_views() WHERE view_name = 'named'"
    assert on.duck(comment) == [("a view",)]
    facts = {row[0]: row[1] for row in on.lake.sql("DESCRIBE EXTENDED named").collect()}
    assert (facts["Type"], facts["Comment"]) == ("view", "a view")
    assert facts["View Text"].startswith("SELECT id, g FROM")
    ((text,),) = on.rows("SHOW CREATE TABLE named")
    on.run("DROP VIEW named", text)
    assert on.rows("SHOW CREATE VIEW named") == [(text,)]
    assert on.duck(comment) == [("a view",)]


def test_views_over_views_across_schemas(on: SqlLake) -> None:
    on.run(
        "CREATE OR REPLACE VIEW v1 AS SELECT id AS k, g FROM t",
        "CREATE OR REPLACE VIEW s.v2 AS SELECT v.k + 1 AS k1, u.twice "
        "FROM main.v1 v JOIN s.u ON u.id = v.k",
        "CREATE OR REPLACE VIEW v3 (a) AS SELECT max(k1) FROM s.v2",
    )
    assert on.same("SELECT * FROM v3") == [(5,)]
    assert on.rows("SELECT count(*) FROM s.v2 WHERE k1 > 3") == [(2,)]


def test_unqualified_names_of_a_view_are_those_of_its_schema(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE TABLE s.local AS SELECT 's' AS where_",
           "CREATE OR REPLACE TABLE local AS SELECT 'main' AS where_")  # fmt: skip
    on.duck_runs("CREATE OR REPLACE VIEW s.w AS SELECT * FROM s.local")
    on.run("USE s", "CREATE OR REPLACE VIEW w2 AS SELECT * FROM local", "USE main")
    assert on.rows("SELECT * FROM s.w") == [("s",)]
    assert on.same("SELECT * FROM s.w2") == [("s",)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('SELECT id AS "the id", g FROM t WHERE id = 1', [(1, "g1")]),
        ("SELECT list_transform(xs, x -> x * 10)[1] AS a, list_filter(xs, x -> x > 2) AS b "
         "FROM t WHERE id = 2", [(20, [3])]),
        ("SELECT id::VARCHAR || '!' AS x FROM t WHERE id = 2", [("2!",)]),
        ("SELECT strftime(d, '%Y-%m') AS m FROM t WHERE id = 0", [("2024-01",)]),
        ("SELECT * EXCLUDE (xs, d) FROM t WHERE id = 0", [(0, "g0")]),
        ("FROM s.u SELECT sum(twice)::BIGINT AS x", [(20,)]),
        ("SELECT DATE_DIFF('day', DATE '2024-01-01', d) AS n FROM t WHERE id = 4", [(4,)]),
        ("SELECT unnest(xs) AS x FROM t WHERE id = 1", [(1,), (2,)]),
        ("SELECT lake.main.t.id, u.twice FROM lake.main.t JOIN lake.s.u USING (id) "
         "WHERE main.t.id = 3", [(3, 6)]),
        ("SELECT count(*) AS n, count(*) FILTER (WHERE id > 5) AS big, 'lake.main' AS x "
         "FROM lake.t GROUP BY ALL ORDER BY ALL", [(10, 4, "lake.main")]),
        ("SELECT id, count(*) OVER () AS n FROM t WHERE id < 2", [(0, 2), (1, 2)]),
        ("SELECT CAST(d + INTERVAL 2 DAY AS DATE) AS a, (d - INTERVAL 1 MONTH)::DATE AS b, "
         "strftime(TIMESTAMP '2024-01-01' + INTERVAL (id) HOUR, '%H:%M') AS c FROM t "
         "WHERE id = 4", [(date(2024, 1, 7), date(2023, 12, 5), "04:00")]),
        ("SELECT xs[1] AS a, xs[-1] AS b, xs[7] AS c, xs[id::INT] AS d FROM t WHERE id = 2",
         [(2, 3, None, 3)]),
        ("SELECT '\\xAB\\x00z'::BLOB AS b WHERE '\\x41'::BLOB = 'A'::BLOB", [(b"\xab\x00z",)]),
    ],
)  # fmt: skip
def test_duckdbs_are_read_by_spark(
    on: SqlLake, query: str, expected: list[tuple[object, ...]]
) -> None:
    on.duck_runs(f"CREATE OR REPLACE VIEW theirs AS {query}")
    assert on.same("SELECT * FROM theirs") == expected


@pytest.mark.parametrize(
    "expressions",
    [
        "dayofweek(d) AS a, isodow(d) AS b, weekday(d) AS c, extract(dow FROM d) AS e, "
        "extract(isodow FROM d) AS f, date_part('dow', d) AS g, "
        "date_part('second', TIMESTAMP '2024-01-01 00:00:01.5') AS h",
        "monthname(d) AS a, dayname(d) AS b, week(d) AS c, last_day(d) AS e, quarter(d) AS f, "
        "to_timestamp(id) > TIMESTAMPTZ '1970-01-01 00:00:03+00' AS g, "
        "CAST(date_trunc('week', d) AS DATE) AS h",
        "substring(g, 0, 2) AS a, substring(g, 1, 1) AS b, substring(g, -1) AS c, "
        "regexp_replace(g || g, '(g)([0-9])', '\\2$\\1', 'g') AS e, split_part(g, 'g', 2) AS f",
        "round(log(id + 1), 9) AS a, round(log10(id + 1), 9) AS b, round(ln(id + 1), 9) AS c, "
        "log2(8) AS e, id // 2 AS f, "
        "id / 4 AS g, id % 3 AS h, (id - 7) // 2 AS i",
        "range(3) AS a, generate_series(2, 4) AS b, list_sort(xs) AS c, "
        "list_contains(xs, 3) AS e, list_transform(xs, x -> x % 2) AS f",
    ],
)
def test_what_spark_knows_by_the_same_name_means_what_duckdb_means(
    on: SqlLake, expressions: str
) -> None:
    on.duck_runs(f"CREATE OR REPLACE VIEW theirs AS SELECT id, {expressions} FROM t")
    assert len(on.same("SELECT * FROM theirs")) == 10


def test_lists_of_rows_hold_nulls(on: SqlLake) -> None:
    on.duck_runs(
        "CREATE OR REPLACE VIEW theirs AS SELECT g, list(nullif(id, 4)) AS a, count(*) AS n "
        "FROM t GROUP BY g UNION ALL SELECT 'none', array_agg(id), 0 FROM t WHERE id > 99"
    )
    ours = [(g, a and sorted(a, key=repr), n) for g, a, n in on.rows("SELECT * FROM theirs")]
    theirs = [(g, a and sorted(a, key=repr), n) for g, a, n in on.duck("SELECT * FROM theirs")]
    assert ours == theirs
    assert ("none", None, 0) in ours


@pytest.mark.parametrize(
    "expression",
    [
        "regexp_replace(g, 'g', 'x')",
        "epoch(d)",
        "list(DISTINCT id)",
        "range(id)",
        "format('{}', id)",
        "left(g, -1)",
        "hash(id)",
        "('{\"a\": \"x\"}'::JSON -> 'a')",
        "g::BLOB",
        "TRY_CAST('\\xZZ' AS BLOB)",
    ],
)
def test_what_has_no_form_in_spark_is_refused(on: SqlLake, expression: str) -> None:
    on.duck_runs(f"CREATE OR REPLACE VIEW theirs AS SELECT {expression} AS x FROM t")
    with pytest.raises(UnsupportedFeatureError, match=r"written for DuckDB and has no form"):
        on.rows("SELECT * FROM theirs")


def test_an_error_in_a_view_names_it(on: SqlLake) -> None:
    on.duck_runs("CREATE OR REPLACE VIEW theirs AS SELECT list_cosine_similarity(xs, xs) FROM t")
    with pytest.raises(
        UnsupportedFeatureError, match=r"view main\.theirs .*(?i:list_cosine_similarity)"
    ):
        on.rows("SELECT * FROM theirs")


def test_duckdbs_column_aliases(on: SqlLake) -> None:
    on.duck_runs('CREATE OR REPLACE VIEW al("x y", z) AS SELECT id, g FROM t')
    assert on.rows("SELECT `x y` FROM al WHERE z = 'g2'") == [(2,), (5,), (8,)]


def test_a_view_without_a_portable_form_works_here(
    on: SqlLake, caplog: pytest.LogCaptureFixture
) -> None:
    on.run("CREATE OR REPLACE VIEW spark_only AS "
           "SELECT CAST(v AS INT) AS id FROM (SELECT to_variant_object(struct(id)):id AS v "
           "FROM t WHERE id < 2)")  # fmt: skip
    assert on.rows("SELECT * FROM spark_only") == [(0,), (1,)]
    assert "DuckDB" in caplog.text
    caplog.clear()
    on.run("CREATE OR REPLACE VIEW above AS SELECT id FROM spark_only")
    on.run("CREATE OR REPLACE VIEW top AS SELECT id FROM above")
    assert "the view lake.main.top, because it reads lake.main.spark_only" in caplog.text
    on.run("DROP VIEW top", "DROP VIEW above")


def test_life_of_a_view(on: SqlLake) -> None:
    on.run("CREATE VIEW life AS SELECT 1 AS a")
    for statement in ("CREATE VIEW life AS SELECT 2 AS a", "CREATE TABLE life AS SELECT 2 AS a",
                      "DROP TABLE life"):  # fmt: skip
        with pytest.raises(DuckLakeError, match="life"):
            on.run(statement)
    before = on.newest
    on.run("CREATE VIEW IF NOT EXISTS life AS SELECT 3 AS a")
    assert on.newest == before
    on.run("COMMENT ON VIEW life IS 'c'", "ALTER VIEW life AS SELECT 4 AS b")
    assert on.same("SELECT b FROM life") == [(4,)]
    assert on.duck("SELECT comment FROM duckdb_views() WHERE view_name = 'life'") == [("c",)]
    on.run("ALTER VIEW life RENAME TO lives")
    assert on.rows("SHOW VIEWS LIKE 'li*'") == [("main", "lives", False)]
    assert on.rows(f"SELECT * FROM life VERSION AS OF {before}") == [(1,)]
    on.run("DROP VIEW lives", "DROP VIEW IF EXISTS lives")
    assert on.rows("SHOW VIEWS LIKE 'li*'") == []


def test_views_look_at_the_past_with_the_statement(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE TABLE p AS SELECT 1 AS a", "CREATE OR REPLACE VIEW pv AS TABLE p")
    before = on.newest
    on.run("INSERT INTO p VALUES (2)")
    assert on.rows(f"SELECT * FROM pv VERSION AS OF {before}") == [(1,)]
    assert on.rows("SELECT * FROM pv") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE VIEW bad AS SELECT nope FROM t", "nope"),
        ("CREATE VIEW bad AS SELECT * FROM nope", "nope"),
        ("CREATE VIEW bad (a, b) AS SELECT 1 AS x", "names 2 columns, and its query gives 1"),
        ("CREATE VIEW bad AS", "Expected a query"),
        ("CREATE VIEW bad", "AS"),
    ],
)
def test_a_broken_view_is_not_made(on: SqlLake, statement: str, message: str) -> None:
    before = on.newest
    with pytest.raises(DuckLakeError, match=message):
        on.run(statement)
    assert on.newest == before


def test_views_of_the_session_are_no_part_of_a_lake(on: SqlLake) -> None:
    on.run("CREATE TEMP VIEW passing AS SELECT 1 AS a")
    with pytest.raises(DuckLakeError, match="view of this session only"):
        on.run("CREATE VIEW lasting AS SELECT * FROM passing")
    on.lake.sql("DROP VIEW passing")


def test_views_that_lead_back_to_themselves(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE TABLE r1 AS SELECT 1 AS a", "CREATE OR REPLACE VIEW r2 AS TABLE r1")
    on.run("DROP TABLE r1")
    with on.lake.catalog().transaction() as tx:
        tx.create_view("r1", "SELECT * FROM r2")
    with pytest.raises(QueryError, match="back to itself"):
        on.rows("SELECT * FROM r1")
    on.run("DROP VIEW r1", "DROP VIEW r2")
