"""Which relations a query names, in all the places where Spark's SQL takes one."""

from __future__ import annotations

import pytest

from ducklake_spark.sql.references import Reference, find_references
from ducklake_spark.sql.tokens import Cursor


def references(query: str) -> list[Reference]:
    return find_references(Cursor(query)).references


def names(query: str) -> list[str]:
    return [".".join(reference.parts) for reference in references(query)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1", ""),
        ("SELECT * FROM t", "t"),
        ("select * from t", "t"),
        ("SELECT * FROM lake.s.t", "lake.s.t"),
        ("SELECT * FROM `la ke`.`s``1`.`select`", "la ke.s`1.select"),
        ("SELECT * FROM t a, u AS b, v", "t u v"),
        ("SELECT * FROM t JOIN u ON t.a = u.a LEFT JOIN v USING (a) CROSS JOIN w", "t u v w"),
        ("SELECT * FROM t NATURAL JOIN u LEFT ANTI JOIN v ON true", "t u v"),
        ("SELECT * FROM (t JOIN u ON true) JOIN (v) ON true", "t u v"),
        ("SELECT * FROM ((SELECT * FROM t) UNION ALL (SELECT * FROM u)) x", "t u"),
        ("SELECT a, (SELECT max(b) FROM u), c FROM t", "u t"),
        ("SELECT * FROM t WHERE a IN (SELECT b FROM u) AND EXISTS (SELECT 1 FROM v)", "t u v"),
        ("SELECT * FROM t UNION SELECT * FROM u EXCEPT SELECT * FROM v", "t u v"),
        ("SELECT * FROM t WHERE a = 1 ORDER BY a, b", "t"),
        # aliases and columns that are keywords elsewhere
        ("SELECT * FROM t where, u", "t u"),
        ("SELECT * FROM t window, u", "t u"),
        ("SELECT * FROM t AS set, u", "t u"),
        ("SELECT * FROM t group, u", "t u"),
        ("SELECT * FROM t where JOIN u ON true, v", "t u v"),
        ("SELECT * FROM t JOIN u ON CASE WHEN true THEN true END, v", "t u v"),
        ("SELECT * FROM t JOIN u ON t.union = u.select, v", "t u v"),
        ("SELECT * FROM t JOIN u ON except = 1, v", "t u v"),
        ("SELECT is distinct FROM t", "t"),
        ("SELECT not distinct FROM t", "t"),
        ("SELECT a IS NOT DISTINCT FROM b, c FROM t", "t"),
        ("WITH q (SELECT * FROM t) SELECT * FROM q, u", "t u"),
        ("WITH RECURSIVE q (n) MAX RECURSION LEVEL 5 AS (SELECT n FROM q, t) SELECT * FROM q", "t"),
        ("SELECT * FROM t WINDOW w AS (ORDER BY a), x AS (ORDER BY b)", "t"),
        ("SELECT a, b FROM t GROUP BY a, b ORDER BY a, b LIMIT 3", "t"),
        ("TABLE t", "t"),
        ("TABLE t UNION ALL TABLE s.u", "t s.u"),
        ("(TABLE t) EXCEPT (TABLE u)", "t u"),
        ("SELECT * FROM (TABLE t)", "t"),
        ("SELECT * FROM x WHERE a IN (TABLE t)", "x t"),
        ("VALUES (1), (2)", ""),
        ("SELECT * FROM VALUES (1, 2), (3, 4) AS v(a, b)", ""),
        ("SELECT * FROM (VALUES (1)) v", ""),
        ("FROM t SELECT a", "t"),
        ("FROM t |> WHERE a = 1 |> JOIN u ON t.a = u.a |> SELECT a, b", "t u"),
        ("FROM t |> UNION ALL (TABLE u) |> EXTEND a + 1 AS b, c + 1 AS d", "t u"),
        ("TABLE t |> AGGREGATE sum(a) GROUP BY b", "t"),
        ("FROM t |> AS q |> SELECT q.a", "t"),
        ("SELECT * FROM IDENTIFIER('lake.`a b`' || '.t') x, u", "lake.a b.t u"),
        ("SELECT IDENTIFIER('a') FROM identifier(concat('a', 'b')), u", "identifier u"),
    ],
)
def test_relations(query: str, expected: str) -> None:
    assert " ".join(names(query)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c", "t"),
        ("WITH T AS (SELECT * FROM t) SELECT * FROM t", "t"),
        ("WITH t AS (SELECT * FROM t), u AS (SELECT * FROM t) SELECT * FROM t, u, v", "t v"),
        ("WITH c(a, b) AS (SELECT * FROM t) SELECT * FROM s.c JOIN c", "t s.c"),
        ("SELECT * FROM (WITH c AS (SELECT 1) SELECT * FROM c) x, c", "c"),
        ("WITH c AS (SELECT 1) SELECT * FROM t WHERE a IN (SELECT b FROM c)", "t"),
        ("WITH c AS (WITH d AS (SELECT * FROM t) SELECT * FROM d) SELECT * FROM c, d", "t d"),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b", "b"),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT * FROM r, t", "t"),
        ("WITH RECURSIVE r(n) MAX RECURSION LEVEL 5 AS (SELECT * FROM r) TABLE r", ""),
        ("WITH `my c` AS (SELECT 1) SELECT * FROM `My C`", ""),
    ],
)
def test_common_table_expressions_shadow_where_they_are_known(query: str, expected: str) -> None:
    assert " ".join(names(query)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 'x FROM y', \"FROM z\" FROM t", "t"),
        ("SELECT a -- FROM b\n FROM t /* JOIN c */ WHERE /* FROM d */ a", "t"),
        ("SELECT /*+ BROADCAST(u), MERGE(v) */ * FROM t", "t"),
        ("SELECT extract(year FROM d), trim(BOTH 'x' FROM e) FROM t", "t"),
        ("SELECT substring(a FROM 2 FOR 3), overlay(a PLACING 'x' FROM 2), b FROM t", "t"),
        ("SELECT extract(year FROM (SELECT max(d) FROM u)) FROM t", "u t"),
        ("SELECT position('a' IN b), trim(LEADING FROM c) FROM t", "t"),
        ("SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM c FROM t", "t"),
        ("SELECT transform(xs, x -> x + 1), filter(xs, (x, i) -> i > 0) FROM t", "t"),
        ("SELECT aggregate(xs, 0, (a, x) -> a + x, a -> a * 2) FROM t", "t"),
        ("SELECT sum(a) FILTER (WHERE b), row_number() OVER (PARTITION BY a, b ORDER BY c) FROM t",
         "t"),
        ("SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b, c)", "t"),
        ("SELECT * FROM t LATERAL VIEW OUTER explode(xs) e AS x, y LATERAL VIEW explode(ys) z",
         "t"),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1 AS x, 2 AS y))", "t"),
        ("SELECT * FROM t UNPIVOT (v FOR n IN (a, b)), u", "t u"),
        ("SELECT TRANSFORM(a, b) USING 'cat' AS (c, d) FROM t", "t"),
        ("SELECT a.b.c, m['from'], s:from.x FROM t", "t"),
        ("SELECT {'a': 1}, a[0], INTERVAL '1' DAY FROM t", "t"),
        ("SELECT CASE WHEN a THEN 1 END, b FROM t", "t"),
        ("SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.a = t.a) l, v", "t u v"),
    ],
)  # fmt: skip
def test_what_looks_like_a_relation_and_is_none(query: str, expected: str) -> None:
    assert " ".join(names(query)) == expected


