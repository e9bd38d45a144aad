"""The text of a query of Spark's for DuckDB.

sqlglot translates the words. What is here, and in the modules for values, times and lists, would
run in DuckDB too, and give other rows than in Spark, or would fail although DuckDB can say it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError, UnsupportedError

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.sql import for_duckdb_lists as lists
from ducklake_spark.sql import for_duckdb_times as times
from ducklake_spark.sql import for_duckdb_values as values
from ducklake_spark.sql.column_types import Columns, kind_of, note_types
from ducklake_spark.sql.differences import CALLS, COMPARED, DIFFERENT, SHARED
from ducklake_spark.sql.retelling import found, is_ours, replace, said

_log = logging.getLogger(__name__)


def for_duckdb(
    tree: exp.Expr,
    what: str,
    columns: Columns | None = None,
    known: Mapping[str, str] | None = None,
) -> str:
    """The query, or a part of one, in DuckDB's words; changes the tree and raises sqlglot's errors.

    `what` it is the log says, if it calls functions that DuckDB does not have of itself. The types
    of what it reads are those of the `columns` of relations, or of the `known` names.
    """
    _refuse(tree)
    unknown = _not_compared(tree)
    note_types(tree, columns, known or {})
    for rewrite in _REWRITES:
        rewrite(tree)
    text = tree.sql(dialect="duckdb", comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
    sqlglot.parse_one(text, dialect="duckdb")
    if unknown:
        _log.warning(
            "Nobody has compared what Spark and DuckDB make of %s, which %s calls.",
            ", ".join(sorted(unknown)),
            what,
        )
    # With a schema before it, it is a function of the lake.
    calls = [
        call
        for call in tree.find_all(exp.Anonymous)
        if not isinstance(call.parent, exp.Dot) and not is_ours(call)
    ]
    if foreign := {call.name.lower() for call in calls} - SHARED:
        _log.warning(
            "DuckDB will not be able to use %s unless it has a function %s there.",
            what,
            ", ".join(sorted(foreign)),
        )
    return text


def expression_for_duckdb(
    text: str, what: str, returns: str | None = None, known: Mapping[str, str] | None = None
) -> str:
    """An expression of Spark's as DuckDB computes it, of a type if one is given."""
    try:
        # In parentheses, for what is called at the top has nothing to be replaced in.
        tree: exp.Expr = exp.paren(sqlglot.parse_one(text, dialect="spark"), copy=False)
        if returns is not None:
            tree = exp.paren(exp.Cast(this=tree, to=exp.DataType.build(returns, dialect="spark")))
        return for_duckdb(tree, what, known=known)
    except (SqlglotError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise UnsupportedFeatureError(
            f"{what[0].upper()}{what[1:]} has no form that DuckDB runs: {reason}",
            hint="Write it in SQL that both know, or as a macro of dbt's.",
        ) from error


def _refuse(tree: exp.Expr) -> None:
    """What has no form there, or one that gives other rows."""
    for node in tree.find_all(exp.Func, exp.Aliases):
        called = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
        reasons = CALLS if isinstance(node, exp.Anonymous) else DIFFERENT
        is_theirs = isinstance(node, exp.Anonymous) and isinstance(node.parent, exp.Dot)
        if (reason := reasons.get(called.lower())) is not None and not is_theirs:
            raise UnsupportedError(reason)


def _not_compared(tree: exp.Expr) -> set[str]:
    return {
        node.sql_name().lower()
        for node in tree.find_all(exp.Func)
        if not isinstance(node, exp.Anonymous) and type(node).__name__.lower() not in COMPARED
    }


def _calls(tree: exp.Expr) -> None:
    """Functions that go by other names, or take something else."""
    for call in found(tree, exp.Anonymous):
        name, arguments = call.name.lower(), call.expressions
        match name, arguments:
            case (("isnull" | "isnotnull"), [value]):
                test: exp.Expr = exp.Is(this=value, expression=exp.Null())
                replace(call, exp.paren(exp.not_(test) if name == "isnotnull" else test))
            case (("some" | "every"), [value]):
                is_some = name == "some"
                replace(call, (exp.LogicalOr if is_some else exp.LogicalAnd)(this=value))
            case "cardinality", [value]:
                replace(call, exp.ArraySize(this=value))
            case "btrim", [value, *what]:
                replace(call, exp.Trim(this=value, expression=what[0] if what else None))
            case "pmod", [value, by]:
                replace(call, _positive_rest(value, by))
            case (("date_part" | "datepart"), [exp.Literal() as part, value]):
                replace(call, exp.Extract(this=exp.var(part.name.upper()), expression=value))


def _known_calls(tree: exp.Expr) -> None:
    """The same for functions that sqlglot knows."""
    for first in found(tree, exp.FirstValue, exp.AnyValue):
        if not isinstance(first.parent, exp.IgnoreNulls | exp.Window):
            replace(first, exp.First(this=first.this))
    for last in found(tree, exp.LastValue):
        if not isinstance(last.parent, exp.IgnoreNulls | exp.Window):
            replace(last, exp.Last(this=last.this))
    for most in found(tree, exp.ArgMax, exp.ArgMin):
        if most.args.get("count") is not None:
            raise UnsupportedError("It finds one that is the most, not several.")
        name = "arg_max_null" if isinstance(most, exp.ArgMax) else "arg_min_null"
        replace(most, exp.func(name, most.this, most.expression, copy=False))
    for replaced in found(tree, exp.RegexpReplace):
        by = replaced.args.get("replacement")
        if by is not None and by.is_string:
            by.set("this", re.sub(r"\$(?=\d)", r"\\", by.name))


def _parts(tree: exp.Expr) -> None:
    """Maps that are exploded, and what is taken from JSON."""
    for exploded in found(tree, exp.Explode):
        if kind_of(exploded.this) == "map":
            raise UnsupportedError("It cannot explode maps.")
    for taken in found(tree, exp.JSONExtractScalar):
        if taken.expression.find(exp.JSONPathWildcard):
            raise UnsupportedError("Of all parts of a JSON it makes a list, and Spark a text.")


def _aggregates(tree: exp.Expr) -> None:
    for greatest in found(tree, exp.Max, exp.Min):
        if kind_of(greatest.this) == "struct":
            raise UnsupportedError("NULL in a struct comes last there, and first in Spark.")
    for count in found(tree, exp.Count):
        if count.expressions:
            raise UnsupportedError("Its count takes one value.")


def _quantiles(tree: exp.Expr) -> None:
    """Those between two values, as fractions whatever the values are."""
    for share in found(tree, exp.Quantile):
        of = said("CAST(a AS DOUBLE)", a=share.this)
        replace(share, said("QUANTILE_CONT(a, q)", a=of, q=share.args["quantile"]))
    for middle in found(tree, exp.Median):
        middle.set("this", said("CAST(a AS DOUBLE)", a=middle.this))
    for group in found(tree, exp.WithinGroup):
        if isinstance(group.this, exp.PercentileCont | exp.PercentileDisc):
            for ordered in group.expression.expressions:
                ordered.set("this", said("CAST(a AS DOUBLE)", a=ordered.this))


def _positive_rest(value: exp.Expr, by: exp.Expr) -> exp.Expr:
    rest = exp.paren(exp.Mod(this=exp.paren(value), expression=exp.paren(by)))
    raised = exp.paren(exp.Add(this=rest.copy(), expression=exp.paren(by.copy())))
    again = exp.Mod(this=raised, expression=exp.paren(by.copy()))
    return exp.Case().when(exp.LT(this=rest.copy(), expression=_number(0)), again).else_(rest)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


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
            for sums in group.args.get(kind) or []:
                if not sums.expressions:
                    sums.set("expressions", group.expressions)
                    group.set("expressions", [])


def _columns(tree: exp.Expr) -> None:
    """The names that columns of `range(…)` and `VALUES` have in Spark."""
    for rows in list(tree.find_all(exp.Values)):
        if not _names(rows) and not (rows.parent and _names(rows.parent)):
            width = len(rows.expressions[0].expressions)
            _name(rows, [f"col{at}" for at in range(1, width + 1)])
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
    _aggregates,
    _parts,
    values.formats,
    times.zones,
    times.differences,
    times.seconds,
    times.patterns,
    times.week_days,
    times.names,
    times.dates,
    lists.positions,
    lists.indexes,
    lists.tests,
    lists.lists,
    lists.series,
    values.lengths,
    values.given_as_texts,
    values.cuts,
    values.places,
    values.patterns,
    values.whole_divisions,
    values.decimals,
    values.numbers,
    values.casts,
    values.texts,
    values.aggregated_texts,
    _quantiles,
    lists.gathered,
    _outer_explodes,
    _rollups,
    _columns,
)
