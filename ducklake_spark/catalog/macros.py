"""Proves that DuckDB can read a macro, for it reads all macros of a lake or cannot load it."""

from __future__ import annotations

from ducklake_spark.errors import MissingExtraError, UnsupportedFeatureError
from ducklake_spark.spec.model import MacroImplementation
from ducklake_spark.spec.names import QualifiedName, quote


def check_parses(name: QualifiedName, macro: MacroImplementation) -> None:
    """Refuse a macro that DuckDB cannot parse."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError("A function of a lake", "duckdb") from error
    parameters = ", ".join(quote(parameter.name) for parameter in macro.parameters)
    try:
        parsed = duckdb.extract_statements(f"CREATE MACRO m({parameters}) AS {macro.sql}")
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise UnsupportedFeatureError(
            f"The function {name} has no form that DuckDB runs: {reason}.",
            hint="Write it in SQL that both know, or as a macro of dbt's.",
        ) from error
    if len(parsed) != 1:
        raise UnsupportedFeatureError(f"The function {name} is more than one statement.")
