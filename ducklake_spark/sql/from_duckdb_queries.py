"""Translates the clauses of a query that DuckDB wrote."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.spec.names import fold
from ducklake_spark.sql.from_duckdb_values import no_form
from ducklake_spark.sql.retelling import said

_KEPT = "_ducklake_kept"


def translate_clauses(tree: exp.Expr) -> None:
    _reject(tree)
    _members(tree)
    _laterals(tree)
    _series(tree)
    for inner in tree.find_all(exp.CTE):
        inner.set("materialized", None)
    for values in tree.find_all(exp.Values):
        _name_columns(values)
    for select in reversed(list(tree.find_all(exp.Select))):
        if select.args.get("qualify") is not None:
            _qualify(select)


def _reject(tree: exp.Expr) -> None:
    """Raise for clauses that Spark lacks, or that sqlglot would change."""
    for node in tree.walk():
        if (what := _missing(node)) is not None:
            raise no_form(what)


def _missing(node: exp.Expr) -> str | None:
    match node:
        case exp.SetOperation() if node.args.get("by_name"):
            return "UNION BY NAME"
        case exp.Star() if node.args.get("replace") or node.args.get("rename"):
            return "* REPLACE (…) or * RENAME (…)"
        case exp.Columns() | exp.Collate() | exp.Glob():
            return node.sql(dialect="duckdb")
        case exp.Join():
            return _missing_join(node)
        case exp.Select() if sum(bool(value.find(exp.Explode)) for value in node.selects) > 1:
            return "unnest of several lists in one SELECT"
        case exp.LimitOptions() if node.args.get("percent"):
            return "LIMIT of a share"
        case exp.WindowSpec() if node.args.get("kind") == "GROUPS" or node.args.get("exclude"):
            return "a window of GROUPS or with EXCLUDE"
        case exp.Distinct() if node.args.get("on") is not None:
            return "DISTINCT ON"
    return None


def _missing_join(join: exp.Join) -> str | None:
    if join.method in ("ASOF", "POSITIONAL"):
        return f"{join.method} JOIN"
    is_list = isinstance(join.this, (exp.Unnest, exp.Lateral))
    if is_list and (join.side or join.args.get("on")):
        return f"{join.side} JOIN of unnest(…)".strip()
    return None


def _members(tree: exp.Expr) -> None:
    """`a = ANY(SELECT …)` is how DuckDB stores `a IN (SELECT …)`."""
    for test in list(tree.find_all(exp.Any)):
        equal, query = test.parent, test.this
        if not isinstance(equal, exp.EQ) or not isinstance(query, exp.Query):
            raise no_form(f"{(equal or test).sql(dialect='duckdb')}, a comparison with ANY,")
        query = query if isinstance(query, exp.Subquery) else exp.Subquery(this=query)
        equal.replace(exp.In(this=equal.this.copy(), query=query.copy()))
    for member in tree.find_all(exp.In):
        if member.args.get("query") is not None and not _is_condition(member):
            raise no_form(f"{member.sql(dialect='duckdb')}, which can be NULL here,")
    if found := tree.find(exp.All):
        raise no_form(f"{found.sql(dialect='duckdb')}, a comparison with ALL,")


def _is_condition(member: exp.Expr) -> bool:
    """Return whether a row passes by this test alone.

    Elsewhere Spark makes FALSE of the NULL that DuckDB returns for a list with NULL.
    """
    node: exp.Expr | None = member.parent
    is_negated = False
    while isinstance(node, (exp.Paren, exp.And, exp.Or, exp.Not)):
        is_negated = is_negated or isinstance(node, exp.Not)
        if is_negated and isinstance(node, exp.Or):
            return False
        node = node.parent
    return isinstance(node, (exp.Where, exp.Having))


def _laterals(tree: exp.Expr) -> None:
    """DuckDB drops LATERAL before a query that names the relations on its left."""
    for join in list(tree.find_all(exp.Join)):
        inner, select = join.this, join.parent
        if not isinstance(inner, exp.Subquery) or not isinstance(select, exp.Select):
            continue
        left = {fold(name) for name in _on_the_left(select, join)}
        own = {fold(table.alias_or_name) for table in inner.find_all(exp.Table, exp.Subquery)}
        named = {fold(column.table) for column in inner.find_all(exp.Column) if column.table}
        if (named - own) & left:
            alias = inner.args.get("alias")
            bare = inner.copy()
            bare.set("alias", None)
            inner.replace(exp.Lateral(this=bare, alias=alias.copy() if alias else None))


def _on_the_left(select: exp.Select, join: exp.Join) -> list[str]:
    source = select.args.get("from_") or select.args.get("from")
    before = [source.this] if source is not None else []
    for other in select.args.get("joins") or []:
        if other is join:
            break
        before.append(other.this)
    return [relation.alias_or_name for relation in before]


def _series(tree: exp.Expr) -> None:
    """`FROM generate_series(1, 3) AS g(x)`, and `FROM range(3)`, which ends before 3."""
    for table in list(tree.find_all(exp.Table)):
        series = table.this
        if not isinstance(series, exp.GenerateSeries):
            continue
        start, end = series.args.get("start"), series.args.get("end")
        is_range = bool(series.args.get("is_end_exclusive"))
        ends = [int(one.name) for one in (start, end) if isinstance(one, exp.Literal)]
        if len(ends) < 2 or series.args.get("step") or ends[0] > ends[1] - is_range:
            raise no_form(f"{series.sql(dialect='duckdb')}, a series that may be empty,")
        alias = table.args.get("alias") or exp.TableAlias()
        names = alias.args.get("columns") or [
            exp.to_identifier("range" if is_range else "generate_series")
        ]
        numbers = f"explode(sequence({ends[0]}L, {ends[1] - is_range}L))"
        value = exp.alias_(said(numbers, dialect="spark"), names[0].copy())
        name = alias.this.copy() if alias.this else exp.to_identifier("series")
        table.replace(exp.Subquery(this=exp.select(value), alias=exp.TableAlias(this=name)))


def _name_columns(values: exp.Values) -> None:
    """The columns of VALUES are col0, col1 and so on, and col1, col2 in Spark."""
    alias = values.args.get("alias") or exp.TableAlias(this=exp.to_identifier("valueslist"))
    if not alias.args.get("columns") and values.expressions:
        width = len(values.expressions[0].expressions)
        alias.set("columns", [exp.to_identifier(f"col{at}") for at in range(width)])
        values.set("alias", alias)


def _qualify(select: exp.Select) -> None:
    """Write QUALIFY as a condition on a query around, for Spark before 4.1 has none."""
    if any(select.args.get(key) for key in ("order", "limit", "offset", "distinct", "into")):
        raise no_form("QUALIFY together with DISTINCT, ORDER BY or LIMIT")
    condition = select.args["qualify"].this
    inner = select.copy()
    inner.set("qualify", None)
    inner.set("with_", None)
    inner.select(exp.alias_(exp.paren(condition.copy()), _KEPT), copy=False)
    star = exp.Star(except_=[exp.to_identifier(_KEPT)])
    around = exp.select(star).from_(inner.subquery("_ducklake_all")).where(exp.column(_KEPT))
    if select.args.get("with_"):
        around.set("with_", select.args["with_"].copy())
    select.replace(around)
