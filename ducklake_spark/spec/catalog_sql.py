"""Checks SQL that a catalog stores before Spark runs it.

Everyone with write access to the catalog chooses the text of views, functions, column defaults
and sort keys. Spark runs that text with the rights of the person who reads the lake, so the text
may only compute: it may call the functions on a list, but not name a file or start a program.

The tokens are those of Spark's own grammar (SqlBaseLexer.g4). Text that Spark would read in two
ways, depending on its settings, is rejected or rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ducklake_spark.errors import UntrustedSqlError
from ducklake_spark.spec.spark_functions import ALLOWED_FUNCTIONS

_TOKEN = re.compile(
    r"""
      (?P<comment>--(?:\\\n|[^\r\n])*\r?\n?)
    | (?P<bracketed>/\*(?!\+))
    | (?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.)*')
    | (?P<double>"(?:[^"\\]|\\.)*")
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<space>[ \t\n\f\r\v\xa0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+)
    | (?P<word>\w+)
    | (?P<symbol>/\*\+|\*/|::|->|=>|\|>|[-+*/%=<>!~&|^.,:()\[\]?])
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKETED = re.compile(r"/\*(?!\+)|\*/")
# Words that a parenthesis may follow without being called.
_NOT_CALLED = frozenset(
    """
    ALL AND ANY AS BETWEEN BOTH BY CASE CUBE DISTINCT ELSE ESCAPE EXCEPT EXCLUDE EXISTS EXTEND
    FILTER FOR FROM GROUP GROUPING HAVING ILIKE IN INTERSECT IS JOIN LATERAL LEADING LIKE LIMIT
    MINUS NOT NULLS OFFSET ON OR ORDER OVER PARTITION PIVOT PLACING QUALIFY REPEATABLE REPLACE
    RETURN RLIKE ROLLUP SELECT SETS SOME TABLE TABLESAMPLE THEN TRAILING UNION UNPIVOT USING
    VALUES WHEN WHERE WINDOW WITH WITHIN
    """.split()
)
_HINTS = frozenset(
    """
    broadcast broadcastjoin coalesce mapjoin merge mergejoin rebalance repartition
    repartition_by_range shuffle_hash shuffle_merge shuffle_replicate_nl
    """.split()
)
_QUERY_STARTS = ("SELECT", "FROM", "WITH", "VALUES", "TABLE")
# A relation of two parts can be the format and the path of a file: text.`/etc/passwd`.
_IN_PATHS = re.compile(r"[/\\:.*]")
_FORMATS = frozenset(
    """
    avro binaryfile csv delta hudi iceberg image jdbc json kafka libsvm orc parquet text xml
    """.split()
)
_HINT = (
    "SQL stored in a catalog may use Spark's built-in functions that only compute, functions of "
    "lakes, and tables and views of lakes. Write everything else into the query that reads it."
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token of Spark's SQL with its place; comments and blanks are not tokens."""

    kind: str
    raw: str
    start: int
    end: int
    in_hint: bool = False

    @property
    def word(self) -> str:
        """The token as a keyword or symbol. Spark's keywords are ASCII."""
        is_plain = self.kind == "symbol" or (self.kind == "word" and self.raw.isascii())
        return self.raw.upper() if is_plain else ""

    @property
    def is_name(self) -> bool:
        """Return whether Spark may read the token as an identifier."""
        return self.kind in ("word", "quoted", "double")

    @property
    def is_disguised(self) -> bool:
        """Return whether Spark sees an ASCII letter in another one: it reads U+017F as S."""
        return self.kind == "word" and any(
            not c.isascii() and len(c.upper()) == 1 and c.upper().isascii() for c in self.raw
        )

    @property
    def name(self) -> str:
        if self.kind == "word":
            return self.raw
        quote = self.raw[0]
        return self.raw[1:-1].replace(quote * 2, quote)


@dataclass(frozen=True, slots=True)
class Call:
    """A function that is called: the parts of its name, and where the name begins."""

    parts: tuple[str, ...]
    start: int
    in_hint: bool


def canonical(text: str, origin: str) -> str:
    """Return the text as every Spark reads it, whatever its settings.

    Comments become blanks. `${…}` in a string is split in two strings, because Spark
    replaces `${env:HOME}` wherever it stands in a statement. `origin` says whose text it is.
    """
    parts, at, before = [], 0, ("", 0)
    for token in _tokens(text, origin):
        if before == ("X", token.start) and token.kind == "string":
            _check_bytes(token, origin)
        before = (token.word, token.end)
        parts.append(re.sub(r"[^\n]", " ", text[at : token.start]))
        parts.append(_without_variables(token, origin))
        at = token.end
    parts.append(re.sub(r"[^\n]", " ", text[at:]))
    return "".join(parts)


def _check_bytes(token: Token, origin: str) -> None:
    if not re.fullmatch(r"'[0-9A-Fa-f]*'", token.raw):
        raise _untrusted(origin, f"contains X{token.raw}, which is not a binary literal")


def check_expression(text: str, origin: str) -> str:
    """Return the canonical text of an expression, or raise if it does more than compute."""
    found = canonical(text, origin)
    check_calls(found, origin)
    tokens = list(_tokens(found, origin))
    for at, token in enumerate(tokens):
        if token.word in _QUERY_STARTS and (at == 0 or tokens[at - 1].word == "("):
            raise _untrusted(origin, "contains a query")
        if token.word in ("SELECT", "JOIN") and tokens[at - 1].word != ".":
            raise _untrusted(origin, "contains a query")
    return found


def check_calls(text: str, origin: str, is_known: Callable[[Call], bool] = lambda _: False) -> None:
    """Raise unless every function that the canonical text calls is on the list or is known."""
    check_structure(text, origin)
    for call in _calls(list(_tokens(text, origin))):
        name = call.parts[-1].lower()
        if call.in_hint and len(call.parts) == 1 and name in _HINTS:
            continue
        if len(call.parts) == 1 and name in ALLOWED_FUNCTIONS:
            continue
        if is_known(call):
            continue
        what, verb = ("hint", "use") if call.in_hint else ("function", "call")
        raise UntrustedSqlError(
            f"{origin} {verb}s the {what} {'.'.join(call.parts)}, which is not one of the "
            f"{what}s that SQL stored in a catalog may {verb}.",
            hint=_HINT,
        )


def check_structure(text: str, origin: str) -> None:
    """Raise if parentheses do not match, or if the text names a program, a URL or a variable."""
    tokens = list(_tokens(text, origin))
    depth = 0
    for at, token in enumerate(tokens):
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        is_keyword = not at or tokens[at - 1].word != "."
        depth += (token.word == "(") - (token.word == ")")
        if depth < 0:
            raise _untrusted(origin, "closes a parenthesis that it does not open")
        if token.word == "USING" and is_keyword and (after is None or after.word != "("):
            raise _untrusted(origin, "starts a program or loads a file with USING")
        if token.word == ":" and after is not None and after.word == "/":
            raise _untrusted(origin, "names a URL")
        if token.kind == "double" and (not is_keyword or (after is not None and after.word == ".")):
            raise _untrusted(origin, f"contains {token.raw}, which is a name in some sessions")
        if token.is_disguised:
            raise _untrusted(origin, f"contains {token.raw!r}, which can pass for a keyword")
        names = [t.name.lower() if t.is_name else "" for t in tokens[at : at + 3 : 2]]
        is_path = after is not None and after.word == "."
        if names == ["system", "session"] and is_path:
            raise _untrusted(origin, "reads a variable of the session")
    if depth:
        raise _untrusted(origin, "does not close a parenthesis")


def check_paths(
    text: str,
    origin: str,
    names: Callable[[], Iterable[str]],
    handled: Callable[[int], bool],
) -> None:
    """Raise if a name of two parts that was not recognized as a relation could be a path.

    `names` lists what can stand before a column or a field: relations, columns and aliases.
    `handled` returns whether the name that begins at an offset was recognized.
    """
    known: set[str] | None = None
    tokens = list(_tokens(text, origin))
    for at, token in enumerate(tokens):
        first, follows = _is_first_of_two(tokens, at), at + 3 < len(tokens)
        if not first or handled(token.start) or (follows and tokens[at + 3].word in ("(", ".")):
            continue
        source, path = token.name.lower(), tokens[at + 2].name
        if not _IN_PATHS.search(path):
            continue
        if known is None:
            known = {name.lower() for name in (*names(), *_declared(tokens))}
        if source in _FORMATS or "." in source or source not in known:
            raise _untrusted(origin, f"names {source}.{path}, which could be a file")


def _declared(tokens: Sequence[Token]) -> Iterator[str]:
    """List the names after AS and those of the variables of lambdas."""
    for at, token in enumerate(tokens):
        if token.word == "AS":
            yield from _names_from(tokens, at + 1, 1)
        elif token.word == "->":
            yield from _names_from(tokens, at - 1, -1)


def _names_from(tokens: Sequence[Token], at: int, step: int) -> Iterator[str]:
    """List names with commas and parentheses between them: `e AS a, b` or `(x, i) ->`."""
    while 0 <= at < len(tokens) and (tokens[at].is_name or tokens[at].word in ("(", ")", ",")):
        if tokens[at].is_name:
            yield tokens[at].name
            if not 0 <= at + step < len(tokens) or tokens[at + step].is_name:
                return
        at += step


def string_places(text: str, origin: str) -> list[tuple[int, int]]:
    """List where strings and quoted names are; strings that touch are one. X'00' is left out."""
    places: list[tuple[int, int]] = []
    before = ("", 0)
    for token in _tokens(text, origin):
        is_bytes = before == ("X", token.start)
        before = (token.word, token.end)
        if token.kind not in ("string", "double", "quoted") or is_bytes:
            continue
        is_string = token.kind != "quoted"
        if is_string and places and places[-1][1] == token.start:
            places[-1] = (places[-1][0], token.end)
        else:
            places.append((token.start, token.end))
    return places


def _tokens(text: str, origin: str) -> Iterator[Token]:
    at, in_hint = 0, False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _untrusted(origin, f"contains {text[at : at + 12]!r}, which is not SQL of Spark")
        kind = match.lastgroup or ""
        start, at = at, match.end()
        if kind == "bracketed":
            at = _end_of_comment(text, start, origin)
        elif kind not in ("comment", "space"):
            token = Token(kind, match.group(), start, at, in_hint)
            in_hint = token.word == "/*+" or (in_hint and token.word != "*/")
            yield token


def _end_of_comment(text: str, start: int, origin: str) -> int:
    """Where a comment ends; comments hold comments."""
    depth = 0
    for mark in _BRACKETED.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if not depth:
            return mark.end()
    raise _untrusted(origin, "contains a comment that is not closed")


def _without_variables(token: Token, origin: str) -> str:
    if "${" not in token.raw:
        return token.raw
    if token.kind not in ("string", "double"):
        raise _untrusted(origin, f"contains the name {token.raw}, which Spark would replace")
    prefix = token.raw[0] if token.raw[0] in "rR" else ""
    quote = token.raw[-1]
    return token.raw.replace("${", f"${quote} {prefix}{quote}{{")


def _calls(tokens: Sequence[Token]) -> Iterator[Call]:
    for at, token in enumerate(tokens):
        if token.word != "(" or at == 0 or not tokens[at - 1].is_name:
            continue
        first = at - 1
        while first > 1 and tokens[first - 1].word == "." and tokens[first - 2].is_name:
            first -= 2
        name = tokens[first]
        if first == at - 1 and (name.word in _NOT_CALLED or _is_alias(tokens, first)):
            continue
        parts = tuple(part.name for part in tokens[first:at:2])
        yield Call(parts, name.start, name.in_hint)


def _is_alias(tokens: Sequence[Token], at: int) -> bool:
    """`AS t (a, b)`, and the types `AS decimal(10, 2)`: no function can be called there."""
    return at > 0 and tokens[at - 1].word == "AS"


def _is_first_of_two(tokens: Sequence[Token], at: int) -> bool:
    if at + 2 >= len(tokens) or (at and tokens[at - 1].word == "."):
        return False
    first, dot, second = tokens[at : at + 3]
    return first.is_name and dot.word == "." and second.is_name


def _untrusted(origin: str, what: str) -> UntrustedSqlError:
    return UntrustedSqlError(
        f"{origin} {what}. SQL stored in a catalog may not do that.", hint=_HINT
    )