@pytest.mark.parametrize(
    ("query", "shown", "arguments"),
    [
        ("SELECT * FROM range(10)", "range", "10"),
        ("SELECT * FROM lake.snapshots()", "lake.snapshots", ""),
        ("SELECT * FROM lake.table_changes('s.t', 1, f(2)) c", "lake.table_changes",
         "'s.t', 1, f(2)"),
        ("SELECT * FROM t2, LATERAL explode(t2.a) AS e(x)", "explode", "t2.a"),
    ],
)  # fmt: skip
def test_table_functions(query: str, shown: str, arguments: str) -> None:
    (found,) = [r for r in references(query) if r.arguments is not None]
    assert (".".join(found.parts), found.arguments) == (shown, arguments)


@pytest.mark.parametrize("argument", ["TABLE(t)", "TABLE t", "TABLE(SELECT * FROM t)"])
def test_tables_as_arguments(argument: str) -> None:
    assert names(f"SELECT * FROM my_function({argument}, 5) f, u") == ["my_function", "t", "u"]


@pytest.mark.parametrize(
    ("query", "by", "expression"),
    [
        ("SELECT * FROM t VERSION AS OF 7", "version", "7"),
        ("SELECT * FROM t FOR VERSION AS OF '7' x", "version", "'7'"),
        ("SELECT * FROM t FOR SYSTEM_VERSION AS OF 7", "version", "7"),
        ("SELECT * FROM t TIMESTAMP AS OF '2024-01-01' WHERE a", "timestamp", "'2024-01-01'"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01', u", "timestamp",
         "TIMESTAMP '2024-01-01'"),
        ("SELECT * FROM t TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY AS x", "timestamp",
         "current_timestamp() - INTERVAL 1 DAY"),
        ("SELECT * FROM t TIMESTAMP AS OF date_sub(current_date(), 1) JOIN u", "timestamp",
         "date_sub(current_date(), 1)"),
    ],
)  # fmt: skip
def test_time_travel(query: str, by: str, expression: str) -> None:
    travel = references(query)[0].travel
    assert travel is not None
    assert (travel.by, travel.expression) == (by, expression)


