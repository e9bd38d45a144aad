"""Translates lists, structs, maps and aggregates of a query that DuckDB wrote."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.sql.column_types import KIND, kind_of
from ducklake_spark.sql.from_duckdb_values import in_spark, no_form, put, unknown_type
from ducklake_spark.sql.retelling import found, is_ours

_SIZE = "IF(x IS NULL, NULL, size(x))"
_CONTAINS = """
CASE WHEN x IS NULL OR y IS NULL THEN NULL ELSE coalesce(array_contains(x, y), false) END
"""


def restore_places(tree: exp.Expr) -> None:
    """Undo that sqlglot counts the places in a list from 0 where it sees a number."""
    for bracket in tree.find_all(exp.Bracket):
        places = bracket.expressions
        if len(places) == 1 and not places[0].is_string and not isinstance(places[0], exp.Slice):
            counted = exp.apply_index_offset(bracket.this, places, 1, dialect="duckdb")
            bracket.set("expressions", counted)


def translate_elements(tree: exp.Expr) -> None:
    """`xs[1]`: DuckDB counts from 1 and from the end, and beyond is NULL."""
    for bracket in found(tree, exp.Bracket):
        (index, *others) = bracket.expressions
        kind = kind_of(bracket.this)
        if others or (index.is_string and kind != "map"):
            continue
        if isinstance(index, exp.Slice):
            _slice(bracket, index, kind)
            continue
        _element(bracket, index, kind)


def _element(bracket: exp.Expr, index: exp.Expr, kind: str | None) -> None:
    of = kind_of(bracket)
    number = index.this if isinstance(index, exp.Neg) else index
    is_place = isinstance(number, exp.Literal) and number.name.isdecimal() and int(number.name)
    if kind == "map" or (is_place and kind in ("list", None)):
        put(bracket, in_spark("try_element_at(x, i)", x=bracket.this, i=index), of)
    elif kind == "list":
        put(bracket, in_spark("try_element_at(x, NULLIF(i, 0))", x=bracket.this, i=index), of)
    elif kind is None:
        raise unknown_type(bracket.this, bracket)
    else:
        raise no_form(bracket.sql(dialect="duckdb"))


def _slice(bracket: exp.Expr, part: exp.Slice, kind: str | None) -> None:
    """`xs[2:3]`, between numbers that are not negative."""
    start, end = _place(part.this, 1), _place(part.expression, None)
    is_plain = start is not None and (end is not None or part.expression is None)
    if part.args.get("step") is not None or not is_plain or kind not in ("list", "text"):
        raise no_form(f"{bracket.sql(dialect='duckdb')}, a slice,")
    first = max(start or 1, 1)
    length = "2147483647" if end is None else str(max(end - first + 1, 0))
    if kind == "text":
        put(bracket, in_spark(f"substring(x, {first}, {length})", x=bracket.this), kind)
        return
    length = length if end is not None else "size(x)"
    put(bracket, in_spark(f"slice(x, {first}, {length})", x=bracket.this), kind)


def _place(number: exp.Expr | None, default: int | None) -> int | None:
    if number is None:
        return default
    return int(number.name) if isinstance(number, exp.Literal) and number.name.isdecimal() else None


def translate_lists(tree: exp.Expr) -> None:
    for length in found(tree, exp.Length):
        if (kind := kind_of(length.this)) == "list":
            put(length, in_spark(_SIZE, x=length.this), "whole")
        elif kind is None:
            raise unknown_type(length.this, length)
    for search in found(tree, exp.ArrayContains, exp.Contains):
        if isinstance(search, exp.ArrayContains) or kind_of(search.this) == "list":
            put(search, in_spark(_CONTAINS, x=search.this, y=search.expression), "boolean")
    _translate_calls(tree)
    _reject_other_lists(tree)


def _translate_calls(tree: exp.Expr) -> None:
    for call in found(tree, exp.Anonymous):
        arguments = [argument.copy() for argument in call.expressions]
        match call.name.lower(), arguments:
            case "cardinality", [value]:
                put(call, in_spark(_SIZE, x=value), "whole")
            case "map", [_, _]:
                put(call, exp.func("map_from_arrays", *arguments), "map")
            case (("map" | "cardinality"), _):
                raise no_form(call.sql(dialect="duckdb"))


def _reject_other_lists(tree: exp.Expr) -> None:
    for inner in tree.find_all(exp.Transform, exp.ArrayFilter):
        function = inner.expression
        if isinstance(function, exp.Lambda) and len(function.expressions) > 1:
            raise no_form("a lambda with the place in the list, which DuckDB counts from 1,")
    for series in tree.find_all(exp.GenerateSeries):
        if not _ascends(series) and not is_ours(series):
            raise no_form(f"{series.sql(dialect='duckdb')}, a series that may be empty,")
    if arrow := tree.find(exp.JSONExtract):
        raise no_form(f"JSON as a part of JSON, {arrow.sql(dialect='duckdb')},")


def _ascends(series: exp.GenerateSeries) -> bool:
    start, end, step = (series.args.get(key) for key in ("start", "end", "step"))
    if step is not None or not (isinstance(start, exp.Literal) and isinstance(end, exp.Literal)):
        return False
    return int(start.name) <= int(end.name) - bool(series.args.get("is_end_exclusive"))


# --- aggregates ---


def translate_aggregates(tree: exp.Expr) -> None:
    for most in found(tree, exp.ArgMax, exp.ArgMin):
        _most(most)
    for call in found(tree, exp.Anonymous):
        if call.name.lower() in ("arg_max_null", "arg_min_null"):
            name = call.name.lower().removesuffix("_null").replace("arg_", "") + "_by"
            put(call, exp.func(name, *[one.copy() for one in call.expressions]), None)
    for share in found(tree, exp.Quantile, exp.PercentileCont, exp.PercentileDisc, exp.Median):
        _share(share)
    for most in found(tree, exp.Max, exp.Min):
        if kind_of(most.this) in ("struct", "list", "map"):
            raise no_form(
                f"{most.sql(dialect='duckdb')}, the order of lists and structs with NULL,"
            )
    for collected in found(tree, exp.ArrayAgg):
        if isinstance(collected.this, (exp.Order, exp.Distinct)) or isinstance(
            collected.parent, (exp.Filter, exp.Window)
        ):
            raise no_form(
                f"{collected.sql(dialect='duckdb')} of rows that are ordered, distinct, filtered "
                "or in a window"
            )
        # Spark's lists of an aggregate lack the NULLs, and are empty where DuckDB's are NULL.
        text = "if(count(*) > 0, transform(collect_list(named_struct('v', x)), e -> e.v), NULL)"
        put(collected, in_spark(text, x=collected.this), "list")


def _most(most: exp.Expr) -> None:
    """DuckDB leaves out rows in which the value is NULL, and Spark does not."""
    if most.args.get("count") is not None:
        raise no_form(f"{most.sql(dialect='duckdb')}, which finds several,")
    name = "max_by" if isinstance(most, exp.ArgMax) else "min_by"
    template = f"{name}(x, IF(x IS NULL, NULL, y))"
    put(most, in_spark(template, x=most.this, y=most.expression), kind_of(most.this))


def _share(share: exp.Expr) -> None:
    value, part = share.this, share.args.get("quantile", share.args.get("expression"))
    kind = kind_of(value)
    if isinstance(share, exp.Median):
        part = exp.Literal.number("0.5")
    if not isinstance(part, exp.Literal) or isinstance(value, (exp.Order, exp.Distinct)):
        raise no_form(f"{share.sql(dialect='duckdb')}, of other than one share of the values,")
    if kind is None or value.type is None:
        raise unknown_type(value, share)
    if kind not in ("whole", "fraction", "decimal"):
        raise no_form(f"{share.sql(dialect='duckdb')} of other than numbers")
    if isinstance(share, exp.PercentileCont | exp.Median):
        put(share, in_spark("percentile(x, p)", x=value, p=part), "fraction")
    else:
        # sqlglot would make an approximation of its own class.
        called = exp.Anonymous(this="percentile_disc", expressions=[part.copy()])
        order = exp.Order(expressions=[exp.Ordered(this=value.copy())])
        share_: exp.Expr = exp.WithinGroup(this=called, expression=order)
        share_.meta[KIND] = kind
        if kind != "fraction" and isinstance(share.parent, (exp.Filter, exp.Window)):
            raise no_form(f"{share.sql(dialect='duckdb')} of a part of the rows")
        if kind != "fraction":
            share_ = exp.Cast(this=share_, to=value.type.copy())
        put(share, share_, kind)
