"""Lists and maps: where they start, what NULL is in them, and what is made of no rows."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import UnsupportedError

from ducklake_spark.spec.names import fold
from ducklake_spark.sql.column_types import kind_of
from ducklake_spark.sql.retelling import found, replace, said

# NULL where no value is the one, and one that is not known could have been.
_CONTAINS = (
    "CASE WHEN LIST_CONTAINS(a, x) THEN TRUE "
    "WHEN a IS NULL OR x IS NULL OR LIST_COUNT(a) < LEN(a) THEN NULL ELSE FALSE END"
)


def positions(tree: exp.Expr) -> None:
    """`transform(xs, (x, i) -> …)`: the first i is 0 in Spark and 1 in DuckDB."""
    for call in found(tree, exp.Transform, exp.ArrayFilter):
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
    one = exp.Literal.number(1)
    return exp.paren(exp.Sub(this=exp.to_identifier(position), expression=one))


def indexes(tree: exp.Expr) -> None:
    """The first of a list is 0 in Spark and 1 in DuckDB; maps have keys."""
    for taken in found(tree, exp.Bracket):
        kind, (index, *_) = kind_of(taken.this), taken.expressions
        if kind == "list" and not taken.args.get("offset"):
            taken.set("expressions", [_next(index)])
        elif kind is None and not taken.args.get("offset"):
            text = taken.this.sql(dialect="spark")
            raise UnsupportedError(f"Nobody knows here whether {text} is a list or a map.")
        taken.set("offset", 1)
    for call in found(tree, exp.Anonymous):
        if call.name.lower() == "get" and len(call.expressions) == 2:
            values, index = call.expressions
            at = said("CASE WHEN i >= 0 THEN LIST_EXTRACT(a, i + 1) END", a=values, i=index)
            replace(call, at)


def _next(index: exp.Expr) -> exp.Expr:
    if index.is_int and not isinstance(index, exp.Neg):
        return exp.Literal.number(int(index.name) + 1)
    return said("a + 1", a=index)


def lists(tree: exp.Expr) -> None:
    for call in found(tree, exp.ArrayPosition):
        where = (
            "CASE WHEN a IS NULL OR x IS NULL THEN NULL ELSE COALESCE(LIST_POSITION(a, x), 0) END"
        )
        replace(call, said(where, a=call.this, x=call.expression))
    for among in found(tree, exp.ArrayContains):
        replace(among, said(_CONTAINS, a=among.this, x=among.expression))
    for once in found(tree, exp.ArrayDistinct):
        replace(once, said("LIST_FILTER(a, LAMBDA v, i : LIST_POSITION(a, v) = i)", a=once.this))
    for without in found(tree, exp.ArrayRemove):
        rest = "CASE WHEN x IS NOT NULL THEN LIST_FILTER(a, LAMBDA v : v IS DISTINCT FROM x) END"
        replace(without, said(rest, a=without.this, x=without.expression))
    for nested in found(tree, exp.Flatten):
        flat = "CASE WHEN LIST_COUNT(a) = LEN(a) THEN FLATTEN(a) END"
        replace(nested, said(flat, a=nested.this))
    for key in found(tree, exp.MapContainsKey):
        replace(key, said("MAP_CONTAINS(a, x)", a=key.this, x=key.args["key"]))


def tests(tree: exp.Expr) -> None:
    """Whether some or all of a list: not known, if that hangs on a NULL."""
    for some in found(tree, exp.Exists):
        if isinstance(some.expression, exp.Lambda):
            replace(some, _any(some.this, some.expression, "TRUE"))
    for call in found(tree, exp.Anonymous):
        match call.name.lower(), call.expressions:
            case "forall", [values, exp.Lambda() as test]:
                replace(call, exp.not_(exp.paren(_any(values, test, "FALSE"))))


def _any(values: exp.Expr, test: exp.Lambda, wanted: str) -> exp.Expr:
    answers = exp.Transform(this=values.copy(), expression=test.copy())
    return said(_CONTAINS.replace("x IS NULL OR ", "").replace("x", wanted), a=answers)


def gathered(tree: exp.Expr) -> None:
    """A list of no values is empty in Spark, and NULL in DuckDB."""
    for rows in found(tree, exp.ArrayAgg, exp.ArrayUniqueAgg):
        whole: exp.Expr = rows
        while isinstance(whole.parent, exp.Filter | exp.Window) and whole.parent.this is whole:
            whole = whole.parent
        kind = rows.type
        filled = said("COALESCE(a, [])", a=whole)
        whole.replace(filled)
        if kind is not None:
            filled.type = kind.copy()


def series(tree: exp.Expr) -> None:
    """Numbers may go down, and days are dates."""
    for run in found(tree, exp.GenerateSeries):
        if isinstance(run.parent, exp.Table):
            continue
        first, last, step = run.args["start"], run.args["end"], run.args.get("step")
        kinds = {kind_of(first), kind_of(last)} - {"null"}
        if kinds == {"whole"}:
            if step is None:
                both = "GENERATE_SERIES(a, b, CASE WHEN a <= b THEN 1 ELSE -1 END)"
                replace(run, said(both, a=first, b=last))
        elif kinds == {"date"} and step is not None and _is_days(step):
            days = "CAST(GENERATE_SERIES(a, b, s) AS DATE[])"
            replace(run, said(days, a=first, b=last, s=step))
        else:
            raise UnsupportedError("It counts whole numbers and days alike, nothing else.")


def _is_days(step: exp.Expr) -> bool:
    if not isinstance(step, exp.Interval) or not isinstance(step.args.get("unit"), exp.Var):
        return False
    return step.args["unit"].name.upper() in ("DAY", "DAYS", "WEEK", "WEEKS")
