"""The text of a view as DuckDB keeps it, for Spark.

DuckDB keeps not what was typed but its own reading of that: `count(*)` as `count_star()`, an
interval as a call, a lambda in parentheses, and a marker in the place of the lake's name. sqlglot
translates the rest.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import TokenType

from ducklake_spark.spec.names import quote
from ducklake_spark.sql.splice import Edit, spliced

_MARKER = "DUCKLAKE_CATALOG"
# Calls that DuckDB makes of intervals -> Spark's function, the place of the number among its
# arguments, and what the number is multiplied by.
_INTERVALS = {
    "to_years": ("make_ym_interval", 0, 1),
    "to_quarters": ("make_ym_interval", 1, 3),
    "to_months": ("make_ym_interval", 1, 1),
    "to_weeks": ("make_dt_interval", 0, 7),
    "to_days": ("make_dt_interval", 0, 1),
    "to_hours": ("make_dt_interval", 1, 1),
    "to_minutes": ("make_dt_interval", 2, 1),
    "to_seconds": ("make_dt_interval", 3, 1),
}


def for_spark(text: str, lake: str) -> str:
    """The query in Spark's words; raises sqlglot's errors."""
    tree = sqlglot.parse_one(_with_lake(text, lake), dialect="duckdb")
    for rewrite in (_lambdas, _counts, _order_by_all, _intervals, _elements):
        rewrite(tree)
    return tree.sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE)


def _with_lake(text: str, lake: str) -> str:
    """`{DUCKLAKE_CATALOG}.main.t` under the name that the lake has here."""
    tokens = DuckDB().tokenize(text)
    edits = [
        Edit(tokens[at - 1].start, tokens[at + 1].end + 1, quote(lake))
        for at, token in enumerate(tokens[1:-1], start=1)
        if token.text == _MARKER
        and tokens[at - 1].token_type is TokenType.L_BRACE
        and tokens[at + 1].token_type is TokenType.R_BRACE
    ]
    return spliced(text, edits).text


def _lambdas(tree: exp.Expr) -> None:
    """`f(xs, (x -> y))`, in which sqlglot sees an arrow of JSON's."""
    for arrow in list(tree.find_all(exp.JSONExtract)):
        outer, taken = arrow.parent, arrow.this
        names = taken.expressions if isinstance(taken, exp.Tuple) else [taken]
        plain = all(isinstance(name, exp.Column) and not name.table for name in names)
        is_argument = isinstance(outer, exp.Paren) and isinstance(outer.parent, exp.Func)
        if outer is not None and plain and is_argument and not arrow.expression.is_string:
            variables = [exp.to_identifier(name.name) for name in names]
            outer.replace(exp.Lambda(this=arrow.expression.unnest(), expressions=variables))


def _counts(tree: exp.Expr) -> None:
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == "count_star":
            call.replace(exp.Count(this=exp.Star()))
    for count in tree.find_all(exp.Count):
        if count.this is None:  # count() OVER (…)
            count.set("this", exp.Star())


def _order_by_all(tree: exp.Expr) -> None:
    for ordered in tree.find_all(exp.Ordered):
        if isinstance(ordered.this, exp.Columns) and isinstance(ordered.this.this, exp.Star):
            ordered.set("this", exp.var("ALL"))


def _intervals(tree: exp.Expr) -> None:
    for call in list(tree.find_all(exp.Anonymous, exp.ToDays)):
        name = "to_days" if isinstance(call, exp.ToDays) else call.name.lower()
        if name not in _INTERVALS:
            continue
        (number,) = call.expressions or [call.this]
        interval, outer = _interval(name, number), call.parent
        if isinstance(outer, exp.DateAdd):  # of dates and days alone in Spark
            outer.replace(exp.Paren(this=exp.Add(this=outer.this, expression=interval)))
        else:
            call.replace(interval)


def _interval(name: str, number: exp.Expr) -> exp.Expr:
    function, place, times = _INTERVALS[name]
    whole = exp.cast(number, "decimal(18, 6)" if name == "to_seconds" else "int", copy=False)
    value = exp.Mul(this=whole, expression=exp.Literal.number(times)) if times > 1 else whole
    return exp.func(function, *[exp.Literal.number(0)] * place, value, copy=False)


def _elements(tree: exp.Expr) -> None:
    """`xs[1]`: DuckDB counts from 1 and from the end, and beyond is NULL."""
    for found in list(tree.find_all(exp.Bracket)):
        (index, *others) = found.expressions
        if others or index.is_string or isinstance(index, exp.Slice):
            continue
        # sqlglot has made it count from 0, where it saw that it is a number.
        (index,) = exp.apply_index_offset(found.this, [index], 1, dialect="duckdb")
        found.replace(exp.func("try_element_at", found.this, index, copy=False))
