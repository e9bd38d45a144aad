"""What a query demands of each relation: all that can be proved, and nothing that cannot."""

from __future__ import annotations

import uuid

import pytest

from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.predicates import AllOf, AnyOf, Comparison, Predicate
from ducklake_spark.spec.types import Primitive
from ducklake_spark.sql.conditions import Both, Condition, Either, Test, predicate_of
from ducklake_spark.sql.pruning import condition_of, demands_of, equalities_of
from ducklake_spark.sql.references import find_references
from ducklake_spark.sql.tokens import Cursor


def shown(condition: Condition | None) -> str:
    match condition:
        case None:
            return ""
        case Test(column, operator, values):
            return " ".join([column, operator, *(value.sql("spark") for value in values)])
        case Both(parts):
            return " & ".join(map(shown, parts))
        case Either(parts):
            return "(" + " | ".join(map(shown, parts)) + ")"


def demands(query: str) -> dict[str, str]:
    """By the name of the relation, with a number from its second time on."""
    found: dict[str, str] = {}
    known = demands_of(query)
    for reference in find_references(Cursor(query)).references:
        name = reference.parts[-1]
        while name in found:
            name += "'"
        found[name] = shown(known.get(reference.last))
    return {name: demand for name, demand in found.items() if demand}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x = 1", "x = 1"),
        ("1 = x", "x = 1"),
        ("1 < x", "x > 1"),
        ("t.x >= 1 AND T.Y <= 'b'", "x >= 1 & y <= 'b'"),
        ("(x = 1 OR x = 2) AND y = 3", "(x = 1 | x = 2) & y = 3"),
        ("x = 1 OR y = 2", "(x = 1 | y = 2)"),
        ("x = 1 OR f(y) = 2", ""),
        ("(x = 1 AND f(y)) OR y = 2", "(x = 1 | y = 2)"),
        ("x = 1 AND f(y) AND z", "x = 1"),
        ("x IN (1, 2)", "x in 1 2"),
        ("x NOT IN (1, 2)", ""),
        ("x IN (SELECT 1)", ""),
        ("x BETWEEN 1 AND 2", "x >= 1 & x <= 2"),
        ("x NOT BETWEEN 1 AND 2", ""),
        ("x BETWEEN SYMMETRIC 2 AND 1", ""),
        ("x IS NULL", "x null"),
        ("x IS NOT NULL", "x not null"),
        ("NOT x IS NULL", "x not null"),
        ("NOT (x IS NOT NULL)", ""),
        ("NOT x = 1", ""),
        ("x <> 1", ""),
        ("NOT (x = 1 OR y = 2)", ""),
        ("x <=> 1", "x = 1"),
        ("x IS NOT DISTINCT FROM 1", "x = 1"),
        ("x IS DISTINCT FROM 1", ""),
        ("x LIKE 'a%'", "x like 'a%'"),
        ("x NOT LIKE 'a%'", ""),
        ("x ILIKE 'a%'", ""),
        ("x RLIKE 'a'", ""),
        ("x LIKE 'a/%%' ESCAPE '/'", ""),
        ("x + 1 = 2", ""),
        ("x = 1 IS NULL", ""),
        ("s.x = 1", ""),
        ("a.b.c.x = 1", ""),
        ("m['k'] = 1", ""),
        ("x = 1 = true", ""),
        ("CASE WHEN x = 1 THEN true END", ""),
        ("coalesce(x, 1) = 1", ""),
        ("exists(xs, x -> x = 1)", ""),
        ("(x, y) IN ((1, 2))", ""),
        ("x COLLATE UTF8_LCASE = 'a'", ""),
        ("((((x)) = (1)))", "x = 1"),
    ],
)
def test_conditions(where: str, expected: str) -> None:
    assert demands(f"SELECT * FROM t WHERE {where}").get("t", "") == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM s.t WHERE s.t.x = 1", {"t": "x = 1"}),
        ("SELECT * FROM lake.s.t WHERE s.t.x = 1 AND lake.s.t.y = 2", {"t": "x = 1 & y = 2"}),
        ("SELECT * FROM t a WHERE a.x = 1 AND t.y = 2", {"t": "x = 1"}),
        # A column s.x of t, and not the column x of s.
        ("SELECT * FROM t, s WHERE t.s.x = 1", {}),
        # Of two that could have it, neither is asked for it.
        ("SELECT * FROM t, u WHERE x = 1", {}),
        ("SELECT * FROM a.t, b.t WHERE t.x = 1", {}),
        ("SELECT * FROM a.t, b.t WHERE b.t.x = 1", {"t'": "x = 1"}),
        ("SELECT * FROM t LATERAL VIEW explode(xs) e AS y WHERE y = 1", {}),
        ("SELECT * FROM t LATERAL VIEW explode(xs) e AS y WHERE t.x = 1", {"t": "x = 1"}),
        # The second column of t goes by the name of the first.
        ("SELECT * FROM t AS u(y, x) WHERE u.x = 1", {}),
        ("SELECT * FROM t AS u(y, x) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT x, y FROM t) AS u(y, x) WHERE x = 1", {}),
        ("WITH c(y, x) AS (SELECT x, y FROM t) SELECT * FROM c WHERE x = 1", {}),
        ("WITH c AS (SELECT x, y FROM t) SELECT * FROM c AS d(y, x) WHERE x = 1", {}),
        ("SELECT * FROM t TABLESAMPLE (10 ROWS) WHERE x = 1", {}),
        ("SELECT * FROM t PIVOT (sum(a) FOR x IN (1, 2)) WHERE y = 1", {}),
        ("SELECT * FROM t UNPIVOT (x FOR n IN (a, b)) WHERE x = 1", {}),
        ("SELECT x, count(*) FROM t WHERE x = 1 GROUP BY x HAVING count(*) > 1 LIMIT 1",
         {"t": "x = 1"}),
        ("SELECT x FROM t GROUP BY x HAVING x = 1", {}),
        ("SELECT * FROM t QUALIFY row_number() OVER (ORDER BY x) = 1", {}),
        ("SELECT * FROM t VERSION AS OF 3 WHERE x = 1", {"t": "x = 1"}),
        ("SELECT /*+ BROADCAST(t) */ `X` FROM `t` WHERE `X` = 1", {"t": "x = 1"}),
        ("FROM t |> WHERE x = 1", {}),
        ("SELECT transform(xs, x -> x + 1) FROM t WHERE x = 1", {"t": "x = 1"}),
    ],
)  # fmt: skip
def test_one_relation(query: str, expected: dict[str, str]) -> None:
    assert demands(query) == expected


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        # on t and u; where t and u
        ("JOIN", "t.a u.b t.c u.d"),
        ("INNER JOIN", "t.a u.b t.c u.d"),
        ("LEFT JOIN", "u.b t.c u.d"),
        ("LEFT OUTER JOIN", "u.b t.c u.d"),
        ("RIGHT JOIN", "t.a t.c u.d"),
        ("FULL JOIN", "t.c u.d"),
        ("FULL OUTER JOIN", "t.c u.d"),
    ],
)
def test_joins(join: str, expected: str) -> None:
    query = (
        f"SELECT * FROM t {join} u ON t.k = u.k AND t.a = 1 AND u.b = 1 WHERE t.c = 1 AND u.d = 1"
    )
    found = demands(query)
    asked = [f"{table}.{part[0]}" for table in "tu" for part in found.get(table, "").split(" & ")]
    assert sorted(asked) == sorted(expected.split()), found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM t LEFT SEMI JOIN u ON t.a = 1 AND u.b = 1", {"t": "a = 1", "u": "b = 1"}),
        ("SELECT * FROM t LEFT ANTI JOIN u ON t.a = 1 AND u.b = 1", {"u": "b = 1"}),
        ("SELECT * FROM t ANTI JOIN u ON t.a = 1 AND u.b = 1", {"u": "b = 1"}),
        # After a semi join, its right side is not there to be asked.
        ("SELECT * FROM t SEMI JOIN u ON t.k = u.k WHERE u.b = 1", {}),
        ("SELECT * FROM t CROSS JOIN u WHERE t.a = 1 AND u.b = 1", {"t": "a = 1", "u": "b = 1"}),
        ("SELECT * FROM t, u WHERE t.a = 1 AND u.b = 1", {"t": "a = 1", "u": "b = 1"}),
        ("SELECT * FROM t JOIN u USING (k) WHERE t.k = 1 AND k = 1", {"t": "k = 1"}),
        ("SELECT * FROM t NATURAL JOIN u WHERE t.a = 1", {"t": "a = 1"}),
        # NULLs that a join makes up satisfy it.
        ("SELECT * FROM t LEFT JOIN u ON t.k = u.k WHERE u.b IS NULL", {}),
        ("SELECT * FROM t LEFT JOIN u ON t.k = u.k WHERE u.b IS NULL OR u.b = 1", {}),
        ("SELECT * FROM t LEFT JOIN u ON t.k = u.k WHERE u.b IS NOT NULL", {"u": "b not null"}),
        ("SELECT * FROM t LEFT JOIN u ON u.b IS NULL", {"u": "b null"}),
        ("SELECT * FROM t RIGHT JOIN u ON t.k = u.k WHERE t.b IS NULL", {}),
        ("SELECT * FROM t FULL JOIN u ON t.k = u.k WHERE t.b IS NULL AND u.b IS NULL", {}),
        ("SELECT * FROM t JOIN u ON true RIGHT JOIN v ON true WHERE u.b IS NULL", {}),
        ("SELECT * FROM t LEFT JOIN u ON true JOIN v ON u.b IS NULL", {}),
        ("SELECT * FROM t LEFT JOIN u ON true JOIN v ON u.b = 1", {"u": "b = 1"}),
        ("SELECT * FROM t LEFT JOIN u ON true LEFT JOIN v ON u.b = 1", {}),
        ("SELECT * FROM t a JOIN t b ON a.x = 1 AND b.x = 2", {"t": "x = 1", "t'": "x = 2"}),
        ("SELECT * FROM t a LEFT JOIN t b ON a.k = b.k AND b.x = 2", {"t'": "x = 2"}),
        ("SELECT * FROM (t JOIN u ON t.k = u.k) WHERE t.a = 1", {}),
    ],
)
def test_more_joins(query: str, expected: dict[str, str]) -> None:
    assert demands(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM (SELECT * FROM t) WHERE x = 1", {"t": "x = 1"}),
        ("SELECT * FROM (SELECT a AS x, x AS b FROM t) q WHERE q.x = 1", {"t": "a = 1"}),
        ("SELECT * FROM (SELECT a + 1 AS x FROM t) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT *, 1 AS y FROM t) WHERE x = 1 AND y = 1", {"t": "x = 1"}),
        ("SELECT * FROM (SELECT * EXCEPT (a) FROM t) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT * FROM t LIMIT 5) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT * FROM t ORDER BY x OFFSET 5) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT * FROM t ORDER BY x) WHERE x = 1", {"t": "x = 1"}),
        ("SELECT * FROM (SELECT DISTINCT x FROM t) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT x, sum(y) FROM t GROUP BY x) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT max(x) AS x FROM t) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT x, row_number() OVER (ORDER BY y) AS n FROM t) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT x, explode(ys) AS y FROM t) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT x FROM t WHERE y = 2) WHERE x = 1", {"t": "y = 2 & x = 1"}),
        ("SELECT * FROM (SELECT t.x, u.y FROM t, u) WHERE x = 1 AND y = 2",
         {"t": "x = 1", "u": "y = 2"}),
        ("SELECT * FROM (SELECT t.x, u.y FROM t LEFT JOIN u ON true) WHERE y IS NULL", {}),
        ("SELECT * FROM (SELECT t.x, u.y FROM t LEFT JOIN u ON true) WHERE y = 1", {"u": "y = 1"}),
        ("SELECT * FROM s LEFT JOIN (SELECT x FROM t) q ON q.x = 1", {"t": "x = 1"}),
        ("SELECT * FROM s LEFT JOIN (SELECT x FROM t) q ON true WHERE q.x IS NULL", {}),
        ("SELECT * FROM s WHERE a IN (SELECT b FROM t WHERE x = 1) AND c = 2",
         {"s": "c = 2", "t": "x = 1"}),
        ("SELECT (SELECT max(b) FROM t WHERE t.x = 1 AND t.y = s.y) FROM s", {"t": "x = 1"}),
        ("SELECT * FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.x = 1 AND s.y = 2)",
         {"t": "x = 1"}),
        ("SELECT * FROM s JOIN LATERAL (SELECT * FROM t WHERE t.x = 1) q ON q.y = 2",
         {"t": "x = 1"}),
    ],
)  # fmt: skip
def test_subqueries(query: str, expected: dict[str, str]) -> None:
    assert demands(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c WHERE x = 1", {"t": "x = 1"}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c a, c b WHERE a.x = 1 AND b.x = 1", {}),
        ("WITH c AS (SELECT * FROM t WHERE y = 1) SELECT * FROM c a, c b WHERE a.x = 1",
         {"t": "y = 1"}),
        ("WITH c AS (SELECT * FROM t), d AS (SELECT * FROM c) SELECT * FROM d WHERE x = 1",
         {"t": "x = 1"}),
        ("WITH c AS (SELECT * FROM t), d AS (SELECT * FROM c) SELECT * FROM d, d e WHERE d.x = 1",
         {}),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t WHERE x = 1", {}),
        ("WITH c AS (SELECT * FROM t LIMIT 1) SELECT * FROM c WHERE x = 1", {}),
        ("WITH RECURSIVE c AS (SELECT x FROM t UNION ALL SELECT x FROM c) "
         "SELECT * FROM c WHERE x = 1", {}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM u WHERE a IN (SELECT b FROM c WHERE x = 1)",
         {"t": "x = 1"}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM s.c WHERE x = 1", {"c": "x = 1"}),
    ],
)  # fmt: skip
def test_common_table_expressions(query: str, expected: dict[str, str]) -> None:
    assert demands(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM (SELECT x FROM t UNION ALL SELECT y FROM u) WHERE x = 1",
         {"t": "x = 1", "u": "y = 1"}),
        ("SELECT * FROM (SELECT x FROM t UNION SELECT y FROM u) WHERE x = 1",
         {"t": "x = 1", "u": "y = 1"}),
        ("SELECT * FROM (SELECT x, y FROM t EXCEPT SELECT y, x FROM u) WHERE x = 1",
         {"t": "x = 1", "u": "y = 1"}),
        ("SELECT * FROM (SELECT x FROM t UNION ALL SELECT * FROM u) WHERE x = 1", {"t": "x = 1"}),
        ("SELECT * FROM (SELECT x FROM t UNION ALL SELECT 1) WHERE x = 1", {"t": "x = 1"}),
        ("SELECT * FROM (SELECT x FROM t UNION ALL BY NAME SELECT x FROM u) WHERE x = 1", {}),
        ("SELECT * FROM (SELECT x FROM t UNION ALL SELECT y FROM u LIMIT 1) WHERE x = 1", {}),
        ("SELECT x FROM t WHERE x = 1 UNION ALL SELECT y FROM u WHERE y = 2",
         {"t": "x = 1", "u": "y = 2"}),
    ],
)  # fmt: skip
def test_unions(query: str, expected: dict[str, str]) -> None:
    assert demands(query) == expected


