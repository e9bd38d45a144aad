"""Translates SQL that DuckDB stored in a catalog, such as the text of a view, for Spark.

DuckDB stores its own reading of what was typed: `count(*)` as `count_star()`, an interval as a
call, a lambda in parentheses, and a marker instead of the lake's name. sqlglot
translates the words. It leaves what Spark knows under the same name unchanged even where that
returns something else, so only what was compared passes: the rest is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import TokenType

from ducklake_spark.spec.names import quote
from ducklake_spark.sql import from_duckdb_lists as lists
from ducklake_spark.sql import from_duckdb_texts as texts
from ducklake_spark.sql import from_duckdb_times as times
from ducklake_spark.sql import from_duckdb_values as values
from ducklake_spark.sql.column_types import Columns, note_types
from ducklake_spark.sql.duckdb_functions import STORED_IN_MAIN, reject_unknown_calls
from ducklake_spark.sql.from_duckdb_queries import translate_clauses
from ducklake_spark.sql.splice import Edit, spliced

_MARKER = "DUCKLAKE_CATALOG"


def for_spark(
    text: str,
    lake: str,
    columns: Columns | None = None,
    known: Mapping[str, str] | None = None,
) -> str:
    """Return the query or expression in Spark's words; raise sqlglot's errors.

    The types of what it reads are those of the `columns` of relations, or of the `known` names.
    """
    tree = sqlglot.parse_one(_with_arrows(_with_lake(text, lake)), dialect="duckdb")
    # The parentheses are the parent in which the outermost part can be replaced.
    whole = exp.paren(tree, copy=False)
    lists.restore_places(whole)
    for node in whole.walk():
        if node.is_type(exp.DType.UNKNOWN):  # sqlglot looked for the type before it could know it
            node.type = None
    for rewrite in _STORED_FORMS:
        rewrite(whole)
    reject_unknown_calls(whole)
    values.name_types(whole)
    values.divide_as_double(whole)
    translate_clauses(whole)
    is_query = isinstance(whole.this, exp.Query)
    note_types(whole.this if is_query else whole, columns, known or {})
    for translate in _TRANSLATIONS:
        translate(whole)
    tree = whole.this if is_query else whole
    return tree.sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE)


def _with_lake(text: str, lake: str) -> str:
    """`{DUCKLAKE_CATALOG}.main.t` under the name of the lake."""
    tokens = DuckDB().tokenize(text)
    edits = [
        Edit(tokens[at - 1].start, tokens[at + 1].end + 1, quote(lake))
        for at, token in enumerate(tokens[1:-1], start=1)
        if token.text == _MARKER
        and tokens[at - 1].token_type is TokenType.L_BRACE
        and tokens[at + 1].token_type is TokenType.R_BRACE
    ]
    return spliced(text, edits).text


def _with_arrows(text: str) -> str:
    """`(lambda x: x + 1)` as `(x -> x + 1)`, which sqlglot reads in parentheses."""
    tokens, edits = DuckDB().tokenize(text), []
    for at, token in enumerate(tokens):
        is_lambda = token.text.lower() == "lambda" and token.token_type is not TokenType.IDENTIFIER
        if not is_lambda or not at or tokens[at - 1].token_type is not TokenType.L_PAREN:
            continue
        colon = next((t for t in tokens[at:] if t.token_type is TokenType.COLON), None)
        if colon is None:
            continue
        names = text[token.end + 1 : colon.start].strip()
        names = f"({names})" if "," in names else names
        edits.append(Edit(token.start, colon.end + 1, f"{names} -> "))
    return spliced(text, edits).text


def _lambdas(tree: exp.Expr) -> None:
    """`f(xs, (x -> y))`, in which sqlglot sees an arrow of JSON's."""
    for arrow in list(tree.find_all(exp.JSONExtract)):
        outer, taken = arrow.parent, arrow.this
        is_row = isinstance(taken, exp.Tuple) or taken.name.lower() == "row"
        names = taken.expressions if is_row and taken.expressions else [taken]
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


def _stored_calls(tree: exp.Expr) -> None:
    """`main.date_part(…)` is how DuckDB stores EXTRACT and others that are written in words."""
    for dot in reversed(list(tree.find_all(exp.Dot))):
        call = dot.expression
        if not isinstance(call, exp.Anonymous) or dot.this.name.lower() != "main":
            continue
        name = call.name.lower()
        if name in STORED_IN_MAIN:
            dot.replace(_stored_call(name, call))


def _elements(tree: exp.Expr) -> None:
    """`list_extract(xs, 1)` as `xs[1]`, and `array_slice(xs, 1, 2)` as `xs[1:2]`."""
    for call in reversed(list(tree.find_all(exp.Anonymous, exp.ArraySlice))):
        name = "array_slice" if isinstance(call, exp.ArraySlice) else call.name.lower()
        arguments = [*call.iter_expressions()]
        if name in ("list_extract", "list_element", "array_extract") and len(arguments) == 2:
            call.replace(exp.Bracket(this=arguments[0].copy(), expressions=[arguments[1].copy()]))
        elif name in ("array_slice", "list_slice") and len(arguments) == 3:
            part = exp.Slice(this=arguments[1].copy(), expression=arguments[2].copy())
            call.replace(exp.Bracket(this=arguments[0].copy(), expressions=[part]))


def _stored_call(name: str, call: exp.Anonymous) -> exp.Expr:
    arguments = call.expressions
    match name:
        case "position":
            return exp.StrPosition(this=arguments[0], substr=arguments[1])
        case "list_value":
            return exp.Array(expressions=arguments)
        case "struct_pack":
            return exp.Struct(expressions=arguments)
        case "like_escape" | "not_like_escape":
            like = exp.Like(this=arguments[0], expression=arguments[1])
            escaped: exp.Expr = exp.Escape(this=like, expression=arguments[2])
            return exp.paren(exp.not_(escaped) if name.startswith("not") else escaped)
        case "row" | "map":
            return call
    texts = ", ".join(one.sql(dialect="duckdb") for one in arguments)
    return sqlglot.parse_one(f"{_CALLED.get(name, name)}({texts})", dialect="duckdb")


_CALLED = {"list_apply": "list_transform", "list_slice": "array_slice"}


_STORED_FORMS = (_stored_calls, _lambdas, _counts, _order_by_all, _elements)
_TRANSLATIONS = (
    values.translate_blobs,
    values.translate_escapes,
    values.reject_orders,
    times.translate_intervals,
    times.translate_truncated,
    times.translate_sums,
    times.translate_differences,
    times.translate_zones,
    times.translate_epochs,
    times.translate_moments,
    times.translate_parts,
    lists.translate_elements,
    lists.translate_lists,
    lists.translate_aggregates,
    values.translate_numbers,
    values.translate_casts,
    texts.translate_texts,
)
