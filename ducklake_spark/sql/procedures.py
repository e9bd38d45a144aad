"""The procedures of a lake that need nothing but its catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.errors import StatementError
from ducklake_spark.session import Session
from ducklake_spark.sql.workspace import Workspace

# Carries out a procedure on a lake: its arguments by place and by name.
Procedure = Callable[[Workspace, str, list[Any], dict[str, Any]], DataFrame]


def bound(
    procedure: str, names: tuple[str, ...], by_place: list[Any], by_name: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments under the names of the parameters."""
    unknown = sorted(set(by_name) - set(names))
    if unknown or len(by_place) > len(names):
        what = f"no argument {unknown[0]!r}" if unknown else f"at most {len(names)} arguments"
        raise StatementError(
            f"{procedure} takes {what}.", hint=f"Its arguments are: {', '.join(names) or 'none'}."
        )
    return dict(zip(names, by_place, strict=False)) | dict(by_name)


def rows(session: Session, schema: str, found: list[tuple[Any, ...]]) -> DataFrame:
    return session.spark.createDataFrame(found, schema)


def set_option(
    workspace: Workspace, lake: str, by_place: list[Any], by_name: dict[str, Any]
) -> DataFrame:
    """Set an option of the lake, a schema or a table; NULL removes it."""
    names = ("option", "value", "schema", "table_name")
    found = bound("set_option", names, by_place, by_name)
    if "option" not in found or "value" not in found:
        raise StatementError("set_option takes the name of an option and its value.")
    schema, table = found.get("schema"), found.get("table_name")
    if table is not None and schema is not None and "." not in table:
        table, schema = f'"{schema}"."{table}"', None
    with workspace.writing(lake) as work:
        work.tx.set_option(found["option"], found["value"], schema=schema, table=table)
    value = None if found["value"] is None else str(found["value"])
    return rows(workspace.session, "option string, value string", [(found["option"], value)])


def create_indexes(
    workspace: Workspace, lake: str, by_place: list[Any], by_name: dict[str, Any]
) -> DataFrame:
    """Add the indexes that make narrow reads fast."""
    bound("create_indexes", (), by_place, by_name)
    made = workspace.lakes[lake].create_indexes()
    return rows(workspace.session, "index string", [(name,) for name in made])


def set_commit_message(
    workspace: Workspace, lake: str, by_place: list[Any], by_name: dict[str, Any]
) -> DataFrame:
    """Say who makes the open transaction's commit and why."""
    names = ("author", "commit_message", "extra_info")
    found = bound("set_commit_message", names, by_place, by_name)
    with workspace.writing(lake) as work:
        if not workspace.in_transaction:
            raise StatementError(
                "set_commit_message says something of a transaction, and none is open.",
                hint="Start one with BEGIN.",
            )
        work.tx.describe_commit(
            author=found.get("author"),
            message=found.get("commit_message"),
            extra_info=found.get("extra_info"),
        )
    return rows(workspace.session, "success boolean", [(True,)])


PROCEDURES: Mapping[str, Procedure] = {
    "set_option": set_option,
    "create_indexes": create_indexes,
    "set_commit_message": set_commit_message,
}
