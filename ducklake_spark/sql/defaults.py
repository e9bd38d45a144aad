"""Defaults of columns in Spark's words.

Spark knows the word DEFAULT for its own tables only, and the catalog keeps expressions as DuckDB
reads them (FORMAT 1.13).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from sqlglot.errors import SqlglotError

from ducklake_spark.errors import InvalidDefinitionError, UntrustedSqlError
from ducklake_spark.scan import new_default, shown_type
from ducklake_spark.spec.catalog_sql import check_expression
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import fold
from ducklake_spark.sql.failures import SPARK_ERRORS, query_error
from ducklake_spark.sql.for_duckdb import expression_for_duckdb
from ducklake_spark.sql.from_duckdb import for_spark
from ducklake_spark.sql.reading import reject_variables
from ducklake_spark.sql.scope import Scope
from ducklake_spark.sql.splice import Edit, Spliced, spliced
from ducklake_spark.sql.tokens import Cursor, quoted

_ANOTHER_VALUE = "Give the column a value in the query, or set its default anew with ALTER TABLE."


def with_defaults(scope: Scope, query: str, table: Table, names: Sequence[str], lake: str) -> str:
    """The query with the defaults of its columns in the place of the word DEFAULT."""
    if "default" not in query.lower():
        return query
    cursor = Cursor(query)
    if not cursor.accept("VALUES"):
        return query
    columns = [table.column(quoted(name)) for name in names] or list(table.columns)
    edits: list[Edit] = []
    while cursor.accept("("):
        for column in columns:
            token = cursor.peek()
            if cursor.until(",").upper() == "DEFAULT":
                edits.append(Edit(token.start, token.end, _text(scope, table, column, lake)))
            if not cursor.accept(","):
                break
        while not cursor.done and not cursor.accept(")"):
            cursor.take()
        cursor.accept(",")
    return spliced(query, edits).text


def default_of(scope: Scope, table: Table, column: Column, lake: str) -> Expression:
    """The default of a column as a value of the type that is shown for it."""
    return F.expr(_text(scope, table, column, lake)).cast(shown_type(column))


def computed_defaults(
    scope: Scope, table: Table, given: Iterable[str], lake: str
) -> dict[str, Expression]:
    """The defaults that are expressions, of columns that are not given."""
    known = {fold(name) for name in given}
    return {
        column.name: default_of(scope, table, column, lake)
        for column in table.columns
        if column.default.kind == "expression" and fold(column.name) not in known
    }


def computed_by_duckdb(scope: Scope, expression: str, column: str) -> str:
    """A default that is no constant, as the catalog keeps it: Spark must know all of it, too."""
    reject_variables(expression, f"the default of column {column!r}")
    check_expression(expression, f"The default of column {column!r}")
    query = f"SELECT {expression} AS v"
    scope.run(Spliced(query, query))
    return expression_for_duckdb(expression, f"the default of column {column!r}")


def in_spark(text: str) -> str:
    """A computed default as Spark says it, or as it is if Spark cannot."""
    try:
        return for_spark(text, "")
    except (SqlglotError, RecursionError):
        return text


def _text(scope: Scope, table: Table, column: Column, lake: str) -> str:
    if column.default.is_none or column.default.value is None:
        return "NULL"
    try:
        if column.default.kind != "expression":
            return new_default(column)
        stored = for_spark(column.default.value, lake)
        text = f"({check_expression(stored, _origin(table, column))})"
        rows = scope.workspace.session.spark.range(1)
        _ = rows.select(F.expr(text).cast(shown_type(column))).schema  # Spark looks at it now
    except UntrustedSqlError as error:
        error.hint = _ANOTHER_VALUE
        raise
    except SPARK_ERRORS as error:
        raise _no_form(table, column, query_error(error).message) from error
    except (SqlglotError, RecursionError, ValueError) as error:
        raise _no_form(table, column, str(error)) from error
    return text


def _origin(table: Table, column: Column) -> str:
    return f"The default of column {column.name!r} of {table.name}"


def _no_form(table: Table, column: Column, reason: str) -> InvalidDefinitionError:
    why = reason.partition("\n")[0].rstrip(".")
    return InvalidDefinitionError(
        f"The default of column {column.name!r} of {table.name}, {column.default.value}, has no "
        f"form that Spark runs: {why}.",
        hint=_ANOTHER_VALUE,
    )
