"""Text to intent: which of the lake's statements a text is, or that it is Spark's."""

from __future__ import annotations

from ducklake_spark.errors import StatementError, UnsupportedFeatureError
from ducklake_spark.sql import parse_changes, parse_columns, parse_definitions, parse_functions
from ducklake_spark.sql.statements import (
    Begin,
    Call,
    Commit,
    CreateTable,
    CreateTemporaryView,
    CreateView,
    Delete,
    Describe,
    DescribeSchema,
    Explain,
    Insert,
    Query,
    Rollback,
    Show,
    SparkCommand,
    Statement,
    Update,
    Use,
)
from ducklake_spark.sql.tokens import Cursor, quoted

_QUERY = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "MAP", "REDUCE")
_CHANGES = ("INSERT", "DELETE", "UPDATE", "MERGE", "TRUNCATE")
_SHOWN = (
    "CATALOGS", "SCHEMAS", "DATABASES", "TABLES", "VIEWS", "COLUMNS", "TBLPROPERTIES", "PARTITIONS",
)  # fmt: skip


def parse(text: str) -> Statement:
    """What a statement asks for."""
    cursor = Cursor(text)
    if cursor.done:
        raise StatementError("There is no statement.")
    word = cursor.peek().word
    if word == "WITH":
        return parse_changes.after_with(cursor) or _query(cursor)
    if word in _QUERY:
        return _query(cursor)
    if word in _CHANGES:
        return parse_changes.parse(cursor) or _export(cursor)
    if word in ("CREATE", "DROP", "ALTER", "COMMENT"):
        found = parse_functions.parse(cursor) or parse_definitions.parse(Cursor(text))
        return found or _sparks(cursor)
    parse_it = _PARSERS.get(word)
    return (parse_it(cursor) if parse_it else None) or _sparks(cursor)


def _query(cursor: Cursor) -> Query:
    """A query; FROM … INSERT … INSERT … is none, and Spark cannot write to a lake by itself."""
    cursor.at = 0
    while not cursor.done:
        if cursor.sees("("):
            cursor.skip_group()
        elif cursor.take().word == "INSERT" and cursor.sees_any("INTO", "OVERWRITE"):
            raise UnsupportedFeatureError(
                "An INSERT with FROM before it is not supported.",
                hint="Write INSERT INTO … SELECT … FROM …, one statement for each table, between "
                "BEGIN and COMMIT if they belong together.",
            )
    cursor.at = 0
    return Query(cursor.query())


def _sparks(cursor: Cursor) -> SparkCommand:
    """A command of Spark's, with the queries it may hold: AS SELECT …, and = (SELECT …)."""
    cursor.at = 0
    query_at = None
    while not cursor.done and query_at is None:
        token, following = cursor.take(), cursor.peek()
        if token.word == "AS" and following.word in _QUERY:
            query_at = following.start
        elif token.word == "(" and following.word in ("SELECT", "WITH"):
            query_at = token.start
    return SparkCommand(cursor.text[: cursor.end], query_at)


def _export(cursor: Cursor) -> SparkCommand:
    """INSERT OVERWRITE DIRECTORY … SELECT …, which writes files beside all lakes."""
    cursor.at = 0
    cursor.until("SELECT", "WITH", "FROM", "VALUES", "TABLE")
    return SparkCommand(cursor.text[: cursor.end], cursor.peek().start)


def _explain(cursor: Cursor) -> Statement | None:
    cursor.take()
    mode = cursor.accept_any("EXTENDED", "FORMATTED", "CODEGEN", "COST", "LOGICAL")
    query = _explained(cursor)
    return None if query is None else Explain(mode.lower() or "simple", query)


def _explained(cursor: Cursor) -> str | None:
    """The query to explain: of a statement that changes something the one that finds its rows."""
    at, word = cursor.at, cursor.peek().word
    if word == "CREATE":
        created = parse_definitions.parse(cursor)
        return None if created is None else _finding(created)
    if word in _CHANGES:
        change = parse_changes.parse(cursor)
        return None if change is None else _finding(change)
    if word == "WITH" and (change := parse_changes.after_with(cursor)) is not None:
        return _finding(change)
    cursor.at = at
    return cursor.query() if word in _QUERY else None


def _finding(statement: Statement) -> str:
    match statement:
        case (
            Insert(query=str(query)) | CreateTable(query=str(query)) | CreateView(query=str(query))
        ):
            return query
        case Delete(name, alias, condition) | Update(name, alias, _, condition):
            known = f" AS {quoted(alias)}" if alias else ""
            where = f" WHERE {condition.strip()}" if condition else ""
            query = f"SELECT * FROM {'.'.join(map(quoted, name))}{known}{where}"  # noqa: S608
            return f"{statement.before} {query}" if statement.before else query
        case _:
            raise UnsupportedFeatureError(
                f"EXPLAIN does not tell of {type(statement).__name__.upper()}.",
                hint="It tells of queries, INSERT, UPDATE and DELETE, and CREATE … AS.",
            )


