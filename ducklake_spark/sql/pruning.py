"""Which conditions of a query hold for each relation it reads, so that files can stay unread.

A condition reaches a relation only where leaving out its rows cannot change the result: never past
an outer join that would make up NULLs, a limit, a window or an aggregate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from ducklake_spark.spec.names import fold
from ducklake_spark.sql.conditions import (
    Both,
    Condition,
    Test,
    all_of,
    any_of,
    is_true_of_null,
    renamed,
    widened,
)

# Where a relation's last name part stands in the text -> what the query demands of its rows.
Demands = dict[int, Condition]

_SPARK = Dialect.get_or_raise("spark")
_PIPES = {TokenType.PIPE, TokenType.PIPE_GT}
_OPERATORS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.NullSafeEQ: ("=", "="),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
# What a test is made of; any more changes what it means.
_PLAIN = ("this", "expression", "expressions", "low", "high")
# Parts of a SELECT that look at several rows at once.
_NOT_ROWWISE = ("group", "having", "distinct", "limit", "offset", "qualify", "windows", "pivots",
                "sample", "laterals", "match")  # fmt: skip


def demands_of(query: str, outer: Condition | None = None) -> Demands:
    """What a query demands of each relation it names. `outer` is what is asked of its result."""
    tree = _parsed(query)
    if tree is None:
        return {}
    analysis = _Analysis(_uses(tree))
    try:
        analysis.query(tree, outer)
    except RecursionError:  # thousands of conditions, which Spark may still take
        return {}
    return analysis.found


def condition_of(text: str, names: Sequence[str]) -> Condition | None:
    """What an expression demands of one relation, whose columns go by these qualifiers; an empty
    one stands for columns without any."""
    known = {fold(name) for name in names}
    parts: list[Condition] = []
    for part in _demanded(text):
        try:
            condition, tables = _condition(part)
        except RecursionError:
            continue
        if condition is not None and tables <= known:
            parts.append(condition)
    return all_of(parts)


def equalities_of(text: str, left: str, right: str) -> list[tuple[str, str]]:
    """The pairs of columns that a join demands to be equal, the left one's first."""
    pairs = []
    for part in _demanded(text):
        sides = (part.this, part.expression) if type(part) is exp.EQ else ()
        columns = [side.unnest() for side in sides if isinstance(side.unnest(), exp.Column)]
        by_table = {_table_of(column): fold(column.name) for column in columns}
        if set(by_table) == {fold(left), fold(right)}:
            pairs.append((by_table[fold(left)], by_table[fold(right)]))
    return pairs


def _demanded(text: str) -> list[exp.Expr]:
    """The parts of a condition that all must hold."""
    tree = _parsed(text)
    try:
        return list(_conjuncts(tree)) if tree is not None else []
    except RecursionError:
        return []


def _parsed(query: str) -> exp.Expr | None:
    """The syntax tree; None if sqlglot cannot be sure to read the text as Spark does."""
    if "${" in query:  # Spark puts the value of a setting here before it parses the text
        return None
    try:
        tokens = _SPARK.tokenize(query)
        # sqlglot rewrites |> and takes the pipe | for an operator of bits.
        if any(token.token_type in _PIPES for token in tokens):
            return None
        (tree,) = _SPARK.parser().parse(tokens, query)
    except (SqlglotError, RecursionError, ValueError):
        return None
    return tree


def _uses(tree: exp.Expr) -> Counter[str]:
    return Counter(fold(table.name) for table in tree.find_all(exp.Table) if not table.db)


@dataclass(slots=True)
class _Source:
    """One relation of a FROM, and what its columns may be qualified by."""

    names: frozenset[str]
    node: exp.Expr
    made_up: bool = False
    demands: list[Condition] = field(default_factory=list)

    def demand(self, condition: Condition) -> None:
        """Only rows for which this is true matter, unless rows of NULLs may be made up for them."""
        if not (self.made_up and is_true_of_null(condition)):
            self.demands.append(condition)


