"""Finds where a query names relations, whatever else the query may hold.

By tokens and not by a syntax tree: a query that only Spark can parse must still run. Names of
common table expressions shadow relations exactly where Spark says they do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ducklake_spark.errors import StatementError
from ducklake_spark.spec.names import fold
from ducklake_spark.sql.tokens import Cursor, Kind, Token

# Functions whose arguments hold a FROM that names no relation: extract(year FROM d).
_FROM_INSIDE = {"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY", "POSITION"}
_QUERY_STARTS = {"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"}
# After these, a comma is not followed by a relation. Most of Spark's keywords are names as well:
# `FROM t window, u` has an alias `window`. The next word tells which it is.
_SORTS = {"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"}  # with BY
_COMBINES = {"UNION", "INTERSECT", "EXCEPT", "MINUS"}
_AFTER_COMBINES = _QUERY_STARTS | {"(", "ALL", "DISTINCT"}
# What may follow a relation without being its alias.
_NO_ALIAS = _SORTS | _COMBINES | {
    "WHERE", "HAVING", "LIMIT", "OFFSET", "WINDOW", "QUALIFY", "SELECT", "|>", "SET", "WHEN",
    "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "ON", "USING",
    "LATERAL", "PIVOT", "UNPIVOT", "TABLESAMPLE", "VALUES", "INSERT", "MATCH_RECOGNIZE",
    "WATERMARK", "WITH",
}  # fmt: skip
# What may follow the alias of a relation.
_AFTER_ALIAS = _NO_ALIAS | {"AS", "ASOF", "FOR", "MAP", "OUTER", "REDUCE", "TIMESTAMP", "VERSION"}
# After these, IS is the name of a column and not an operator.
_BEFORE_OPERANDS = {
    "", "SELECT", "DISTINCT", "ALL", "WHERE", "HAVING", "QUALIFY", "ON", "AND", "OR", "NOT", "WHEN",
    "THEN", "ELSE", "CASE", "BY", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "ESCAPE", "LIMIT",
    "OFFSET", "AS", "DIV", "EXTEND", "AGGREGATE", "SET", "VALUES",
}  # fmt: skip
_UNITS = {
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND",
    "MICROSECOND",
}  # fmt: skip
_TIME_TRAVEL = {"VERSION": "version", "SYSTEM_VERSION": "version"} | {
    "TIMESTAMP": "timestamp",
    "SYSTEM_TIME": "timestamp",
}


@dataclass(frozen=True, slots=True)
class Travel:
    """VERSION AS OF or TIMESTAMP AS OF, with the expression as written."""

    by: str
    expression: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A relation that a query names: `start` to `end` is what takes its place.

    `last` is where its last part begins and `last_end` where it ends, `alias_at` where an alias
    would go. `arguments` is the text within the parentheses of a table function. `bare`: it stands
    where no alias may be.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    last: int
    last_end: int
    alias_at: int
    travel: Travel | None = None
    has_alias: bool = False
    bare: bool = False
    arguments: str | None = None


@dataclass(slots=True)
class Named:
    """What a statement names: relations in the order of the text, and what else columns can be
    qualified by, in lower case: aliases, and common table expressions that have none."""

    references: list[Reference] = field(default_factory=list)
    aliases: set[str] = field(default_factory=set)
    alias_starts: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Level:
    """What is between one pair of parentheses."""

    shadowed: frozenset[str]
    expects: bool = False
    in_from: bool = False
    bare: bool = False
    plain_from: bool = False
    in_rows: bool = False  # of VALUES


def find_references(cursor: Cursor, *, strict: bool = False) -> Named:
    """Find the relations that the rest of the statement names.

    `FROM t SELECT (a), b` can be read in two ways: `SELECT` may be an alias of t, and b a relation.
    `strict` takes b for a relation, so that none is missed.
    """
    finder = _Finder(cursor, strict)
    try:
        finder.level(_Level(frozenset()))
    except RecursionError as error:
        raise StatementError("The statement is nested too deeply to be read.") from error
    finder.found.references.sort(key=lambda reference: reference.start)
    return finder.found


class _Finder:
    def __init__(self, cursor: Cursor, strict: bool) -> None:
        self.cursor = cursor
        self.strict = strict
        self.found = Named()

    def level(self, level: _Level) -> None:
        """Everything up to the parenthesis that closes this level."""
        if self._is_with():
            level.shadowed = self._with(level.shadowed)
        while not self.cursor.done:
            if self.cursor.sees(")"):
                self.cursor.take()
                return
            self._step(level)

    def _step(self, level: _Level) -> None:
        cursor = self.cursor
        token = cursor.peek()
        word = token.word
        if word == "(":
            self._open(level)
        elif level.expects and (word == "LATERAL" or token.kind is Kind.STRING):
            cursor.take()
        elif level.expects and token.is_name and word not in {"SELECT", "VALUES", "WITH"}:
            if not cursor.accept("TABLE"):
                self._relation(level)
        else:
            self._keyword(level, word)

    def _open(self, level: _Level) -> None:
        caller = self.cursor.peek(-1).word if self.cursor.at else ""
        self.cursor.take()
        starts_query = self.cursor.peek().word in _QUERY_STARTS
        inner = _Level(level.shadowed)
        inner.plain_from = caller in _FROM_INSIDE and not starts_query
        if level.expects and not starts_query:
            inner.expects = inner.in_from = True
            inner.bare = level.bare
        if self.cursor.sees("TABLE"):
            inner.expects = inner.bare = False
        elif caller == "TABLE" and not starts_query:  # f(TABLE(t))
            inner.expects = inner.bare = True
        in_from, level.expects = level.expects, False
        self.level(inner)
        if in_from:
            self._alias()

    def _alias(self) -> bool:
        """Whether an alias comes next; it is not taken."""
        cursor = self.cursor
        named = cursor.peek(1) if cursor.sees("AS") else cursor.peek()
        if not (cursor.sees("AS") or _may_be_alias(named)):
            return False
        self.found.aliases.add(fold(named.text))
        self.found.alias_starts.add(named.start)
        return True

    def _keyword(self, level: _Level, word: str) -> None:
        cursor = self.cursor
        before = cursor.peek(-1).word
        is_part = cursor.take().kind is Kind.WORD and (before == "." or cursor.sees("."))
        is_row = level.in_rows and word == "," and cursor.sees("(")
        # Elsewhere `values` may be an alias, and a relation may follow the comma.
        begins = word == "VALUES" and (level.expects or before in ("", "(")) and cursor.sees("(")
        level.in_rows = is_row or begins
        level.expects = False
        if is_part or is_row:
            return
        if word == "FROM":
            if not level.plain_from and not self._is_operator():
                level.expects = level.in_from = True
                level.bare = False
        elif word == "JOIN" or (word == "," and level.in_from):
            level.expects = level.in_from = True
        elif word == "TABLE" and before in ("", "(", ")", ",", "AS", "UNION", "ALL", "EXCEPT",
                                            "INTERSECT", "MINUS", "DISTINCT", "=>"):  # fmt: skip
            level.expects = level.bare = cursor.peek().is_name
        elif self._ends_from(word):
            level.in_from = False

    def _is_operator(self) -> bool:
        """Whether the FROM that was taken is the last word of IS [NOT] DISTINCT FROM."""
        back = 3 if self.cursor.peek(-3).word == "NOT" else 2
        words = [self.cursor.peek(-at).word for at in (2, back + 1)]
        operand = self.cursor.peek(-back - 2)
        ends = operand.kind not in (Kind.WORD, Kind.SYMBOL, Kind.END) or operand.word in (")", "]")
        ends |= operand.kind is Kind.WORD and operand.word not in _BEFORE_OPERANDS
        return words == ["DISTINCT", "IS"] and ends

    def _ends_from(self, word: str) -> bool:
        """Whether the word that was taken begins a clause that no relation follows."""
        cursor = self.cursor
        if word in _SORTS:
            return cursor.sees("BY")
        if word in _COMBINES:
            return cursor.sees_any(*_AFTER_COMBINES)
        if word == "WINDOW":
            return cursor.peek().is_name and cursor.peek(1).word == "AS"
        if word == "SELECT":
            return not self.strict or self._is_value(cursor.peek())
        return word == "|>" or (word == "LATERAL" and cursor.sees("VIEW"))

    def _is_value(self, token: Token) -> bool:
        """Return whether `FROM t SELECT` continues with a value: SELECT is then not an alias."""
        if token.kind is Kind.WORD:
            return token.word not in _AFTER_ALIAS
        return token.kind in (Kind.QUOTED, Kind.STRING, Kind.NUMBER) or token.word in ("*", "-")

    # --- common table expressions ---

    def _is_with(self) -> bool:
        cursor = self.cursor
        if not cursor.sees("WITH"):
            return False
        name = 2 if cursor.peek(1).word == "RECURSIVE" else 1
        return cursor.peek(name).is_name and cursor.peek(name + 1).word in ("AS", "(", "MAX")

    def _with(self, shadowed: frozenset[str]) -> frozenset[str]:
        cursor = self.cursor
        cursor.take()
        recursive = cursor.accept("RECURSIVE")
        while cursor.peek().is_name:
            self.found.alias_starts.add(cursor.peek().start)
            name = fold(cursor.take().text)
            if self._is_column_list():
                cursor.skip_group()
            if cursor.accept("MAX", "RECURSION", "LEVEL"):
                cursor.take()
            cursor.accept("AS")
            if not cursor.accept("("):
                break
            # A name is known after its definition, and within it only if that is recursive.
            inside = shadowed | {name} if recursive else shadowed
            self.level(_Level(inside))
            shadowed = shadowed | {name}
            if not cursor.accept(","):
                break
        return shadowed

    def _is_column_list(self) -> bool:
        """Whether the parentheses that come next hold names and commas; a query can come, too."""
        at = 1
        while self.cursor.sees("(") and self.cursor.peek(at).is_name:
            if self.cursor.peek(at + 1).word == ")":
                return True
            if self.cursor.peek(at + 1).word != ",":
                break
            at += 2
        return False

    # --- one relation ---

    def _relation(self, level: _Level) -> None:
        cursor = self.cursor
        level.expects = False
        start = cursor.peek().start
        parts = cursor.spelled()
        if parts is None:  # IDENTIFIER of anything else is Spark's, like a table function
            is_clause = cursor.sees("IDENTIFIER", "(")
            parts = (cursor.take().text,) if is_clause else cursor.dotted()
        last, name_end = cursor.peek(-1).start, cursor.peek(-1).end
        arguments = None
        if cursor.sees("(") and not (level.bare and len(parts) == 1):
            at = cursor.at
            arguments = cursor.group()
            # The arguments may hold relations too, but one that is replaced takes them along.
            cursor.at = at + 1
            self.level(_Level(level.shadowed))
        travel = take_travel(cursor) if arguments is None else None
        end = cursor.peek(-1).end if travel or arguments is not None else name_end
        if cursor.accept("TABLESAMPLE"):
            cursor.skip_group()
            if cursor.accept("REPEATABLE"):
                cursor.skip_group()
        alias_at = cursor.peek(-1).end
        has_alias = self._alias()
        if len(parts) == 1 and fold(parts[0]) in level.shadowed:
            if not has_alias:
                self.found.aliases.add(fold(parts[0]))
            return
        self.found.references.append(
            Reference(
                parts,
                start,
                end,
                last,
                name_end,
                alias_at,
                travel,
                has_alias,
                level.bare,
                arguments,
            )
        )


def take_travel(cursor: Cursor) -> Travel | None:
    """Take the VERSION or TIMESTAMP AS OF that comes next, if one does."""
    at = cursor.at
    cursor.accept("FOR")
    by = _TIME_TRAVEL.get(cursor.take().word)
    if by is None or not cursor.accept("AS", "OF"):
        cursor.at = at
        return None
    start = cursor.peek().start
    _operand(cursor)
    while cursor.accept_any("+", "-"):
        _operand(cursor)
    return Travel(by, cursor.text[start : cursor.peek(-1).end])


def _operand(cursor: Cursor) -> None:
    if cursor.accept("INTERVAL"):
        _interval(cursor)
        return
    if cursor.sees("("):
        cursor.skip_group()
        return
    typed = cursor.sees_any("TIMESTAMP", "DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
    cursor.take()
    if typed and cursor.peek().kind is Kind.STRING:
        cursor.take()
    if cursor.sees("("):
        cursor.skip_group()
    while cursor.accept("::"):
        cursor.take()


def _interval(cursor: Cursor) -> None:
    """Take '1 day', 1 DAY, 2 DAYS 3 HOURS or '1-2' YEAR TO MONTH."""
    while True:
        cursor.accept_any("-", "+")
        cursor.take()
        while cursor.sees("TO") or cursor.peek().word.removesuffix("S") in _UNITS:
            cursor.take()
        if cursor.peek().kind not in (Kind.NUMBER, Kind.STRING):
            return


def _may_be_alias(token: Token) -> bool:
    return token.is_name and token.word not in _NO_ALIAS
