"""CREATE, DROP, ALTER and COMMENT, as Spark's SQL writes them and a bit as DuckDB does.

None where the statement is Spark's own, such as CREATE TABLE … USING csv, or another module's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.names import quote
from ducklake_spark.sql.statements import (
    AddColumns,
    Alter,
    Alteration,
    ChangeColumn,
    ColumnDefinition,
    Comment,
    CreateSchema,
    CreateTable,
    CreateTemporaryView,
    CreateView,
    Drop,
    DropColumns,
    DropSchema,
    Parts,
    RenameColumn,
    RenameTo,
    SetLayout,
    SetOptions,
    SetQuery,
    Statement,
)
from ducklake_spark.sql.tokens import Cursor

_SCHEMA = ("SCHEMA", "DATABASE", "NAMESPACE")
_AFTER_TYPE = ("NOT", "NULL", "DEFAULT", "COMMENT", "GENERATED", "COLLATE", ",", ")", "FIRST",
               "AFTER", "USING")  # fmt: skip
_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "REFERENCES")


def parse(cursor: Cursor) -> Statement | None:
    """The statement that begins here."""
    match cursor.take().word:
        case "CREATE":
            return _create(cursor)
        case "DROP":
            return _drop(cursor)
        case "ALTER":
            return _alter(cursor)
        case _:
            return _comment(cursor)


def _if_not_exists(cursor: Cursor) -> bool:
    return cursor.accept("IF", "NOT", "EXISTS")


# --- CREATE ---


def _create(cursor: Cursor) -> Statement | None:
    replace = cursor.accept("OR", "REPLACE")
    if cursor.accept_any(*_SCHEMA):
        if_not_exists = _if_not_exists(cursor)
        name = cursor.dotted("the name of a schema")
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
    name = cursor.name("the name of a view")
    columns = tuple(name for name, _ in _view_columns(cursor))
    while not cursor.done and not cursor.sees("AS"):
        if cursor.sees("USING"):
            return None
        cursor.take()
    cursor.expect("AS")
    return CreateTemporaryView(name, cursor.query(), replace, columns)


def _create_view(cursor: Cursor, replace: bool) -> Statement:
    if_not_exists = _if_not_exists(cursor)
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
    if_not_exists = _if_not_exists(cursor)
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
        if cursor.sees_any(*_CONSTRAINTS):
            raise _no_constraint(cursor)
        yield _column(cursor, cursor.name("a column"))
        if not cursor.accept(","):
            return


def _no_constraint(cursor: Cursor) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"DuckLake has no constraint but NOT NULL, so {cursor.peek().text} cannot be kept.",
        hint="Leave it out; in dbt, test it instead.",
    )


def _column(cursor: Cursor, name: str) -> ColumnDefinition:
    cursor.accept(":")
    found = ColumnDefinition(name, type_text(cursor))
    nullable, default, comment = True, None, None
    while not cursor.done and not cursor.sees_any(",", ")", "FIRST", "AFTER"):
        if cursor.accept("NOT", "NULL"):
            nullable = False
        elif cursor.accept("NULL"):
            nullable = True
        elif cursor.accept("DEFAULT"):
            default = cursor.until("NOT", "COMMENT", ",", *_CONSTRAINTS)
        elif cursor.accept("COMMENT"):
            comment = cursor.string()
        elif cursor.sees_any(*_CONSTRAINTS):
            raise _no_constraint(cursor)
        else:
            raise cursor.error("NOT NULL, DEFAULT or COMMENT")
    return ColumnDefinition(name, found.type, nullable, default, comment)


def type_text(cursor: Cursor) -> str:
    """A type as text, which ends where its brackets are closed and something else begins."""
    start, depth = cursor.peek().start, 0
    while not cursor.done:
        token = cursor.peek()
        shown = cursor.text[token.start : token.end]
        if depth <= 0 and (token.word in _AFTER_TYPE or token.word in _CONSTRAINTS):
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


# --- DROP ---


def _drop(cursor: Cursor) -> Statement | None:
    kind = cursor.accept_any("TABLE", "VIEW", *_SCHEMA)
    if not kind:
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.dotted(f"the name of a {kind.lower()}")
    if kind in _SCHEMA:
        cascade = cursor.accept_any("CASCADE", "RESTRICT") == "CASCADE"
        cursor.finish()
        return DropSchema(name, if_exists, cascade)
    cursor.accept_any("PURGE", "CASCADE", "RESTRICT")
    cursor.finish()
    return Drop("table" if kind == "TABLE" else "view", name, if_exists)


# --- ALTER ---


def _alter(cursor: Cursor) -> Statement | None:
    kind = cursor.accept_any("TABLE", "VIEW")
    if not kind:
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.dotted(f"the name of a {kind.lower()}")
    change = _alteration(cursor)
    cursor.finish()
    return Alter("table" if kind == "TABLE" else "view", name, if_exists, change)


def _alteration(cursor: Cursor) -> Alteration:
    if cursor.accept("AS"):
        return SetQuery(cursor.query())
    if cursor.accept("ADD"):
        return _add_columns(cursor)
    if cursor.accept("DROP"):
        return _drop_columns(cursor)
    if cursor.accept("RENAME", "TO"):
        return RenameTo(cursor.dotted())
    if cursor.accept("RENAME"):
        cursor.accept("COLUMN")
        path = column_path(cursor.dotted("a column"))
        cursor.expect("TO")
        return RenameColumn(path, cursor.name("the new name"))
    if cursor.accept("ALTER") or cursor.accept("CHANGE"):
        cursor.accept("COLUMN")
        return _change_column(cursor)
    if cursor.accept("SET"):
        return _set(cursor)
    if cursor.accept("RESET"):
        return _reset(cursor)
    if cursor.accept("UNSET", "TBLPROPERTIES"):
        cursor.accept("IF", "EXISTS")
        return SetOptions(dict.fromkeys(key.strip("'\"`") for key in keys(cursor)))
    raise cursor.error("ADD, DROP, RENAME, ALTER, SET or RESET")


def _add_columns(cursor: Cursor) -> AddColumns:
    cursor.accept_any("COLUMN", "COLUMNS")
    if_not_exists = _if_not_exists(cursor)
    in_group = cursor.accept("(")
    columns = []
    while True:
        if cursor.sees_any(*_CONSTRAINTS):
            raise _no_constraint(cursor)
        columns.append(_column(cursor, column_path(cursor.dotted("a column"))))
        if not cursor.accept(","):
            break
    if cursor.accept_any("FIRST", "AFTER"):
        raise UnsupportedFeatureError(
            "DuckLake adds columns at the end only.", hint="Leave out FIRST or AFTER."
        )
    if in_group:
        cursor.expect(")")
    return AddColumns(tuple(columns), if_not_exists)


def _drop_columns(cursor: Cursor) -> DropColumns:
    if cursor.sees_any(*_CONSTRAINTS):
        raise _no_constraint(cursor)
    cursor.accept_any("COLUMN", "COLUMNS")
    if_exists = cursor.accept("IF", "EXISTS")
    in_group = cursor.accept("(")
    paths = [column_path(cursor.dotted("a column"))]
    while cursor.accept(","):
        paths.append(column_path(cursor.dotted("a column")))
    if in_group:
        cursor.expect(")")
    return DropColumns(tuple(paths), if_exists)


def _change_column(cursor: Cursor) -> ChangeColumn:
    path = column_path(cursor.dotted("a column"))
    if cursor.accept("SET", "DATA", "TYPE") or cursor.accept("TYPE"):
        return ChangeColumn(path, "type", type_text(cursor))
    if cursor.accept("SET", "NOT", "NULL"):
        return ChangeColumn(path, "not null")
    if cursor.accept("DROP", "NOT", "NULL"):
        return ChangeColumn(path, "null")
    if cursor.accept("SET", "DEFAULT"):
        return ChangeColumn(path, "default", cursor.rest())
    if cursor.accept("DROP", "DEFAULT"):
        return ChangeColumn(path, "no default")
    if cursor.accept("COMMENT"):
        return ChangeColumn(path, "comment", cursor.string())
    raise cursor.error("TYPE, SET NOT NULL, DROP NOT NULL, SET DEFAULT, DROP DEFAULT or COMMENT")


def _set(cursor: Cursor) -> Alteration:
    if cursor.accept("PARTITIONED", "BY"):
        return SetLayout("partitioning", keys(cursor))
    if cursor.accept("SORTED", "BY"):
        return SetLayout("sort order", keys(cursor))
    if cursor.accept("TBLPROPERTIES"):
        return SetOptions(dict(properties(cursor)))
    raise cursor.error("PARTITIONED BY, SORTED BY or TBLPROPERTIES")


def _reset(cursor: Cursor) -> Alteration:
    if cursor.accept("PARTITIONED", "BY"):
        return SetLayout("partitioning", ())
    if cursor.accept("SORTED", "BY"):
        return SetLayout("sort order", ())
    raise cursor.error("PARTITIONED BY or SORTED BY")


def column_path(parts: Parts) -> str:
    """A column, or a field within one, as the catalog names it."""
    return ".".join(quote(part) for part in parts)


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
