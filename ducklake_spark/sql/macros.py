"""Functions of a lake: kept as macros that DuckDB runs, and as what Spark makes functions of."""

from __future__ import annotations

from ducklake_spark.catalog import literal_text
from ducklake_spark.errors import NotFoundError, UnsupportedFeatureError
from ducklake_spark.spec.model import MacroImplementation, MacroParameter
from ducklake_spark.sql.calls import calls_without_lake
from ducklake_spark.sql.define import is_constant
from ducklake_spark.sql.for_duckdb import expression_for_duckdb
from ducklake_spark.sql.reading import reject_variables
from ducklake_spark.sql.references import find_references
from ducklake_spark.sql.result import Outcome
from ducklake_spark.sql.scope import Scope
from ducklake_spark.sql.splice import Spliced, spliced
from ducklake_spark.sql.statements import ColumnDefinition, CreateFunction, DropFunction
from ducklake_spark.sql.tokens import Cursor
from ducklake_spark.sql.types import fields_of
from ducklake_spark.sql.views import SPARK_TEXT
from ducklake_spark.sql.workspace import Relation, Work


def create_function(scope: Scope, work: Work, to: Relation, wanted: CreateFunction) -> Outcome:
    """CREATE FUNCTION; Spark tries it first, so that none is broken from the start."""
    if wanted.if_not_exists and work.tx.find_macro(to.name) is not None:
        return Outcome("CREATE FUNCTION")
    if find_references(Cursor(wanted.body)).references:
        raise UnsupportedFeatureError(
            f"The function {to} reads a table or view; it can use its parameters alone.",
            hint="Give it what it needs as a parameter, or write a macro of dbt's.",
        )
    reject_variables(wanted.body, f"the function {to}")
    scope.function(f"{wanted.signature} RETURN {wanted.body}", to)
    body = spliced(wanted.body, calls_without_lake(Cursor(wanted.body).tokens, to.lake)).text
    macro = MacroImplementation(
        "duckdb",
        expression_for_duckdb(
            body,
            f"the function {to}",
            wanted.returns,
            {parameter.name: parameter.type for parameter in wanted.parameters},
        ),
        "scalar",
        tuple(_parameter(scope, parameter, to) for parameter in wanted.parameters),
    )
    tags = {SPARK_TEXT: f"{wanted.signature} RETURN {body}"}
    work.tx.create_macro(to.name, macro, tags=tags, replace_existing=wanted.replace)
    return Outcome("CREATE FUNCTION")


def drop_function(_: Scope, work: Work, to: Relation, wanted: DropFunction) -> Outcome:
    try:
        work.tx.drop_macro(to.name)
    except NotFoundError:
        if not wanted.if_exists:
            raise
    return Outcome("DROP FUNCTION")


def _parameter(scope: Scope, wanted: ColumnDefinition, to: Relation) -> MacroParameter:
    if wanted.default is None:
        return MacroParameter(wanted.name, "unknown", "NULL", "unknown")
    if not is_constant(wanted.default):
        raise UnsupportedFeatureError(
            f"The default of the parameter {wanted.name!r} of {to} is no constant."
        )
    query = f"SELECT {wanted.default} AS v"
    rows = scope.run(Spliced(query, query))
    (field,) = fields_of(rows.schema)
    value = rows.toArrow()["v"][0].as_py()
    text = literal_text(value, field.data_type, wanted.name)
    return MacroParameter(wanted.name, "unknown", text, str(field.data_type))