def _begin(cursor: Cursor) -> Statement | None:
    is_start = cursor.take().word == "START"
    has_word = bool(cursor.accept_any("TRANSACTION", "WORK"))
    if cursor.done and (has_word or not is_start):
        return Begin()
    return None  # a script of Spark's


def _end(cursor: Cursor) -> Statement | None:
    is_commit = cursor.take().word == "COMMIT"
    cursor.accept_any("TRANSACTION", "WORK")
    message = cursor.string() if is_commit and cursor.accept("MESSAGE") else None
    cursor.finish()
    return Commit(message) if is_commit else Rollback()


def _use(cursor: Cursor) -> Statement | None:
    cursor.take()
    if cursor.sees("CATALOG"):
        return None
    if cursor.sees_any("SCHEMA", "DATABASE", "NAMESPACE") and cursor.peek(1).is_name:
        cursor.take()
    name = cursor.dotted("the name of a schema", most=2)
    cursor.finish()
    return Use(name)


def _show(cursor: Cursor) -> Statement | None:
    cursor.take()
    if cursor.accept("CREATE", "TABLE") or cursor.accept("CREATE", "VIEW"):
        return _show_create(cursor)
    is_extended = cursor.accept("TABLE", "EXTENDED")
    what = "TABLES" if is_extended else cursor.accept_any(*_SHOWN)
    if not what:
        return None
    name: tuple[str, ...] = ()
    pattern = None
    if what in ("TBLPROPERTIES", "PARTITIONS"):
        name = cursor.dotted("a table")
        if cursor.sees("("):
            properties = parse_columns.keys(cursor)
            pattern = properties[0].strip("'\"`") if properties else None
    if cursor.accept_any("IN", "FROM"):
        name = cursor.dotted()
    if what == "COLUMNS" and cursor.accept_any("IN", "FROM"):  # SHOW COLUMNS IN t IN s
        name = (*cursor.dotted("the name of a schema", most=2), *name)
    if cursor.accept("LIKE") or not cursor.done:
        pattern = cursor.string("a pattern")
    if is_extended and cursor.sees("PARTITION"):
        return None
    cursor.finish()
    return Show("schemas" if what == "DATABASES" else what.lower(), name, pattern, is_extended)


def _show_create(cursor: Cursor) -> Statement | None:
    name = cursor.dotted("a table")
    if cursor.sees("AS", "SERDE"):
        return None
    cursor.finish()
    return Show("create table", name)


def _describe(cursor: Cursor) -> Statement | None:
    cursor.take()
    if cursor.sees_any("FUNCTION", "CATALOG", "PROCEDURE"):
        return None
    if cursor.sees_any("SCHEMA", "DATABASE", "NAMESPACE") and cursor.peek(1).is_name:
        return _describe_schema(cursor)
    is_query = cursor.accept("QUERY")
    if is_query or (cursor.sees_any(*_QUERY) and not cursor.accept("TABLE")):
        return Describe(query=cursor.query())
    extended = bool(cursor.accept_any("EXTENDED", "FORMATTED"))
    if cursor.sees_any("HISTORY", "DETAIL") and cursor.peek(1).is_name:
        raise UnsupportedFeatureError(
            f"DESCRIBE {cursor.peek().word} is not supported.",
            hint="lake.snapshots() has the history; DESCRIBE EXTENDED and lake.table_info() tell "
            "of a table.",
        )
    name = cursor.dotted("a table or view")
    if cursor.sees("AS", "JSON"):
        return None
    column = None if cursor.done else cursor.name("a column")
    return Describe(name, extended, column=column) if cursor.done else None


def _describe_schema(cursor: Cursor) -> Statement:
    cursor.take()
    if cursor.peek(1).is_name:
        cursor.accept("EXTENDED")
    name = cursor.dotted("a schema")
    cursor.finish()
    return DescribeSchema(name)


def _call(cursor: Cursor) -> Statement | None:
    cursor.take()
    name = cursor.dotted("the name of a procedure", most=2)
    arguments = parse_changes.arguments(cursor)
    cursor.finish()
    return Call(name, arguments)


def _cache(cursor: Cursor) -> Statement | None:
    """CACHE TABLE x AS query makes a view that is read later on."""
    cursor.take()
    is_sparks = cursor.accept("LAZY")
    if not cursor.accept("TABLE"):
        return None
    name = cursor.name()
    if cursor.accept("OPTIONS"):
        cursor.skip_group()
        is_sparks = True
    cursor.accept("AS")
    if cursor.peek().word not in _QUERY:
        return None
    if is_sparks:
        return SparkCommand(cursor.text[: cursor.end], cursor.peek().start)
    query = cursor.query()
    return CreateTemporaryView(name, query, replace=True, cached=True)


_PARSERS = {
    "EXPLAIN": _explain,
    "BEGIN": _begin,
    "START": _begin,
    "COMMIT": _end,
    "ROLLBACK": _end,
    "USE": _use,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "CALL": _call,
    "CACHE": _cache,
}
