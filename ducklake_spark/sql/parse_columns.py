"""What statements say of columns, keys and properties."""

from __future__ import annotations

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.names import quote
from ducklake_spark.sql.statements import ColumnDefinition, Parts
from ducklake_spark.sql.tokens import Cursor

_AFTER_TYPE = ("NOT", "NULL", "DEFAULT", "COMMENT", "GENERATED", "COLLATE", ",", ")", "FIRST",
               "AFTER", "USING")  # fmt: skip
CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "REFERENCES")


def accept_if_not_exists(cursor: Cursor) -> bool:
    return cursor.accept("IF", "NOT", "EXISTS")


def no_constraint(cursor: Cursor) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"DuckLake has no constraint but NOT NULL, so {cursor.peek().text} cannot be kept.",
        hint="Leave it out; in dbt, test it instead.",
    )


def column(cursor: Cursor, name: str) -> ColumnDefinition:
    cursor.accept(":")
    found = ColumnDefinition(name, type_text(cursor))
    nullable, default, comment = True, None, None
    while not cursor.done and not cursor.sees_any(",", ")", "FIRST", "AFTER"):
        if cursor.accept("NOT", "NULL"):
            nullable = False
        elif cursor.accept("NULL"):
            nullable = True
        elif cursor.accept("DEFAULT"):
            default = cursor.until("NOT", "COMMENT", ",", *CONSTRAINTS)
        elif cursor.accept("COMMENT"):
            comment = cursor.string()
        elif cursor.sees_any(*CONSTRAINTS):
            raise no_constraint(cursor)
        else:
            raise cursor.error("NOT NULL, DEFAULT or COMMENT")
    return ColumnDefinition(name, found.type, nullable, default, comment)


def type_text(cursor: Cursor) -> str:
    """A type as text, which ends where its brackets are closed and something else begins."""
    start, depth = cursor.peek().start, 0
    while not cursor.done:
        token = cursor.peek()
        shown = cursor.text[token.start : token.end]
        if depth <= 0 and (token.word in _AFTER_TYPE or token.word in CONSTRAINTS):
            break
        if token.word == "(":
            cursor.skip_group()
            continue
        depth += shown.count("<") - shown.count(">")
        cursor.take()
    if cursor.peek().start == start:
        raise cursor.error("a type")
    return cursor.text[start : cursor.peek(-1).end]


def keys(cursor: Cursor) -> tuple[str, ...]:
    """A list of expressions in parentheses, as texts."""
    cursor.expect("(")
    found = []
    while not cursor.sees(")"):
        found.append(cursor.until(","))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(key.strip() for key in found)


def properties(cursor: Cursor) -> dict[str, str]:
    """('key' = 'value', key = value)."""
    cursor.expect("(")
    found: dict[str, str] = {}
    while not cursor.sees(")"):
        name = _property_name(cursor)
        cursor.accept("=")
        if cursor.peek().word in (",", ")"):
            raise cursor.error(f"a value for {name}")
        found[name] = _property_value(cursor)
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return found


def _property_name(cursor: Cursor) -> str:
    is_text = cursor.peek().text and not cursor.peek().is_name
    name = cursor.string("the name of a property") if is_text else ".".join(cursor.dotted())
    return name.removeprefix("ducklake.")


def _property_value(cursor: Cursor) -> str:
    token = cursor.peek()
    if not (token.is_name or token.text.replace(".", "").isdigit()):
        return cursor.string("a value")
    return cursor.take().text


def column_path(parts: Parts) -> str:
    """A column, or a field within one, as the catalog names it."""
    return ".".join(quote(part) for part in parts)
