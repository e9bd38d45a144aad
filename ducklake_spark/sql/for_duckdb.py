"""The text of a query of Spark's for DuckDB.

sqlglot translates the words. What is here would run in DuckDB too, and give other rows than in
Spark, or would fail there although DuckDB can say it.
"""

from __future__ import annotations

import logging
import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError, UnsupportedError

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.names import fold

_log = logging.getLogger(__name__)

# Functions that sqlglot does not know and that DuckDB has.
_SHARED = {"arg_max_null", "arg_min_null", "bin", "json_array_length", "make_date", "map_concat",
           "map_entries", "map_values", "mean", "now", "printf", "range", "url_decode",
           "url_encode"}  # fmt: skip
# What sqlglot writes as it stands, and DuckDB lacks.
_MISSING = (exp.Aliases, exp.Elt, exp.Inline, exp.Nanvl, exp.Overlay, exp.PosexplodeOuter,
            exp.Rint, exp.Stack, exp.StrToMap, exp.SubstringIndex, exp.WidthBucket)  # fmt: skip
_UNITS = {"MM": "MONTH", "MON": "MONTH", "YY": "YEAR", "YYYY": "YEAR", "DD": "DAY"}
_WEEK_DAYS = ("DOW", "DAYOFWEEK")
_ISO_WEEK_DAYS = ("DOW_ISO", "DAYOFWEEK_ISO")