@pytest.mark.parametrize("query", ["SELECT FROM WHERE", "(" * 5000 + "1", "SELECT x FROM t WHERE"])
def test_what_cannot_be_parsed_demands_nothing(query: str) -> None:
    assert demands_of(query) == {}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t WHERE x = '${it}'",
        "SELECT * FROM t WHERE x = 1 AND y = ${it}",
        "SELECT '${it}' FROM t WHERE x = 1",
        "SELECT * FROM t WHERE x = 1 | WHERE y = 2",
        "SELECT * FROM t WHERE x = 1 | 2",
        "FROM t |> WHERE x = 1",
    ],
)
def test_text_that_spark_may_read_in_another_way_demands_nothing(query: str) -> None:
    assert demands_of(query) == {}
    assert condition_of(query.rpartition("WHERE")[2] + " OR x = '${it}'", ["t", ""]) is None


@pytest.mark.parametrize(
    "value",
    ["r'a'", "'a' 'b'", "'it''s'", "X'41'", ":x", "?", "N'a'", "'a' COLLATE UTF8_LCASE",
     "'a' || 'b'", "y", "(SELECT 'a')", "INTERVAL '1' DAY", "array('a')", "1_0"],
)  # fmt: skip
def test_values_that_are_no_plain_literals(value: str) -> None:
    table = table_of(x="varchar", y="int32")
    for column in ("x", "y"):
        assert predicate_of(condition_of(f"{column} = {value}", [""]), table, "UTC") is None
    assert condition_of("x COLLATE UTF8_LCASE = 'a'", [""]) is None


