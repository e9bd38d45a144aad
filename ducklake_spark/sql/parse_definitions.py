"""CREATE, DROP and COMMENT, as Spark's SQL writes them and a bit as DuckDB does.

None where the statement is Spark's own, such as CREATE TABLE … USING csv, or another module's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ducklake_spark.errors import StatementError, UnsupportedFeatureError
from ducklake_spark.sql import parse_alterations
from ducklake_spark.sql.parse_columns import (
    CONSTRAINTS,
    accept_if_not_exists,
    column,
    keys,
    no_constraint,
    properties,
)
from ducklake_spark.sql.statements import (
    ColumnDefinition,
    Comment,
    CreateSchema,
    CreateTable,
    CreateTemporaryView,
    CreateView,
    Drop,
    DropSchema,
    Statement,
)
from ducklake_spark.sql.tokens import Cursor

_SCHEMA = ("SCHEMA", "DATABASE", "NAMESPACE")


def parse(cursor: Cursor) -> Statement | None:
    """The statement that begins here."""
    match cursor.take().word:
        case "CREATE":
            return _create(cursor)
        case "DROP":
            return _drop(cursor)
        case "ALTER":
            return parse_alterations.parse(cursor)
        case _:
            return _comment(cursor)


# --- CREATE ---


def _create(cursor: Cursor) -> Statement | None:
    replace = cursor.accept("OR", "REPLACE")
    if cursor.accept_any(*_SCHEMA):
        if_not_exists = accept_if_not_exists(cursor)
        name = cursor.dotted("the name of a schema", most=2)
        return CreateSchema(name, if_not_exists) if cursor.done else _schema_rest(cursor)
    if cursor.accept_any("TEMPORARY", "TEMP"):
        return _create_temporary_view(cursor, replace) if cursor.accept("VIEW") else None
    if cursor.accept("TABLE"):
        return _create_table(cursor, replace)
    if cursor.accept("VIEW"):
        return _create_view(cursor, replace)
    return None


def _schema_rest(cursor: Cursor) -> Statement:
    raise UnsupportedFeatureError(
        f"{cursor.rest()!r} cannot be part of CREATE SCHEMA: a schema of a lake has a name only."
    )


def _create_temporary_view(cursor: Cursor, replace: bool) -> Statement | None:
    parts = cursor.dotted("the name of a view")
    if len(parts) > 1:
        raise StatementError(
            f"{'.'.join(parts)} cannot be the name of a temporary view, which has one part.",
            hint="Leave out the database and the schema, or use CREATE VIEW for a view of a lake.",
        )
    columns = tuple(name for name, _ in _view_columns(cursor))
    while not cursor.accept("AS"):
        if cursor.sees("USING"):
            return None
        if cursor.accept("TBLPROPERTIES"):
            cursor.skip_group()
        elif cursor.accept("COMMENT"):
            cursor.string()
        else:
            raise cursor.error("AS")
    if cursor.done:
        raise cursor.error("a query")
    return CreateTemporaryView(parts[0], cursor.query(), replace, columns)


def _create_view(cursor: Cursor, replace: bool) -> Statement:
    if_not_exists = accept_if_not_exists(cursor)
    name = cursor.dotted("the name of a view")
    columns = _view_columns(cursor)
    comment = None
    while not cursor.accept("AS"):
        if cursor.accept("COMMENT"):
            comment = cursor.string()
        else:
            raise cursor.error("AS")
    if cursor.done:
        raise cursor.error("a query")
    return CreateView(name, cursor.query(), columns, comment, if_not_exists, replace)


def _view_columns(cursor: Cursor) -> tuple[tuple[str, str | None], ...]:
    if not cursor.accept("("):
        return ()
    columns = []
    while True:
        name = cursor.name("a column")
        columns.append((name, cursor.string() if cursor.accept("COMMENT") else None))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(columns)


def _create_table(cursor: Cursor, replace: bool) -> Statement | None:
    if_not_exists = accept_if_not_exists(cursor)
    name = cursor.dotted("the name of a table")
    like = cursor.dotted("a table") if cursor.accept("LIKE") else None
    columns: tuple[ColumnDefinition, ...] = ()
    if cursor.accept("("):
        columns = tuple(_columns(cursor))
        cursor.expect(")")
    clauses = _Clauses()
    while not cursor.done and not cursor.sees_any("AS", "SELECT", "WITH"):
        if not clauses.take(cursor):
            return None
    if cursor.accept("AS") and cursor.done:
        raise cursor.error("a query")
    query = None if cursor.done else cursor.query()
    if query is None and not columns and like is None:
        raise cursor.error("columns or a query")
    return CreateTable(
        name, columns, query, like, clauses.partitioned_by, clauses.sorted_by, clauses.options,
        clauses.comment, if_not_exists, replace,
    )  # fmt: skip


@dataclass(slots=True)
class _Clauses:
    """What may stand between the columns of a table and its query, in any order."""

    partitioned_by: tuple[str, ...] = ()
    sorted_by: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None

    def take(self, cursor: Cursor) -> bool:
        """Take the clause that comes next; False if the table is none of ours."""
        if cursor.accept("USING"):
            return cursor.name("a format").lower() == "ducklake"
        if cursor.accept("PARTITIONED", "BY"):
            self.partitioned_by = keys(cursor)
        elif cursor.accept("SORTED", "BY"):
            self.sorted_by = keys(cursor)
        elif cursor.accept("TBLPROPERTIES") or cursor.accept("OPTIONS"):
            self.options |= properties(cursor)
        elif cursor.accept("COMMENT"):
            self.comment = cursor.string()
        else:
            raise cursor.error("AS and a query, or the end of the statement")
        return True


def _columns(cursor: Cursor) -> Iterator[ColumnDefinition]:
    while True:
        if cursor.sees_any(*CONSTRAINTS):
            raise no_constraint(cursor)
        yield column(cursor, cursor.name("a column"))
        if not cursor.accept(","):
            return


# --- DROP ---


def _drop(cursor: Cursor) -> Statement | None:
    kind = cursor.accept_any("TABLE", "VIEW", *_SCHEMA)
    if not kind:
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    is_schema = kind in _SCHEMA
    name = cursor.dotted(f"the name of a {kind.lower()}", most=2 if is_schema else None)
    if is_schema:
        cascade = cursor.accept_any("CASCADE", "RESTRICT") == "CASCADE"
        cursor.finish()
        return DropSchema(name, if_exists, cascade)
    cursor.accept_any("PURGE", "CASCADE", "RESTRICT")
    cursor.finish()
    return Drop("table" if kind == "TABLE" else "view", name, if_exists)


# --- COMMENT ---


def _comment(cursor: Cursor) -> Statement | None:
    cursor.expect("ON")
    kind = cursor.accept_any("TABLE", "VIEW", "COLUMN")
    if cursor.sees_any(*_SCHEMA):
        raise UnsupportedFeatureError(
            "DuckLake keeps no comments on schemas.", hint="Comment on their tables."
        )
    if not kind:
        raise cursor.error("TABLE, VIEW or COLUMN")
    name = cursor.dotted()
    cursor.expect("IS")
    text = None if cursor.accept("NULL") else cursor.string()
    cursor.finish()
    return Comment(kind.lower(), name, text)
