"""DEFAULT among the VALUES of an INSERT, which Spark knows for its own tables only."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.values import parse_blob_escaped
from ducklake_spark.sql.splice import Edit, spliced
from ducklake_spark.sql.tokens import Cursor, literal, quoted


def with_defaults(query: str, table: Table, names: Sequence[str]) -> str:
    """The query with the defaults of its columns in the place of the word DEFAULT."""
    cursor = Cursor(query)
    if not cursor.accept("VALUES"):
        return query
    columns = [table.column(quoted(name)) for name in names] or list(table.columns)
    edits: list[Edit] = []
    while cursor.accept("("):
        for column in columns:
            token = cursor.peek()
            if cursor.until(",").upper() == "DEFAULT":
                edits.append(Edit(token.start, token.end, default_text(column)))
            if not cursor.accept(","):
                break
        while not cursor.done and not cursor.accept(")"):
            cursor.take()
        cursor.accept(",")
    return spliced(query, edits).text


def default_text(column: Column) -> str:
    """The default of a column in Spark's words."""
    if column.default.is_none or column.default.value is None:
        return "NULL"
    if column.default.kind == "expression":
        return column.default.value
    if column.type.name == "blob":
        return f"X'{parse_blob_escaped(column.default.value).hex()}'"
    return literal(column.default.value)