def table_of(**types: str) -> Table:
    columns = tuple(
        Column(at, name, Primitive(kind), order=at) for at, (name, kind) in enumerate(types.items())
    )
    name = QualifiedName("main", "t")
    return Table(1, uuid.UUID(int=1), 0, name, StoredPath("t/"), "/t/", columns)


@pytest.mark.parametrize("zone", ["Europe/Oslo", "+05:30", "PST", "no zone of Python's"])
def test_local_times_stand_for_all_moments_that_they_can_mean(zone: str) -> None:
    table, noon = table_of(at="timestamptz"), 12 * 3_600 * 1_000_000
    least, most = noon - 18 * 3_600 * 1_000_000, noon + 18 * 3_600 * 1_000_000
    from_then, until_then = Comparison(0, ">=", least), Comparison(0, "<=", most)

    def predicate(test: str, zone: str) -> Predicate | None:
        return predicate_of(condition_of(test, [""]), table, zone)

    noon_there = "TIMESTAMP '1970-01-01 12:00:00'"
    assert predicate(f"at = {noon_there}", "UTC") == Comparison(0, "=", noon)
    assert predicate(f"at = {noon_there}", zone) == AnyOf((AllOf((from_then, until_then)),))
    assert predicate(f"at < {noon_there}", zone) == AnyOf((until_then,))
    assert predicate(f"at >= {noon_there}", zone) == AnyOf((from_then,))
    assert predicate(f"at IN ({noon_there}, {noon_there})", zone) == AnyOf(
        (AllOf((from_then, until_then)),) * 2
    )


