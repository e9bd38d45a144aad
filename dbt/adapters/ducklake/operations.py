"""Operations on the lake, as macros call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt.adapters.ducklake.cursor import Cursor

from ducklake_spark.cli.text_table import draw_table, terminal_width
from ducklake_spark.spec.names import split_identifier
from ducklake_spark.spec.sizes import count_text
from ducklake_spark.sql.procedures import PROCEDURES


def operation_sql(
    target: DuckLakeCredentials,
    procedure: str,
    arguments: Mapping[str, Any],
    database: str | None,
) -> str:
    """The CALL of a procedure, the table of which may be a relation or a name."""
    given = dict(arguments)
    table = given.get("table_name")
    if isinstance(table, BaseRelation):
        database = database or table.database
        given |= {"schema": table.schema, "table_name": table.identifier}
    elif table is not None and not (given.get("schema") or given.get("schema_name")):
        *outer, name = split_identifier(str(table))
        if len(outer) < 2:
            given |= {"schema": outer[0] if outer else target.schema, "table_name": name}
    return PROCEDURES[procedure].signature.call_text(database or target.database, given)


def operation_text(procedure: str, cursor: Cursor) -> str:
    """What a procedure did, or would do, as a table for a person."""
    names = [name for name, _ in cursor.description or []]
    rows = cursor.fetchall()
    return (
        f"{procedure}: {count_text(len(rows), 'row')}\n{draw_table(names, rows, terminal_width())}"
    )
