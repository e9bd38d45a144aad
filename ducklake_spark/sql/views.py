"""A view's text in both dialects: what DuckDB runs is stored, what the user wrote is kept beside.

DuckDB runs the text whatever its dialect says (FORMAT 1.17).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.model import View
from ducklake_spark.spec.names import fold
from ducklake_spark.sql.column_types import Columns
from ducklake_spark.sql.for_duckdb import for_duckdb
from ducklake_spark.sql.from_duckdb import for_spark
from ducklake_spark.sql.references import find_references
from ducklake_spark.sql.splice import Edit, spliced
from ducklake_spark.sql.tokens import Cursor, Kind, literal

SPARK_TEXT = "spark_sql"
_log = logging.getLogger(__name__)


def portable(
    text: str,
    lake: str,
    name: str,
    columns: Columns | None = None,
    names: Sequence[str] = (),
) -> tuple[str, str]:
    """The query as DuckDB runs it, without the lake's name, and the dialect it is in.

    Where there is no such form the view still works here, and DuckDB will say that it cannot. The
    types of what it reads are those of the `columns` of relations; it shows columns of `names`.
    """
    try:
        query = _with_short_travel(_with_whole_strings(text))
        tree = sqlglot.parse_one(query, dialect="spark")
        for table in tree.find_all(exp.Table):
            if table.catalog and fold(table.catalog) == fold(lake):
                table.set("catalog", None)
            _travel_as_duckdb(table)
        for column in tree.find_all(exp.Column):
            if column.catalog and fold(column.catalog) == fold(lake):
                column.set("catalog", None)
        if isinstance(tree, exp.Values):
            tree = exp.select("*").from_(tree)
        _name_columns(tree, names)
        stored = for_duckdb(tree, f"the view {name}", columns)
    except (SqlglotError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        _log.warning("DuckDB will not be able to use the view %s: %s", name, reason)
        return text, "spark"
    return stored, "duckdb"


def _name_columns(tree: exp.Expr, names: Sequence[str]) -> None:
    """Give what has no name of its own the one that Spark gives it, such as `count(1)`."""
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this  # the first side has the names
    if not isinstance(tree, exp.Select) or len(tree.selects) != len(names):
        return
    for value, name in zip(list(tree.selects), names, strict=True):
        if not value.is_star and not isinstance(value, exp.Alias | exp.Aliases | exp.Column):
            value.replace(exp.alias_(value.copy(), name, quoted=True))


def _travel_as_duckdb(table: exp.Table) -> None:
    """`t VERSION AS OF 7` as `t AT (VERSION => 7)`."""
    version = table.args.get("version")
    if version is not None:
        kind = version.name.upper()
        at = exp.HistoricalData(this="AT", kind=kind, expression=version.expression)
        table.set("version", None)
        table.set("when", at)


def _with_short_travel(query: str) -> str:
    """`FOR SYSTEM_VERSION AS OF 7` as `VERSION AS OF 7`, the one form that sqlglot knows."""
    edits = [
        Edit(found.last_end, found.end, f" {found.travel.by} AS OF {found.travel.expression}")
        for found in find_references(Cursor(query)).references
        if found.travel is not None
    ]
    return spliced(query, edits).text


def _with_whole_strings(query: str) -> str:
    """'it''s' as one literal: sqlglot would make two of it, as Spark did once."""
    cursor, edits = Cursor(query), []
    while not cursor.done:
        first = cursor.at
        if cursor.peek().kind is not Kind.STRING:
            cursor.take()
            continue
        start, text = cursor.peek().start, cursor.string()
        if cursor.at > first + 1:
            edits.append(Edit(start, cursor.peek(-1).end, literal(text)))
    return spliced(query, edits).text


def spark_text(view: View, lake: str, columns: Columns | None = None) -> str:
    """Return the text of a view for Spark, whoever made the view.

    `lake` is what its lake is called. The types of what the view reads are those of `columns`.
    """
    kept = view.tags.get(SPARK_TEXT)
    if kept is not None:
        return kept
    if view.dialect == "spark":
        return view.sql
    try:
        return for_spark(view.sql, lake, columns)
    except (SqlglotError, RecursionError, ValueError) as error:  # ValueError: sqlglot's, of maps
        reason = str(error).partition("\n")[0]
        raise UnsupportedFeatureError(
            f"The view {view.name} was written for DuckDB and has no form that Spark runs: "
            f"{reason}.",
            hint="Write it again with CREATE OR REPLACE VIEW here, or read it with DuckDB.",
        ) from error
