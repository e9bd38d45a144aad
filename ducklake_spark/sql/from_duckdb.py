"""The text of a view as DuckDB keeps it, for Spark.

DuckDB keeps not what was typed but its own reading of that: `count(*)` as `count_star()`, an
interval as a call, a lambda in parentheses, and a marker in the place of the lake's name. sqlglot
translates the rest, and leaves as it stands what Spark knows under the same name and means
otherwise: that is said in another way here, or refused.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import TokenType

from ducklake_spark.spec.names import quote
from ducklake_spark.sql.from_duckdb_values import no_form as _no_form
from ducklake_spark.sql.from_duckdb_values import translate_blobs
from ducklake_spark.sql.splice import Edit, spliced

_MARKER = "DUCKLAKE_CATALOG"
_GROUP = re.compile(r"\\(\d)")
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
    # In parentheses, for what is called at the top has nothing to be replaced in.
    tree = exp.paren(tree, copy=False) if isinstance(tree, exp.Func) else tree
    for rewrite in _REWRITES:
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


# --- the same name, another meaning ---

_IN_WORDS = ("date_part", "substring", "position", "trim", "ltrim", "rtrim", "overlay", "timezone")
_WEEK_DAYS = ("dow", "dayofweek", "weekday")


def _qualified_calls(tree: exp.Expr) -> None:
    """`main.date_part(…)` is how DuckDB keeps EXTRACT and others that are written in words."""
    for dot in list(tree.find_all(exp.Dot)):
        call = dot.expression
        if isinstance(call, exp.Anonymous) and call.name.lower() in _IN_WORDS:
            arguments = ", ".join(one.sql(dialect="duckdb") for one in call.expressions)
            dot.replace(sqlglot.parse_one(f"{call.name}({arguments})", dialect="duckdb"))


def _week_days(tree: exp.Expr) -> None:
    """Sunday is 0 in DuckDB and 1 in Spark."""
    for day in list(tree.find_all(exp.DayOfWeek)):
        day.replace(_week_day(day.this))
    for iso_day in list(tree.find_all(exp.DayOfWeekIso)):
        iso_day.replace(exp.Extract(this=exp.var("DOW_ISO"), expression=iso_day.this))
    for call in list(tree.find_all(exp.Anonymous, exp.Extract)):
        part, moment = _part_of(call)
        if part in _WEEK_DAYS:
            call.replace(_week_day(moment))
        elif part == "isodow":
            call.replace(exp.Extract(this=exp.var("DOW_ISO"), expression=moment))
        elif part in ("second", "seconds"):  # Spark's have a fraction
            call.replace(exp.func("second", moment, copy=False))
        elif part == "epoch":
            raise _no_form("the seconds since 1970 with a fraction")


def _part_of(call: exp.Expr) -> tuple[str, exp.Expr]:
    """`dow` and `d` of `extract(dow FROM d)`, `date_part('dow', d)` and `weekday(d)`."""
    if isinstance(call, exp.Extract):
        return call.name.lower(), call.expression
    arguments = call.expressions
    if call.name.lower() == "weekday" and arguments:
        return "weekday", arguments[0]
    if call.name.lower() in ("date_part", "datepart") and len(arguments) == 2:
        return arguments[0].name.lower(), arguments[1]
    return "", call


def _week_day(moment: exp.Expr) -> exp.Expr:
    day = exp.func("dayofweek", moment.copy())
    return exp.paren(exp.Sub(this=day, expression=exp.Literal.number(1)))


def _moments(tree: exp.Expr) -> None:
    for week in list(tree.find_all(exp.Week)):
        week.replace(exp.func("weekofyear", week.this))
    for name in list(tree.find_all(exp.Monthname, exp.Dayname)):
        form = "MMMM" if isinstance(name, exp.Monthname) else "EEEE"
        name.replace(exp.func("date_format", name.this, exp.Literal.string(form)))
    for seconds in list(tree.find_all(exp.UnixToTime)):
        if seconds.args.get("scale") is not None:
            raise _no_form("epoch_ms")
        seconds.replace(exp.func("timestamp_seconds", seconds.this))
    if tree.find(exp.TimeToUnix):
        raise _no_form("the seconds since 1970 with a fraction")


def _texts(tree: exp.Expr) -> None:
    for part in tree.find_all(exp.Substring):
        start, length = part.args.get("start"), part.args.get("length")
        if isinstance(start, exp.Literal) and start.name == "0":  # there is nothing at 0
            part.set("start", exp.Literal.number(1))
            if isinstance(length, exp.Literal):
                part.set("length", exp.Literal.number(max(int(length.name) - 1, 0)))
            elif length is not None:
                part.set("length", exp.Sub(this=length, expression=exp.Literal.number(1)))
    for end in tree.find_all(exp.Left, exp.Right):
        if isinstance(end.expression, exp.Neg):
            raise _no_form("left and right of a negative length")
    for call in tree.find_all(exp.RegexpReplace):
        _replacement(call)
    if tree.find(exp.Format):
        raise _no_form("format")


def _replacement(call: exp.RegexpReplace) -> None:
    """DuckDB replaces the first match unless told otherwise, and writes groups as \\1."""
    replacement, flags = call.args.get("replacement"), call.args.get("modifiers")
    if flags is None or flags.name != "g" or not isinstance(replacement, exp.Literal):
        raise _no_form("regexp_replace of the first match alone, or with other flags than 'g'")
    text = replacement.name.replace("$", "\\$")
    call.set("replacement", exp.Literal.string(_GROUP.sub(r"$\1", text)))
    call.set("modifiers", None)


def _numbers(tree: exp.Expr) -> None:
    for call in list(tree.find_all(exp.Log)):
        base, number = call.this, call.expression
        if call.args.get("expression") is None:
            base, number = exp.Literal.number(10), call.this
        if base.name in ("10", "2"):  # a quotient of logarithms is a little off
            call.replace(exp.Anonymous(this=f"LOG{base.name}", expressions=[number]))
    for other in tree.find_all(exp.Anonymous):
        if other.name.lower() == "hash":
            raise _no_form("hash")


def _lists(tree: exp.Expr) -> None:
    for call in list(tree.find_all(exp.ArrayAgg)):
        if isinstance(call.this, (exp.Order, exp.Distinct)) or isinstance(
            call.parent, (exp.Filter, exp.Window)
        ):
            raise _no_form("a list of rows that are ordered, distinct, filtered or in a window")
        call.replace(_all_of(call.this))
    for series in tree.find_all(exp.GenerateSeries):
        is_scalar = not isinstance(series.parent, (exp.Table, exp.From, exp.Unnest, exp.Lateral))
        if is_scalar and not _ascends(series):
            raise _no_form("a series that may be empty")
    if found := tree.find(exp.JSONExtract):
        raise _no_form(f"JSON as a part of JSON, {found.sql(dialect='duckdb')}")


def _all_of(value: exp.Expr) -> exp.Expr:
    """Spark's lists of an aggregate lack the NULLs, and are empty where DuckDB's are NULL."""
    text = "if(count(*) > 0, transform(collect_list(struct(0 AS v)), e -> e.v), NULL)"
    tree = sqlglot.parse_one(text, dialect="spark")
    for literal in list(tree.find_all(exp.PropertyEQ, exp.Alias)):
        if literal.alias_or_name == "v" or literal.this.name == "v":
            literal.set("expression" if isinstance(literal, exp.PropertyEQ) else "this", value)
    return tree


def _ascends(series: exp.GenerateSeries) -> bool:
    start, end, step = (series.args.get(key) for key in ("start", "end", "step"))
    if step is not None or not (isinstance(start, exp.Literal) and isinstance(end, exp.Literal)):
        return False
    return int(start.name) <= int(end.name) - bool(series.args.get("is_end_exclusive"))


_REWRITES = (
    _qualified_calls, _lambdas, _counts, _order_by_all, _intervals, _elements,
    _week_days, _moments, _texts, _numbers, _lists, translate_blobs,
)  # fmt: skip
