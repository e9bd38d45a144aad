"""SQL from a catalog: its tokens are those of Spark's grammar, and its calls those on the list."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import UntrustedSqlError
from ducklake_spark.spec.catalog_sql import canonical, check_calls, check_expression
from ducklake_spark.spec.spark_functions import ALLOWED_FUNCTIONS

REACHING_OUT = (
    "reflect java_method try_reflect from_avro schema_of_avro from_protobuf from_xml schema_of_xml "
    "xpath xpath_string python_worker_logs read_files identifier"
).split()


@pytest.mark.parametrize("name", REACHING_OUT)
def test_functions_that_reach_out_are_not_on_the_list(name: str) -> None:
    assert name not in ALLOWED_FUNCTIONS


@pytest.mark.parametrize(
    "text",
    [
        "1 + id", "upper(name)", "UPPER (name)", "`upper`(name)", "'reflect(1)'", "r'\\' || 'x'",
        "cast(id AS decimal(10, 2))", "id::varchar(3)", "a.b.c", "id IN (1, 2)", "X'00FF'",
        "CASE WHEN (a) THEN (b) ELSE (c) END", "extract(year FROM d)", "`a b`.`select`",
        "transform(xs, (x, i) -> x + i)", "now() - INTERVAL '1' DAY", "1.5e-3", "a /* b( */ + c",
        "trim(BOTH 'x' FROM name)", "NOT (a) AND exists(xs, x -> x > 1)", "{'a'}"[1:-1], "",
        "a IS NOT DISTINCT FROM (b)", "\"text\"", "-- c(\n 1",
    ],
)  # fmt: skip
def test_an_expression_may_compute(text: str) -> None:
    assert check_expression(text, "The default").replace(" ", "") in text.replace(" ", "") or (
        "/*" in text or "--" in text
    )


@pytest.mark.parametrize(
    "text",
    [
        "reflect('a')", "ReFLect('a')", "`reflect`('a')", '"reflect"(\'a\')', "reflect/**/('a')",
        "reflect\n(\n'a')", "a.upper(x)", "system.builtin.upper(x)", "upper(reflect('a'))",
        "f(x) + 1", "identifier('upper')('a')", "(SELECT 1)", "SELECT 1", "(FROM t)",
        "( (WITH q AS (SELECT 1) SELECT * FROM q))", "(TABLE t)", "(VALUES (1))", "exists(FROM t)",
        "1; DROP TABLE t", "1)", "(1", "1) + (1) + (1", "x USING 'cat'", "$1", "${env:HOME}",
        "`${env:HOME}`", "{x}", "a@b", "X'${env:A}'", "X'0 0'",
        "'open", "/* open", "\u017felect(1)", "\u0131f(1)",
        '"text"."/etc/x"', '"t".id', 't."id"', "system.session.x", "`SYSTEM`.session.x", "http://a.b/c",
    ],
)  # fmt: skip
def test_an_expression_may_do_nothing_else(text: str) -> None:
    with pytest.raises(UntrustedSqlError, match=r"^\[DL703\] The default "):
        check_expression(text, "The default")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a -- b\nc", "a     \nc"),
        ("a -- b \\\n c\nd", "a       \n  \nd"),
        ("a /* b /* c */ d */ e", "a                   e"),
        ("a\u00a0b", "a b"),
        ("'${x}'", "'$' '{x}'"),
        ("'a${x}b${y}'", "'a$' '{x}b$' '{y}'"),
        ("r'${x}'", "r'$' r'{x}'"),
        ('R"${x}"', 'R"$" R"{x}"'),
        ('"${x}"', '"$" "{x}"'),
        ("'\\${x}'", "'\\$' '{x}'"),
        ("'--' || '/*'", "'--' || '/*'"),
        ("/*+ BROADCAST(t) */", "/*+ BROADCAST(t) */"),
        ("`--`", "`--`"),
    ],
)
def test_every_spark_reads_the_same(text: str, expected: str) -> None:
    found = canonical(text, "The view")
    assert found == expected
    assert canonical(found, "The view") == found


def test_known_calls_and_hints_are_fine() -> None:
    text = "SELECT /*+ BROADCAST(t), REPARTITION(3) */ lake.main.f(1)"
    check_calls(text, "The view", lambda call: call.parts == ("lake", "main", "f"))
    with pytest.raises(UntrustedSqlError, match=r"calls the function broadcast"):
        check_calls("SELECT broadcast(t)", "The view")
    with pytest.raises(
        UntrustedSqlError, match=r"uses the hint SKEW, which is not one of the hints"
    ):
        check_calls("SELECT /*+ SKEW('t') */ a FROM t", "The view")