@dataclass(slots=True)
class _Analysis:
    uses: Counter[str]
    found: Demands = field(default_factory=dict)
    ctes: dict[str, exp.Expr] = field(default_factory=dict)

    def query(self, node: exp.Expr, outer: Condition | None) -> None:
        if isinstance(node, exp.Subquery):
            plain = not any(node.args.get(arg) for arg in _NOT_ROWWISE)
            self.query(node.this, outer if plain else None)
            return
        self._define(node)
        if isinstance(node, exp.Select):
            self._select(node, outer)
        elif isinstance(node, exp.SetOperation):
            rowwise = not any(node.args.get(arg) for arg in ("limit", "offset", "by_name"))
            outer = widened(outer) if rowwise and outer is not None else None
            self.query(node.left, outer)
            self.query(node.right, _by_place(node, outer) if outer is not None else None)
        else:
            self._inside(node, ())

    def _define(self, node: exp.Expr) -> None:
        """Common table expressions; one that is used once is looked at where it is used."""
        clause = node.args.get("with_")
        for cte in clause.expressions if clause else ():
            name = fold(cte.alias)
            columns = cte.args["alias"].args.get("columns")
            again = name in self.ctes or cte.parent.recursive
            if self.uses[name] == 1 and not columns and not again:
                self.ctes[name] = cte.this
            else:
                self.ctes.pop(name, None)
                self.uses[name] = 0
                self.query(cte.this, None)

    def _select(self, select: exp.Select, outer: Condition | None) -> None:
        sources = list(self._sources(select))
        where = select.args.get("where")
        parts = [_condition(part) for part in (_conjuncts(where.this) if where else ())]
        if outer is not None and not _looks_at_many(select):
            parts += _pushed(select, outer, sources)
        for condition, tables in parts:
            source = _source_of(tables, sources, select)
            if condition is not None and source is not None:
                source.demand(condition)
        for source in sources:
            self._visit(source)
        self._inside(select, [source.node for source in sources])

    def _sources(self, select: exp.Select) -> Iterator[_Source]:
        clause = select.args.get("from_")
        if clause is None:
            return
        sources = [_Source(_names_of(clause.this), clause.this)]
        for join in select.args.get("joins") or ():
            right = _Source(_names_of(join.this), join.this)
            _join(join, sources, right)
            sources.append(right)
        yield from sources

    def _visit(self, source: _Source) -> None:
        node, demand = source.node, all_of(source.demands)
        alias = node.args.get("alias")
        names_columns = isinstance(alias, exp.TableAlias) and alias.args.get("columns")
        if names_columns or any(node.args.get(arg) for arg in ("pivots", "sample", "joins")):
            demand = None
        if isinstance(node, exp.Subquery):
            self.query(node, demand)
            return
        if not isinstance(node, exp.Table):
            self._inside(node, ())
            return
        body = None if node.db else self.ctes.pop(fold(node.name), None)
        if body is not None:
            self.query(body, demand)
        elif demand is not None and "start" in node.this.meta:
            self.found[node.this.meta["start"]] = demand
        for join in node.args.get("joins") or ():
            self._visit(_Source(frozenset(), join.this))

    def _inside(self, node: exp.Expr, seen: Sequence[exp.Expr]) -> None:
        """Queries within the expressions of a query."""
        for child in node.iter_expressions():
            if child in seen or isinstance(child, exp.With):
                continue
            if isinstance(child, (exp.Select, exp.SetOperation, exp.Subquery)):
                self.query(child, None)
            elif isinstance(child, (exp.From, exp.Join)) and child.this in seen:
                self._inside(child, seen)
            else:
                self._inside(child, seen)


def _join(join: exp.Join, before: list[_Source], right: _Source) -> None:
    """What the ON of a join demands of both sides, and where the join makes up NULLs."""
    side, kind = join.side.upper(), join.kind.upper()
    on = join.args.get("on")
    left_too = kind == "SEMI" or (kind != "ANTI" and side in ("", "RIGHT"))
    reached = [right] if side in ("", "LEFT") else []
    reached += before if left_too else []
    for part in _conjuncts(on) if on is not None else ():
        condition, tables = _condition(part)
        if condition is not None:
            for source in reached:
                if len(tables) == 1 and tables <= source.names:
                    source.demand(condition)
    _make_up_nulls(side, before, right)
    if kind in ("SEMI", "ANTI"):
        right.names = frozenset()  # invisible from here on


def _make_up_nulls(side: str, before: list[_Source], right: _Source) -> None:
    right.made_up = side in ("LEFT", "FULL")
    if side in ("RIGHT", "FULL"):
        for source in before:
            source.made_up = True


def _source_of(tables: set[str], sources: Sequence[_Source], select: exp.Select) -> _Source | None:
    """The one source that a condition is about. Unqualified names only count beside no other."""
    if len(tables) != 1:
        return None
    (name,) = tables
    if name:
        named = [source for source in sources if name in source.names]
        return named[0] if len(named) == 1 else None
    alone = len(sources) == 1 and not select.args.get("laterals")
    return sources[0] if alone else None


def _looks_at_many(select: exp.Select) -> bool:
    if any(select.args.get(arg) for arg in _NOT_ROWWISE if arg != "laterals"):
        return True
    return any(p.find(exp.Window, exp.AggFunc, exp.UDTF) for p in select.expressions)


def _pushed(
    select: exp.Select, outer: Condition, sources: Sequence[_Source]
) -> list[tuple[Condition | None, set[str]]]:
    """Conditions on the result of a SELECT as conditions on what it reads."""
    parts = outer.parts if isinstance(outer, Both) else (outer,)
    pushed: list[tuple[Condition | None, set[str]]] = []
    for part in parts:
        names, tables = _inner_names(select, _columns(part), sources)
        pushed.append((renamed(part, names), tables))
    return pushed


