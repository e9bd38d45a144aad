"""Translates the functions of texts in a query that DuckDB wrote."""

from __future__ import annotations

import re

from sqlglot import exp

from ducklake_spark.sql.column_types import kind_of
from ducklake_spark.sql.from_duckdb_values import (
    in_spark,
    no_form,
    put,
    reject_other_text,
    text_of,
)
from ducklake_spark.sql.retelling import found


def translate_texts(tree: exp.Expr) -> None:
    for joined in found(tree, exp.DPipe, exp.Concat, exp.ConcatWs):
        _check_joined(joined)
    for part in found(tree, exp.Substring):
        _substring(part)
    for end in found(tree, exp.Left, exp.Right):
        length = end.expression
        if not (isinstance(length, exp.Literal) and not length.is_string):
            raise no_form(f"{text_of(end)}, left and right of a length that may be negative,")
    for like in found(tree, exp.Like, exp.ILike):
        _like(like)
    for call in found(tree, exp.RegexpReplace):
        _replacement(call)
    for match in found(tree, exp.RegexpLike, exp.RegexpExtract, exp.RegexpFullMatch):
        _pattern(match)
    for parts in found(tree, exp.Split, exp.SplitPart):
        _require_delimiter(parts)
    for capitals in found(tree, exp.Upper):  # Spark writes SS for ß
        put(capitals, in_spark("upper(replace(s, 'ß', 'ẞ'))", s=capitals.this), "text")


def _require_delimiter(parts: exp.Expr) -> None:
    delimiter = parts.args.get("delimiter") or parts.expression
    if not delimiter.is_string or not delimiter.name:
        raise no_form(f"{text_of(parts)}, which splits at a computed or empty text,")


def _check_joined(joined: exp.Expr) -> None:
    values = list(joined.iter_expressions())
    kinds = {kind_of(value) for value in values}
    if isinstance(joined, exp.DPipe) and kinds in ({"list"}, {"binary"}):
        return
    for value in values:
        reject_other_text(value, joined)
    if type(joined) is exp.Concat:
        # DuckDB leaves NULL out; sqlglot's COALESCE(n, '') fails unless n is a text.
        texts = [exp.cast(value.copy(), "string") for value in values]
        put(joined, exp.Concat(expressions=texts, coalesce=True, safe=True), "text")


def _substring(part: exp.Substring) -> None:
    start, length = part.args.get("start"), part.args.get("length")
    if length is None:
        return
    is_counted = isinstance(length, exp.Literal) and not length.is_string
    is_placed = isinstance(start, (exp.Literal, exp.Neg))
    if not is_counted or not is_placed:
        raise no_form(f"{text_of(part)}, whose start or length may be 0 or negative,")
    if isinstance(start, exp.Literal) and start.name == "0":  # there is nothing at 0
        part.set("start", exp.Literal.number(1))
        part.set("length", exp.Literal.number(max(int(length.name) - 1, 0)))


def _like(like: exp.Expr) -> None:
    r"""DuckDB has no escape unless it is given, and Spark has `\`."""
    if isinstance(like.parent, exp.Escape):
        return
    pattern = like.expression
    if pattern.is_string and "\\" not in pattern.name:
        return
    unused = next((c for c in "!#$&'\x01" if c not in pattern.name), None)
    if not pattern.is_string or unused is None:
        raise no_form(f"{text_of(like)}, a pattern that may contain \\,")
    escaped = exp.Escape(this=like.copy(), expression=exp.Literal.string(unused))
    put(like, escaped, "boolean")


_GROUP = re.compile(r"\\(\d)")


def _replacement(call: exp.RegexpReplace) -> None:
    """DuckDB replaces the first match unless told otherwise, and writes groups as \\1."""
    replacement, flags = call.args.get("replacement"), call.args.get("modifiers")
    if flags is None or flags.name != "g" or not isinstance(replacement, exp.Literal):
        raise no_form("regexp_replace of the first match alone, or with other flags than 'g',")
    text = replacement.name.replace("$", "\\$")
    call.set("replacement", exp.Literal.string(_GROUP.sub(r"$\1", text)))
    call.set("modifiers", None)


def _pattern(match: exp.Expr) -> None:
    if match.args.get("flag") is not None or match.args.get("options") is not None:
        raise no_form(f"{text_of(match)}, a pattern with options,")
    if isinstance(match, exp.RegexpFullMatch):
        if not match.expression.is_string:
            raise no_form(f"{text_of(match)}, a computed pattern,")
        whole = exp.Literal.string(f"^(?:{match.expression.name})\\z")
        put(match, exp.RegexpLike(this=match.this.copy(), expression=whole), "boolean")
    group = match.args.get("group")
    is_number = isinstance(group, exp.Literal) and not group.is_string
    if isinstance(match, exp.RegexpExtract) and group is not None and not is_number:
        raise no_form(f"{text_of(match)}, which extracts several groups,")
