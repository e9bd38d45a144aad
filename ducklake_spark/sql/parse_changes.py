"""INSERT, DELETE, UPDATE, MERGE and TRUNCATE."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ducklake_spark.errors import StatementError, UnsupportedFeatureError
from ducklake_spark.sql.references import take_travel
from ducklake_spark.sql.statements import (
    Delete,
    Insert,
    Merge,
    Parts,
    Statement,
    Truncate,
    Update,
    When,
)
from ducklake_spark.sql.tokens import Cursor, quoted

Assignments = tuple[tuple[Parts, str], ...]


def parse(cursor: Cursor, prefix: str = "") -> Statement | None:
    """The statement that begins here; `prefix` is the WITH before it."""
    match cursor.take().word:
        case "INSERT":
            return _insert(cursor, prefix)
        case "DELETE":
            return replace(_delete(cursor), before=prefix)
        case "UPDATE":
            return replace(_update(cursor), before=prefix)
        case "MERGE":
            return replace(_merge(cursor), before=prefix)
        case _:
            cursor.expect("TABLE")
            name = cursor.dotted("a table")
            cursor.finish()
            return Truncate(name)


def after_with(cursor: Cursor) -> Statement | None:
    """The statement that a WITH belongs to, if it does not belong to a query."""
    start = cursor.take().start
    while not cursor.done:
        if cursor.sees("("):
            cursor.skip_group()
        elif cursor.sees_any("INSERT", "DELETE", "UPDATE", "MERGE") and cursor.peek(-1).word == ")":
            return parse(cursor, cursor.behind_blanks(start, cursor.peek().start))
        elif cursor.sees_any("SELECT", "FROM", "VALUES"):
            return None
        else:
            cursor.take()
    return None


def queries_of(before: str) -> tuple[tuple[str, str], ...]:
    """The names that a WITH defines, each with the query of its rows."""
    cursor, names = Cursor(before), []
    cursor.accept("WITH")
    cursor.accept("RECURSIVE")
    while not cursor.done:
        names.append(cursor.name())
        while not (cursor.done or cursor.accept(",")):
            if cursor.sees("("):
                cursor.skip_group()
            else:
                cursor.take()
    return tuple((name, f"{before} SELECT * FROM {quoted(name)}") for name in names)  # noqa: S608


def arguments(cursor: Cursor) -> tuple[tuple[str | None, str], ...]:
    """(value, name => value) as texts."""
    cursor.expect("(")
    found: list[tuple[str | None, str]] = []
    while not cursor.sees(")"):
        named = cursor.peek().is_name and cursor.peek(1).word in ("=>", ":=")
        name = cursor.take().text.lower() if named else None
        if named:
            cursor.take()
        found.append((name, cursor.until(",")))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(found)


# --- INSERT ---


def _insert(cursor: Cursor, prefix: str) -> Insert | None:
    """None for an export: INSERT OVERWRITE DIRECTORY is Spark's own."""
    overwrite = cursor.accept("OVERWRITE")
    if overwrite and (cursor.sees("DIRECTORY") or cursor.sees("LOCAL", "DIRECTORY")):
        return None
    if not overwrite:
        cursor.expect("INTO")
    if overwrite and cursor.sees("INTO"):
        raise cursor.error("a table")
    cursor.accept("TABLE")
    name = cursor.dotted("a table")
    partition = _partition(cursor) if cursor.accept("PARTITION") else {}
    if cursor.accept("IF", "NOT", "EXISTS"):
        raise UnsupportedFeatureError(
            "INSERT … IF NOT EXISTS is not supported.",
            hint="Look first whether the partition has rows.",
        )
    alias = cursor.name("an alias") if cursor.accept("AS") else None
    replace_where = None
    by_name = cursor.accept("BY", "NAME")
    only_matching = cursor.accept("REPLACE", "ONLY", "WHERE")
    if only_matching or cursor.accept("REPLACE", "WHERE"):
        replace_where = cursor.until("SELECT", "VALUES", "WITH", "TABLE", "FROM", placed=True)
        overwrite = True
    elif alias is not None:
        raise cursor.error("REPLACE WHERE")
    columns: tuple[str, ...] = ()
    if cursor.sees("(") and cursor.peek(1).is_name and cursor.peek(2).word in (",", ")"):
        columns = _names(cursor)
    if cursor.done:
        raise cursor.error("a query or VALUES")
    text = cursor.query()
    query = prefix + text[len(prefix) :] if prefix else text
    return Insert(
        name, query, overwrite, columns, by_name, partition, replace_where, alias, only_matching
    )


