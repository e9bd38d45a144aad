"""How parts of a tree are said anew for DuckDB, with the types that they had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import sqlglot
from sqlglot import exp

from ducklake_spark.sql.column_types import KIND, kind_of

E = TypeVar("E", bound=exp.Expr)
_OURS = "ours"
_NEED_PARENTHESES = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Interval)


def found(tree: exp.Expr, *kinds: type[E]) -> Iterator[E]:
    """What Spark's text says, the innermost first; not what was said for DuckDB already."""
    for node in reversed(list(tree.find_all(*kinds))):
        if not is_ours(node):
            yield node


def is_ours(node: exp.Expr) -> bool:
    return bool(node.meta.get(_OURS))


def replace(old: exp.Expr, new: exp.Expr) -> None:
    """Put one in the place of another; whoever looks at it later finds the type there."""
    kind = old.type
    new.meta[KIND] = kind_of(old)
    old.replace(new)
    if kind is not None:
        new.type = kind.copy()


def said(template: str, *, dialect: str = "duckdb", **parts: exp.Expr) -> exp.Expr:
    """Return SQL of a dialect with parts of a tree in place of the names that it is given."""
    tree = sqlglot.parse_one(template, dialect=dialect)
    for node in tree.walk():
        node.meta[_OURS] = True
    return tree.transform(lambda node: _part(node, parts))


def _part(node: exp.Expr, parts: dict[str, exp.Expr]) -> exp.Expr:
    if not isinstance(node, exp.Column) or node.name not in parts:
        return node
    return held_together(parts[node.name].copy())


def held_together(part: exp.Expr) -> exp.Expr:
    """A part that can stand among operators."""
    return exp.paren(part, copy=False) if isinstance(part, _NEED_PARENTHESES) else part