def for_duckdb(tree: exp.Expr, what: str) -> str:
    """The query, or a part of one, in DuckDB's words; changes the tree and raises sqlglot's errors.

    `what` it is the log says, if it calls functions that DuckDB does not have of itself.
    """
    if missing := tree.find(*_MISSING):
        raise UnsupportedError(f"It has no {type(missing).__name__.lower()}, or not so.")
    for rewrite in _REWRITES:
        rewrite(tree)
    text = tree.sql(dialect="duckdb", comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
    sqlglot.parse_one(text, dialect="duckdb")
    # With a schema before it, it is a function of the lake.
    calls = [call for call in tree.find_all(exp.Anonymous) if not isinstance(call.parent, exp.Dot)]
    if foreign := {call.name.lower() for call in calls} - _SHARED:
        _log.warning(
            "DuckDB will not be able to use %s unless it has a function %s there.",
            what,
            ", ".join(sorted(foreign)),
        )
    return text


def expression_for_duckdb(text: str, what: str, returns: str | None = None) -> str:
    """An expression of Spark's as DuckDB computes it, of a type if one is given."""
    try:
        # In parentheses, for what is called at the top has nothing to be replaced in.
        tree: exp.Expr = exp.paren(sqlglot.parse_one(text, dialect="spark"), copy=False)
        if returns is not None:
            tree = exp.Cast(this=tree, to=exp.DataType.build(returns, dialect="spark"))
        return for_duckdb(tree, what)
    except (SqlglotError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise UnsupportedFeatureError(
            f"{what[0].upper()}{what[1:]} has no form that DuckDB runs: {reason}",
            hint="Write it in SQL that both know, or as a macro of dbt's.",
        ) from error


def _calls(tree: exp.Expr) -> None:
    """Functions that go by other names, or take something else."""
    for call in list(tree.find_all(exp.Anonymous)):
        name, arguments = call.name.lower(), call.expressions
        match name, arguments:
            case (("isnull" | "isnotnull"), [value]):
                test: exp.Expr = exp.Is(this=value, expression=exp.Null())
                call.replace(exp.paren(exp.not_(test) if name == "isnotnull" else test))
            case (("some" | "every"), [value]):
                is_some = name == "some"
                call.replace((exp.LogicalOr if is_some else exp.LogicalAnd)(this=value))
            case "cardinality", [value]:
                call.replace(exp.ArraySize(this=value))
            case "forall", [values, exp.Lambda() as test]:
                test.set("this", exp.not_(exp.paren(test.this)))
                call.replace(exp.EQ(this=_how_many(values, test), expression=_number(0)))
            case "btrim", [value, *what]:
                call.replace(exp.Trim(this=value, expression=what[0] if what else None))
            case "pmod", [value, by]:
                call.replace(_positive_rest(value, by))
            case (("date_part" | "datepart"), [exp.Literal() as part, value]):
                call.replace(exp.Extract(this=exp.var(part.name.upper()), expression=value))


def _known_calls(tree: exp.Expr) -> None:
    """The same for functions that sqlglot knows."""
    for found in list(tree.find_all(exp.Exists)):
        if isinstance(found.expression, exp.Lambda):
            how_many = _how_many(found.this, found.expression)
            found.replace(exp.GT(this=how_many, expression=_number(0)))
    for form in list(tree.find_all(exp.Format)):
        form.replace(exp.func("printf", form.this, *form.expressions, copy=False))
    for first in list(tree.find_all(exp.FirstValue)):
        if first.find_ancestor(exp.Window) is None:
            first.replace(exp.First(this=first.this))
    for most in list(tree.find_all(exp.ArgMax, exp.ArgMin)):
        name = "arg_max_null" if isinstance(most, exp.ArgMax) else "arg_min_null"
        most.replace(exp.func(name, most.this, most.expression, copy=False))
    for replaced in tree.find_all(exp.RegexpReplace):
        by = replaced.args.get("replacement")
        if by is not None and by.is_string:
            by.set("this", re.sub(r"\$(?=\d)", r"\\", by.name))


def _how_many(values: exp.Expr, test: exp.Lambda) -> exp.Expr:
    return exp.ArraySize(this=exp.ArrayFilter(this=values, expression=test))


def _positive_rest(value: exp.Expr, by: exp.Expr) -> exp.Expr:
    rest = exp.paren(exp.Mod(this=exp.paren(value), expression=exp.paren(by)))
    raised = exp.paren(exp.Add(this=rest.copy(), expression=exp.paren(by.copy())))
    again = exp.Mod(this=raised, expression=exp.paren(by.copy()))
    return exp.Case().when(exp.LT(this=rest.copy(), expression=_number(0)), again).else_(rest)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _week_days(tree: exp.Expr) -> None:
    """Spark's week has the days 1 to 7 from Sunday, or 0 to 6 from Monday; DuckDB's 0 to 6."""
    for day in list(tree.find_all(exp.DayOfWeek)):
        day.replace(exp.paren(exp.Add(this=day.copy(), expression=_number(1))))
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == "weekday" and len(call.expressions) == 1:
            iso_day = exp.DayOfWeekIso(this=call.expressions[0])
            call.replace(exp.paren(exp.Sub(this=iso_day, expression=_number(1))))
    for part in list(tree.find_all(exp.Extract)):
        if part.this.name.upper() in _WEEK_DAYS:
            part.replace(exp.paren(exp.Add(this=part.copy(), expression=_number(1))))
        elif part.this.name.upper() in _ISO_WEEK_DAYS:
            part.replace(exp.DayOfWeekIso(this=part.expression))


def _substrings(tree: exp.Expr) -> None:
    """Their first character is number 1; Spark takes 0 for 1, and DuckDB for what is before it."""
    for text in tree.find_all(exp.Substring):
        start = text.args.get("start")
        if start is not None and start.is_int and start.name == "0":
            start.set("this", "1")


def _positions(tree: exp.Expr) -> None:
    """`transform(xs, (x, i) -> …)`: the first i is 0 in Spark and 1 in DuckDB."""
    for call in tree.find_all(exp.Transform, exp.ArrayFilter):
        taken = call.expression
        if not isinstance(taken, exp.Lambda) or len(taken.expressions) < 2:
            continue
        position = taken.expressions[1].name
        for inner in taken.this.find_all(exp.Lambda):
            if fold(position) in {fold(name.name) for name in inner.expressions}:
                raise UnsupportedError(f"The name {position} is taken by two of its lambdas.")
        taken.set("this", taken.this.transform(lambda node, name=position: _before(node, name)))


def _before(node: exp.Expr, position: str) -> exp.Expr:
    is_variable = isinstance(node, exp.Identifier) and not isinstance(node.parent, exp.Column)
    is_column = isinstance(node, exp.Column) and not node.table
    if not (is_variable or is_column) or fold(node.name) != fold(position):
        return node
    return exp.paren(exp.Sub(this=exp.to_identifier(position), expression=_number(1)))


def _dates(tree: exp.Expr) -> None:
    """Days added to a date make a date in Spark, and a timestamp in DuckDB."""
    for added in list(tree.find_all(exp.TsOrDsAdd, exp.AddMonths, exp.DateTrunc)):
        added.replace(exp.Cast(this=added.copy(), to=exp.DataType.build("date")))
    for cut in tree.find_all(exp.DateTrunc, exp.TimestampTrunc):
        unit = cut.args["unit"]
        unit.set("this", _UNITS.get(unit.name.upper(), unit.name))


def _whole_numbers(tree: exp.Expr) -> None:
    """A cast to them cuts a fraction off in Spark, and rounds it in DuckDB.

    Of a column nobody knows here whether it has fractions.
    """
    for cast in tree.find_all(exp.Cast, exp.TryCast):
        if cast.to.this in exp.DataType.INTEGER_TYPES and _has_fractions(cast.this):
            cast.set("this", exp.Trunc(this=cast.this))


def _has_fractions(value: exp.Expr) -> bool:
    value = value.unnest()
    match value:
        case exp.Div() | exp.Avg() | exp.Sqrt() | exp.Pow() | exp.Median():
            return True
        case exp.Literal():
            return not value.is_string and not value.is_int
        case exp.Cast() | exp.TryCast():
            return value.to.this in exp.DataType.FLOAT_TYPES | {exp.DataType.Type.DECIMAL}
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Neg():
            return any(_has_fractions(part) for part in value.iter_expressions())
    return False


def _outer_explodes(tree: exp.Expr) -> None:
    """Of nothing they make a row with NULL."""
    for exploded in list(tree.find_all(exp.ExplodeOuter)):
        exploded.replace(exp.Explode(this=_or_null(exploded.this)))
    for lateral in tree.find_all(exp.Lateral):
        if type(lateral.this) is exp.Explode and len(_names(lateral)) > 1:
            raise UnsupportedError("It cannot explode maps.")
        if not lateral.args.get("outer"):
            continue
        if type(lateral.this) is not exp.Explode:
            raise UnsupportedError("It has no OUTER of this kind.")
        lateral.this.set("this", _or_null(lateral.this.this))
        lateral.set("outer", False)


def _or_null(values: exp.Expr) -> exp.Expr:
    some = exp.GT(this=exp.ArraySize(this=values.copy()), expression=_number(0))
    return exp.Case().when(some, values).else_(exp.array(exp.Null()))


def _rollups(tree: exp.Expr) -> None:
    """`GROUP BY a, b WITH ROLLUP`."""
    for group in tree.find_all(exp.Group):
        for kind in ("rollup", "cube"):
            for found in group.args.get(kind) or []:
                if not found.expressions:
                    found.set("expressions", group.expressions)
                    group.set("expressions", [])


def _columns(tree: exp.Expr) -> None:
    """The names that columns of `range(…)` and `VALUES` have in Spark."""
    for values in list(tree.find_all(exp.Values)):
        if isinstance(values.parent, exp.From | exp.Join) and not _names(values):
            width = len(values.expressions[0].expressions)
            _name(values, [f"col{at}" for at in range(1, width + 1)])
    for table in list(tree.find_all(exp.Table)):
        called = table.this
        is_range = isinstance(called, exp.Anonymous) and called.name.lower() == "range"
        if is_range and not _names(table):
            _name(table, ["id"])


def _names(source: exp.Expr) -> list[exp.Expr]:
    alias = source.args.get("alias")
    return alias.args.get("columns") or [] if alias is not None else []


def _name(source: exp.Expr, columns: list[str]) -> None:
    alias = source.args.get("alias") or exp.TableAlias(this=exp.to_identifier("_values"))
    alias.set("columns", [exp.to_identifier(column) for column in columns])
    source.set("alias", alias)


_REWRITES = (
    _calls,
    _known_calls,
    _week_days,
    _substrings,
    _positions,
    _dates,
    _whole_numbers,
    _outer_explodes,
    _rollups,
    _columns,
)