def _names(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    names = [cursor.name("a column")]
    while cursor.accept(","):
        names.append(cursor.name("a column"))
    cursor.expect(")")
    return tuple(names)


def _partition(cursor: Cursor) -> dict[str, str | None]:
    cursor.expect("(")
    found: dict[str, str | None] = {}
    while True:
        name = cursor.name("a column")
        found[name] = cursor.until(",") if cursor.accept("=") else None
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return found


# --- DELETE and UPDATE ---


def _alias(cursor: Cursor, *before: str) -> str | None:
    if cursor.accept("AS"):
        return cursor.name("an alias")
    if cursor.peek().is_name and cursor.peek().word not in before:
        return cursor.take().text
    return None


def _delete(cursor: Cursor) -> Delete:
    cursor.expect("FROM")
    name = cursor.dotted("a table")
    alias = _alias(cursor, "WHERE", "USING")
    if cursor.sees("USING"):
        raise UnsupportedFeatureError(
            "DELETE … USING is not supported.",
            hint="Write WHERE EXISTS (SELECT … ) or MERGE … WHEN MATCHED THEN DELETE.",
        )
    return Delete(name, alias, _where(cursor))


def _where(cursor: Cursor) -> str | None:
    if cursor.done:
        return None
    cursor.expect("WHERE")
    if cursor.done:
        raise cursor.error("a condition")
    return cursor.query()


def _update(cursor: Cursor) -> Update:
    name = cursor.dotted("a table")
    alias = _alias(cursor, "SET")
    cursor.expect("SET")
    assignments = _assignments(cursor, "WHERE", "FROM")
    if cursor.sees("FROM"):
        raise UnsupportedFeatureError(
            "UPDATE … FROM is not supported.", hint="Write MERGE … WHEN MATCHED THEN UPDATE."
        )
    return Update(name, alias, assignments, _where(cursor))


def _assignments(cursor: Cursor, *ends: str) -> Assignments:
    found: list[tuple[Parts, str]] = []
    while True:
        path = cursor.dotted("a column")
        if not cursor.accept("=") and not cursor.accept("=="):
            raise cursor.error("=")
        found.append((path, cursor.until(",", *ends, placed=True)))
        if not cursor.accept(","):
            return tuple(found)


# --- MERGE ---


def _merge(cursor: Cursor) -> Merge:
    if cursor.accept("WITH", "SCHEMA", "EVOLUTION"):
        raise UnsupportedFeatureError(
            "MERGE WITH SCHEMA EVOLUTION is not supported.",
            hint="Add the columns with ALTER TABLE first; in dbt, set on_schema_change.",
        )
    cursor.expect("INTO")
    name = cursor.dotted("a table")
    alias = _alias(cursor, "USING")
    cursor.expect("USING")
    source, source_alias = _source(cursor)
    cursor.expect("ON")
    on = cursor.until("WHEN", placed=True)
    clauses = []
    while cursor.accept("WHEN"):
        clauses.append(_when(cursor))
    cursor.finish()
    if not clauses:
        raise cursor.error("WHEN")
    return Merge(name, alias, source, source_alias, on, tuple(clauses))


def _source(cursor: Cursor) -> tuple[str, str | None]:
    """The source as a query, and the name its columns go by."""
    if cursor.sees("("):
        start = cursor.peek().end
        cursor.skip_group()
        return cursor.placed(start, cursor.peek(-1).start), _alias(cursor, "ON")
    start = cursor.peek().start
    parts = cursor.dotted("a table, or a query in parentheses")
    if cursor.sees("("):
        cursor.skip_group()
    take_travel(cursor)
    text = cursor.text[start : cursor.peek(-1).end]
    alias = _alias(cursor, "ON") or parts[-1]
    return f"SELECT * FROM {text} AS {quoted(parts[-1])}", alias  # noqa: S608 - the user's own


def _when(cursor: Cursor) -> When:
    matched = not cursor.accept("NOT")
    cursor.expect("MATCHED")
    when: Literal["matched", "not matched", "not matched by source"] = (
        "matched" if matched else "not matched"
    )
    if not matched and cursor.accept("BY", "SOURCE"):
        when = "not matched by source"
    else:
        cursor.accept("BY", "TARGET")
    condition = cursor.until("THEN", placed=True) if cursor.accept("AND") else None
    cursor.expect("THEN")
    if cursor.accept("DO", "NOTHING"):
        return When(when, condition, "do nothing")
    if cursor.accept("ERROR"):
        said = not cursor.done and not cursor.sees("WHEN")
        return When(when, condition, "error", message=cursor.string() if said else None)
    if cursor.accept("DELETE"):
        return When(when, condition, "delete")
    if cursor.accept("UPDATE"):
        if not cursor.accept("SET"):
            return When(when, condition, "update", None)  # DuckDB's short form
        star = cursor.accept("*")
        return When(when, condition, "update", None if star else _assignments(cursor, "WHEN"))
    cursor.expect("INSERT")
    return When(when, condition, "insert", _inserted(cursor))


def _inserted(cursor: Cursor) -> Assignments | None:
    if cursor.accept("*") or cursor.done or cursor.sees("WHEN"):
        return None
    names: list[Parts] = []
    if cursor.accept("("):
        names.append(cursor.dotted("a column")[-1:])
        while cursor.accept(","):
            names.append(cursor.dotted("a column")[-1:])
        cursor.expect(")")
    cursor.expect("VALUES")
    cursor.expect("(")
    values = [cursor.until(",", placed=True)]
    while cursor.accept(","):
        values.append(cursor.until(",", placed=True))
    cursor.expect(")")
    if names and len(names) != len(values):
        raise StatementError(f"INSERT names {len(names)} columns and gives {len(values)} values.")
    if not names:
        raise StatementError(
            "INSERT in a MERGE must name its columns: INSERT (a, b) VALUES (…), or INSERT *."
        )
    return tuple(zip(names, values, strict=True))