@pytest.mark.parametrize(
    ("query", "alias_at", "has_alias"),
    [
        ("SELECT * FROM t", "end", False),
        ("SELECT * FROM t x", "", True),
        ("SELECT * FROM t AS x(a, b)", "", True),
        ("SELECT * FROM t `where`", "", True),
        ("SELECT * FROM t WHERE a", "FROM t", False),
        ("SELECT * FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (1) WHERE a", "(1)", False),
        ("SELECT * FROM t TABLESAMPLE (5 ROWS) s", "", True),
        ("SELECT * FROM t VERSION AS OF 7", "end", False),
        ("SELECT * FROM t VERSION AS OF 7 x", "", True),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1))", "FROM t", False),
        ("SELECT * FROM t UNION SELECT 1", "FROM t", False),
        ("SELECT * FROM t SEMI JOIN u ON true", "FROM t", False),
        ("SELECT * FROM t |> WHERE a", "FROM t", False),
    ],
)
def test_aliases(query: str, alias_at: str, has_alias: bool) -> None:
    found = references(query)[0]
    assert found.has_alias == has_alias
    if not has_alias:
        assert query[: found.alias_at].endswith("" if alias_at == "end" else alias_at)
        assert alias_at != "end" or found.alias_at == len(query)


@pytest.mark.parametrize(
    ("query", "aliases"),
    [
        ("SELECT * FROM t A JOIN u AS b ON true", {"a", "b"}),
        ("SELECT * FROM (SELECT 1) c, (t) d", {"c", "d"}),
        ("WITH x AS (SELECT 1) SELECT * FROM x JOIN x y", {"x", "y"}),
        ("SELECT a AS b FROM t WHERE (a) = 1", set()),
    ],
)
def test_what_else_columns_can_be_qualified_by(query: str, aliases: set[str]) -> None:
    assert find_references(Cursor(query)).aliases == aliases


def test_places_are_those_of_the_text() -> None:
    query = "SELECT *\nFROM `lake` . s.`t x` -- c\n, u"
    first, second = references(query)
    assert query[first.start : first.end] == "`lake` . s.`t x`"
    assert query[first.last : first.end] == "`t x`"
    assert query[second.start : second.end] == "u"
