"""Checks the text of a view or function of a lake before Spark runs it.

The rules are those of `spec.catalog_sql`. Here they meet what a statement knows: which names are
relations and functions of lakes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ducklake_spark.errors import StatementError, UntrustedSqlError
from ducklake_spark.spec.catalog_sql import (
    canonical,
    check_calls,
    check_paths,
    check_structure,
    string_places,
)
from ducklake_spark.spec.paths import Area
from ducklake_spark.sql import parse_functions
from ducklake_spark.sql.references import Named, Reference, find_references
from ducklake_spark.sql.splice import Edit, Spliced
from ducklake_spark.sql.statements import CreateFunction
from ducklake_spark.sql.tokens import Cursor, Kind

# The formats of files that Spark reads without further libraries.
_FILE_FORMATS = ("binaryfile", "csv", "json", "orc", "parquet", "text")
_COMPLETE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*://")


def check_query(
    cursor: Cursor,
    named: Named,
    edits: Sequence[Edit],
    origin: str,
    columns: Callable[[], Iterable[str]] = tuple,
) -> None:
    """Raise unless the canonical text of a query only computes, from relations of lakes.

    `edits` are the names that were replaced by views and functions of this session. `columns`
    lists the columns of the relations that the query reads.
    """
    starts = {edit.start for edit in edits} | named.alias_starts
    check_calls(cursor.text, origin, lambda call: call.start in starts)
    _check_names(cursor, named, origin, columns)


def check_new_query(
    text: str,
    origin: str,
    is_lakes: Callable[[tuple[str, ...]], bool],
    columns: Callable[[], Iterable[str]],
) -> None:
    """Raise if the text of a new view does more than compute; its relations are checked already.

    `is_lakes` returns whether a name is that of a function of a lake. `columns` lists the columns
    of the relations that the view reads.
    """
    cursor = Cursor(canonical(text, origin))
    named = find_references(Cursor(cursor.text, cursor.tokens), strict=True)
    # IDENTIFIER('…') spells the name of a relation.
    starts = named.alias_starts | {r.start for r in named.references if r.arguments is None}
    check_calls(cursor.text, origin, lambda call: call.start in starts or is_lakes(call.parts))
    _check_names(cursor, named, origin, columns)


def _check_names(
    cursor: Cursor, named: Named, origin: str, columns: Callable[[], Iterable[str]]
) -> None:
    """Raise if a string or a name can be read in two ways, or if a name can be that of a file."""
    _check_places(cursor, origin)
    known = [*named.aliases, *(reference.parts[-1] for reference in named.references)]
    inside = [(r.start, r.end) for r in named.references if r.arguments is None]
    check_paths(
        cursor.text,
        origin,
        lambda: (*known, *columns()),
        lambda at: any(start <= at < end for start, end in inside),
    )


def check_definition(definition: str, origin: str) -> str:
    """Return the canonical text of a function: its parameters, and an expression to return."""
    text = canonical(definition, origin)
    try:
        parsed = parse_functions.parse(Cursor(f"CREATE FUNCTION a.b.c {text}"))
    except StatementError as error:
        raise _no_function(origin) from error
    if not isinstance(parsed, CreateFunction):
        raise _no_function(origin)
    check_structure(text, origin)
    _check_places(Cursor(text), origin)
    signature = canonical(parsed.signature, origin)
    return f"{signature} RETURN ({parsed.body})"


def check_calls_of(definition: str, edits: Sequence[Edit], origin: str) -> None:
    """Raise if a function does more than compute, or calls what is not a function of a lake."""
    cursor = Cursor(definition)
    named = find_references(Cursor(definition, cursor.tokens), strict=True)
    for reference in named.references:
        if reference.arguments is None:
            raise _not_allowed(reference, origin)
    check_query(cursor, named, edits, origin)


def check_file(reference: Reference, origin: str, area: Area) -> None:
    """Raise unless the relation is files that the lake may use, such as parquet.`/data/x`."""
    source, path = reference.parts if len(reference.parts) == 2 else ("", "")
    # Hadoop expands {a,b} and * after this check. A relative path depends on who reads it.
    is_plain = not any(part in path for part in ("..", "{", "}", "\\"))
    if source.lower() not in _FILE_FORMATS or not is_plain or not _COMPLETE.match(path):
        raise _not_allowed(reference, origin)
    area.check(path, f"{origin} reads a file that")


def _not_allowed(reference: Reference, origin: str) -> UntrustedSqlError:
    name = ".".join(reference.parts)
    return UntrustedSqlError(
        f"{origin} reads {name}, which is not a table or view that exists.",
        hint="A view that a catalog stores can read tables and views of lakes, permanent tables of "
        "Spark, and files by a complete path. Read everything else in your query, such as a model "
        "materialized as a table.",
    )


def within_parentheses(query: Spliced) -> Spliced:
    """Put a query in parentheses, where only a query can stand: WITH can also begin an INSERT."""
    before, after = "SELECT * FROM (", ")"
    end = len(query.original)
    edits = (Edit(0, 0, before), *query.edits, Edit(end, end, after))
    return Spliced(query.original, f"{before}{query.text}{after}", edits)


def _no_function(origin: str) -> UntrustedSqlError:
    return UntrustedSqlError(
        f"{origin} is not a function of Spark's SQL that returns an expression.",
        hint="Create the function again.",
    )


def _check_places(cursor: Cursor, origin: str) -> None:
    """Raise if this package and Spark disagree on where strings and quoted names are."""
    places: list[tuple[int, int]] = []
    for token in cursor.tokens:
        if token.kind not in (Kind.STRING, Kind.QUOTED):
            continue
        if token.kind is Kind.STRING and places and places[-1][1] == token.start:
            places[-1] = (places[-1][0], token.end)
        else:
            places.append((token.start, token.end))
    if places != string_places(cursor.text, origin):
        raise UntrustedSqlError(
            f"{origin} has quotes that can be read in two ways.",
            hint="Write strings in single quotes and names in backticks.",
        )