def test_conditions_of_statements() -> None:
    assert shown(condition_of("x = 1 AND t.y = 2 AND u.z = 3 AND f(t.a)", ["t", ""])) == (
        "x = 1 & y = 2"
    )
    assert shown(condition_of("t.x = 1 AND y = 2", ["t"])) == "x = 1"
    assert condition_of("x = 1 OR u.y = 1", ["t", ""]) is None


def test_equalities_of_joins() -> None:
    on = "s.a = t.b AND t.`C` = (s.c) AND t.d = 1 AND t.e > s.e AND t.f <=> s.f AND s.g = s.h"
    assert equalities_of(on, "t", "s") == [("b", "a"), ("c", "c")]
    assert equalities_of("t.a = s.a OR t.b = s.b", "t", "s") == []


def test_long_chains_of_conditions() -> None:
    either = " OR ".join(f"x = {at}" for at in range(60))
    found = demands_of(f"SELECT * FROM t WHERE ({either}) AND a = 1 AND b = 2 AND c = 3")
    (demand,) = found.values()
    assert isinstance(demand, Both)
    assert [len(part.parts) if isinstance(part, Either) else 1 for part in demand.parts] == [
        60, 1, 1, 1,
    ]  # fmt: skip
    endless = " OR ".join(f"x = {at}" for at in range(20_000))
    demands_of(f"SELECT * FROM t WHERE {endless}")
    condition_of(endless, ["t", ""])
