"""SHOW CREATE: the statement that creates a table or a view again."""

from __future__ import annotations

import re

from ducklake_spark.catalog import LakeReader
from ducklake_spark.spec.model import Column, SortKey, View
from ducklake_spark.spec.partitions import Transform
from ducklake_spark.spec.values import parse_text
from ducklake_spark.sql.defaults import in_spark
from ducklake_spark.sql.scope import Scope
from ducklake_spark.sql.tokens import literal, quoted
from ducklake_spark.sql.types import type_text
from ducklake_spark.sql.workspace import Relation

_NUMBER = re.compile(r"-?\d+(\.\d*)?(e[+-]?\d+)?", re.ASCII)


def create_text(scope: Scope, reader: LakeReader, to: Relation) -> str:
    """Return the statement that creates a table or a view again."""
    view = reader.find_view(to.name)
    if view is not None:
        return _create_view_text(scope, to, view)
    table = reader.table(to.name)
    stored = reader.stored_options()
    own = {o.key: o.value for o in stored if (o.scope, o.scope_id) == ("table", table.id)}
    lines = [f"  {_column_text(column)}" for column in table.columns]
    parts = [f"CREATE TABLE {_sql_name(to)} (\n" + ",\n".join(lines) + ")"]
    columns = {column.id: column.name for column in table.columns}
    if table.partition_fields:
        keys = [key_text(k.transform, columns[k.column_id]) for k in table.partition_fields]
        parts.append(f"PARTITIONED BY ({', '.join(keys)})")
    if table.sort_keys:
        parts.append(f"SORTED BY ({', '.join(map(sort_text, table.sort_keys))})")
    if table.comment:
        parts.append(f"COMMENT {literal(table.comment)}")
    if own:
        options = [f"{literal(key)} = {literal(value)}" for key, value in sorted(own.items())]
        parts.append(f"TBLPROPERTIES ({', '.join(options)})")
    return "\n".join(parts)


def _create_view_text(scope: Scope, to: Relation, view: View) -> str:
    comments = {name: view.column_comment(name) for name in view.column_aliases}
    aliases = [f"{quoted(name)}{_comment_text(text)}" for name, text in comments.items()]
    columns = f" ({', '.join(aliases)})" if aliases else ""
    head = f"CREATE VIEW {_sql_name(to)}{columns}{_comment_text(view.comment)}"
    return f"{head} AS {scope.text_of(view, to)}"


def _comment_text(text: str | None) -> str:
    return f" COMMENT {literal(text)}" if text else ""


def _sql_name(to: Relation) -> str:
    return ".".join(map(quoted, (to.lake, to.name.schema, to.name.name)))


def _column_text(column: Column) -> str:
    parts = [quoted(column.name), type_text(column.type)]
    if not column.nullable:
        parts.append("NOT NULL")
    if not column.default.is_none and column.default.value is not None:
        parts.append(f"DEFAULT {default_text(column, column.default.value)}")
    if column.comment:
        parts.append(f"COMMENT {literal(column.comment)}")
    return " ".join(parts)


def default_text(column: Column, text: str) -> str:
    """Return a stored default as CREATE TABLE takes it for the type of the column."""
    if column.default.kind == "expression":
        return in_spark(text)
    match column.type.name:
        case "blob":
            return f"X'{parse_text(text, column.type).hex()}'"
        case "boolean":
            return str(parse_text(text, column.type)).lower()
        case "date":
            return f"DATE {literal(text)}"
        case "timestamptz" | "timestamptz_ns":
            return f"TIMESTAMP {literal(text)}"
        case "timestamp" | "timestamp_s" | "timestamp_ms":
            return f"TIMESTAMP_NTZ {literal(text)}"
        case "varchar" | "json":
            return literal(text)
    return text if _NUMBER.fullmatch(text) else literal(text)


def key_text(transform: Transform, column: str) -> str:
    """Return a partition key as PARTITIONED BY takes it."""
    if transform.name == "identity":
        return quoted(column)
    if transform.name == "bucket":
        return f"bucket({transform.buckets}, {quoted(column)})"
    return f"{transform.name}({quoted(column)})"


def sort_text(key: SortKey) -> str:
    """Return a sort key as SORTED BY takes it."""
    direction = "DESC" if key.descending else "ASC"
    return f"{key.expression} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