def _columns(condition: Condition) -> set[str]:
    if isinstance(condition, Test):
        return {condition.column}
    return set().union(*(_columns(part) for part in condition.parts))


def _inner_names(
    select: exp.Select, wanted: set[str], sources: Sequence[_Source]
) -> tuple[dict[str, str], set[str]]:
    """The columns that come out under these names, if plain columns do, and their tables."""
    names: dict[str, str] = {}
    tables: set[str] = set()
    star = False
    for projection in select.expressions:
        inner = projection.unalias()
        if isinstance(inner, exp.Star) and not any(inner.args.values()):
            star = len(sources) == 1
        elif fold(projection.alias_or_name) in wanted and isinstance(inner, exp.Column):
            names[fold(projection.alias_or_name)] = fold(inner.name)
            tables.add(_table_of(inner))
        elif fold(projection.alias_or_name) in wanted:
            return {}, set()
    if star:
        # A column that the star brings; one with a projection of its own is ambiguous outside.
        for name in wanted - set(names):
            names[name] = name
            tables.add("")
    return names, tables


def _by_place(node: exp.SetOperation, outer: Condition) -> Condition | None:
    """A condition on the result of a set operation, by the names of its right side."""
    left, right = _output_names(node.left), _output_names(node.right)
    if left is None or right is None or len(left) != len(right):
        return None
    return renamed(outer, dict(zip(left, right, strict=True)))


def _output_names(node: exp.Expr) -> list[str] | None:
    while isinstance(node, (exp.Subquery, exp.SetOperation)):
        node = node.this
    if not isinstance(node, exp.Select) or any(p.find(exp.Star) for p in node.expressions):
        return None
    return [fold(projection.alias_or_name) for projection in node.expressions]


# --- conditions ---


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _condition(node: exp.Expr) -> tuple[Condition | None, set[str]]:
    """A condition over single columns and constants, and the tables it qualifies them by."""
    node = node.unnest()
    if isinstance(node, (exp.And, exp.Or)):
        return _combined(node)
    negated = isinstance(node, exp.Not)
    if negated:
        node = node.this.unnest()
    column, condition = _tested(node)
    if column is None or condition is None or _holds_columns(condition):
        return None, set()
    if negated:
        if not (isinstance(condition, Test) and condition.operator == "null"):
            return None, set()
        condition = Test(condition.column, "not null")
    return condition, {_table_of(column)}


def _holds_columns(condition: Condition) -> bool:
    """Whether it compares with other columns, or with what a query gives."""
    if isinstance(condition, Test):
        return any(value.find(exp.Column, exp.Query) for value in condition.values)
    return any(map(_holds_columns, condition.parts))


def _combined(node: exp.And | exp.Or) -> tuple[Condition | None, set[str]]:
    (left, its), (right, their) = _condition(node.left), _condition(node.right)
    tables = its | their
    if isinstance(node, exp.Or):
        if left is None or right is None:
            return None, set()
        return any_of([left, right]), tables
    known = [part for part in (left, right) if part is not None]
    return all_of(known), tables


def _tested(node: exp.Expr) -> tuple[exp.Column | None, Condition | None]:
    if any(value for arg, value in node.args.items() if arg not in _PLAIN):
        return None, None  # such as NOT LIKE, which sqlglot marks on the LIKE
    if type(node) in _OPERATORS:
        forwards, backwards = _OPERATORS[type(node)]
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(left, exp.Column):
            return left, Test(fold(left.name), forwards, (right,))
        if isinstance(right, exp.Column):
            return right, Test(fold(right.name), backwards, (left,))
        return None, None
    column = node.this.unnest() if isinstance(node.this, exp.Expr) else None
    if not isinstance(column, exp.Column):
        return None, None
    name = fold(column.name)
    match node:
        case exp.Is() if isinstance(node.expression, exp.Null):
            return column, Test(name, "null")
        case exp.In() if node.expressions:
            return column, Test(name, "in", tuple(node.expressions))
        case exp.Like():
            return column, Test(name, "like", (node.expression,))
        case exp.Between():
            low, high = node.args["low"], node.args["high"]
            return column, Both((Test(name, ">=", (low,)), Test(name, "<=", (high,))))
    return None, None


def _table_of(column: exp.Column) -> str:
    """What a column is qualified by, which may be a struct and not a table."""
    return ".".join(fold(part.name) for part in column.parts[:-1])


def _names_of(node: exp.Expr) -> frozenset[str]:
    """What columns of a relation may be qualified by: its alias, or its name with what leads it."""
    if node.alias or not isinstance(node, exp.Table):
        return frozenset({fold(node.alias_or_name)} - {""})
    parts = [fold(part.name) for part in node.parts]
    return frozenset(".".join(parts[at:]) for at in range(len(parts)))
