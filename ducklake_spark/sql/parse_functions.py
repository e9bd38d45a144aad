"""CREATE FUNCTION and DROP FUNCTION of a lake: in SQL, by the full name. All others are Spark's."""

from __future__ import annotations

from ducklake_spark.sql.parse_columns import type_text
from ducklake_spark.sql.statements import (
    ColumnDefinition,
    CreateFunction,
    DropFunction,
    Statement,
)
from ducklake_spark.sql.tokens import Cursor

_CHARACTERISTICS = ("LANGUAGE", "SQL", "NOT", "DETERMINISTIC", "CONTAINS")


def parse(cursor: Cursor) -> Statement | None:
    """The statement that begins here, if it is one of these."""
    if cursor.accept("DROP", "FUNCTION"):
        if_exists = cursor.accept("IF", "EXISTS")
        name = cursor.dotted("the name of a function")
        return DropFunction(name, if_exists) if cursor.done and len(name) > 2 else None
    cursor.accept("CREATE")
    replace = cursor.accept("OR", "REPLACE")
    return _create(cursor, replace) if cursor.accept("FUNCTION") else None


def _create(cursor: Cursor, replace: bool) -> Statement | None:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.dotted("the name of a function")
    if len(name) < 3 or not cursor.sees("("):
        return None
    start = cursor.peek().start
    parameters = _parameters(Cursor(cursor.group()))
    returns = None
    while not cursor.sees("RETURN"):
        if cursor.accept("RETURNS"):
            returns = cursor.until("RETURN", "COMMENT", *_CHARACTERISTICS)
        elif cursor.accept("COMMENT"):
            cursor.string()
        elif not cursor.accept_any(*_CHARACTERISTICS):
            raise cursor.error("RETURN")
    signature = cursor.text[start : cursor.peek(-1).end]
    cursor.expect("RETURN")
    body = cursor.query().strip()
    return CreateFunction(name, parameters, signature, returns, body, if_not_exists, replace)


def _parameters(cursor: Cursor) -> tuple[ColumnDefinition, ...]:
    found = []
    while not cursor.done:
        name, data_type = cursor.name("a parameter"), type_text(cursor)
        default = cursor.until("COMMENT", ",") if cursor.accept("DEFAULT") else None
        comment = cursor.string() if cursor.accept("COMMENT") else None
        found.append(ColumnDefinition(name, data_type, default=default, comment=comment))
        if not cursor.accept(","):
            break
    cursor.finish()
    return tuple(found)
