"""A statement as tokens with their places in the text, and a cursor over them.

Statements are taken apart by tokens and put together by splicing: what is not ours reaches Spark
as the user wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as _Raw
from sqlglot.tokenizer_core import TokenType

from ducklake_spark.errors import StatementError, UnsupportedFeatureError
from ducklake_spark.spec.names import backticked as quoted

__all__ = [
    "Cursor",
    "Kind",
    "Token",
    "is_ended",
    "literal",
    "quoted",
    "split_statements",
    "tokenize",
]

_STRINGS = {
    TokenType.STRING,
    TokenType.RAW_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.NATIONAL_STRING,
    TokenType.UNICODE_STRING,
}
_OPEN, _CLOSE = {"(": 1, "[": 1, "{": 1}, {")": 1, "]": 1, "}": 1}


class Kind(Enum):
    WORD = auto()  # a name without quotes, or a keyword
    QUOTED = auto()  # a name in backticks
    STRING = auto()
    BYTES = auto()  # X'00FF'
    NUMBER = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is a name or string without its quotes; `start` and `end` are its place."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The token as a keyword or symbol; quoted names and strings are neither."""
        return self.text.upper() if self.kind in (Kind.WORD, Kind.SYMBOL) else ""

    @property
    def is_name(self) -> bool:
        return self.kind in (Kind.WORD, Kind.QUOTED)


class _Tokenizer(Spark.Tokenizer):
    """Spark's tokens, a word each: no keywords of two words, no commands taken as one text."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if " " not in word
    }
    COMMANDS: ClassVar[set[TokenType]] = set()


# Each part that handles a statement reads its text. Of long texts, this is what takes time.
@lru_cache(maxsize=4)
def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of a text; comments are none."""
    try:
        found = _Tokenizer(dialect=Spark).tokenize(text)
    except TokenError as error:
        raise StatementError(
            "The statement cannot be read: a quote or a comment is not closed.",
            hint=str(error).partition("\n")[0],
        ) from error
    return tuple(_tokens(text, found))


def _tokens(text: str, found: Sequence[_Raw]) -> Iterator[Token]:
    last = -1
    for raw in found:
        # sqlglot makes three tokens of `10L`, all at one place.
        if raw.start <= last:
            continue
        last = raw.end
        yield Token(_kind(text, raw), raw.text, raw.start, raw.end + 1)


def _kind(text: str, raw: _Raw) -> Kind:
    first = text[raw.start]
    if raw.token_type in _STRINGS:
        return Kind.STRING
    if raw.token_type is TokenType.HEX_STRING and first in "xX":
        return Kind.BYTES
    if raw.token_type is TokenType.IDENTIFIER:
        return Kind.QUOTED
    if raw.token_type is TokenType.NUMBER:
        return Kind.NUMBER
    return Kind.WORD if first.isalnum() or first == "_" else Kind.SYMBOL


def split_statements(text: str) -> list[str]:
    """The statements of a script, which semicolons end, without comments around them."""
    statements: list[list[Token]] = [[]]
    for token in tokenize(text):
        if token.word == ";":
            statements.append([])
        else:
            statements[-1].append(token)
    return [text[tokens[0].start : tokens[-1].end] for tokens in statements if tokens]


def is_ended(text: str) -> bool:
    """Whether what was typed ends with a semicolon that is not inside a quote or comment."""
    try:
        tokens = tokenize(text)
    except StatementError:
        return False
    return not tokens or tokens[-1].word == ";"


class Cursor:
    """Reads the tokens of a statement one after the other."""

    def __init__(self, text: str, tokens: Sequence[Token] | None = None) -> None:
        self.text = text
        self.tokens = list(tokenize(text) if tokens is None else tokens)
        while self.tokens and self.tokens[-1].word == ";":
            self.tokens.pop()
        self.end = self.tokens[-1].end if self.tokens else len(text)
        self.at = 0

    # --- looking ---

    def peek(self, ahead: int = 0) -> Token:
        at = self.at + ahead
        if 0 <= at < len(self.tokens):
            return self.tokens[at]
        return Token(Kind.END, "", self.end, self.end)

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    def sees(self, *words: str) -> bool:
        """Whether these keywords come next."""
        return all(self.peek(at).word == word for at, word in enumerate(words))

    def sees_any(self, *words: str) -> bool:
        return self.peek().word in words

    # --- taking ---

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *words: str) -> bool:
        """Take these keywords if they come next."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def accept_any(self, *words: str) -> str:
        """Take the keyword that comes next if it is one of these."""
        return self.take().word if self.sees_any(*words) else ""

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.error(" ".join(words))

    def name(self, what: str = "a name") -> str:
        if not self.peek().is_name:
            raise self.error(what)
        return self.take().text

    def dotted(self, what: str = "a name", *, most: int | None = None) -> tuple[str, ...]:
        """Take a qualified name, which IDENTIFIER('…') may spell, and return its parts.

        `most` is the number of parts that such a name may have.
        """
        start = self.peek().start
        parts = self.spelled() or self._dotted(what)
        if most is not None and len(parts) > most:
            shown = self.text[start : self.peek(-1).end]
            raise StatementError(
                f"{shown} has {len(parts)} parts. Expected {what} of at most {most}."
            )
        return parts

    def _dotted(self, what: str) -> tuple[str, ...]:
        if self.sees("IDENTIFIER", "("):
            raise UnsupportedFeatureError(
                "IDENTIFIER(…) takes nothing but text in quotes here.",
                hint="Write the name itself, or put it into the statement before that is run.",
            )
        parts = [self.name(what)]
        while self.sees(".") and self.peek(1).is_name:
            self.take()
            parts.append(self.take().text)
        return tuple(parts)

    def spelled(self) -> tuple[str, ...] | None:
        """Take IDENTIFIER('…') if that comes next, with texts alone in it; the name they spell."""
        before, texts = self.at, []
        is_clause = self.accept("IDENTIFIER", "(")
        while is_clause and self.peek().kind is Kind.STRING:
            texts.append(self.string())
            if not self.accept("||"):
                break
        if not (texts and self.accept(")")):
            self.at = before
            return None
        name = Cursor("".join(texts))
        try:
            parts = name.dotted()
            name.finish()
        except StatementError as error:
            raise StatementError(f"IDENTIFIER({literal(name.text)}) spells no name.") from error
        return parts

    def string(self, what: str = "a text in quotes") -> str:
        """A string; those written side by side are one, as Spark reads them."""
        if self.peek().kind is not Kind.STRING:
            raise self.error(what)
        token = self.take()
        text = token.text
        while self.peek().kind is Kind.STRING:
            # 'it''s' is a quote inside a string, 'it' 's' are two strings.
            joint = self.text[token.start] if self.peek().start == token.end else ""
            token = self.take()
            text += joint + token.text
        return text

    def skip_group(self) -> None:
        """Take an opening parenthesis and everything up to the one that closes it."""
        depth = 0
        while not self.done:
            word = self.take().word
            depth += _OPEN.get(word, 0) - _CLOSE.get(word, 0)
            if depth <= 0:
                return
        raise self.error(")")

    def until(self, *words: str, placed: bool = False) -> str:
        """The text up to one of the keywords outside all parentheses, or to the end.

        `placed`: at its own line and column.
        """
        start = self.peek().start
        last = start
        while not self.done and self.peek().word not in words:
            if self.peek().word in _CLOSE:
                break
            if self.peek().word in _OPEN:
                self.skip_group()
            elif self.take().word == "CASE":
                self._skip_case()
            last = self.peek(-1).end
        return self.placed(start, last) if placed else self.text[start:last]

    def _skip_case(self) -> None:
        """Everything up to the END of a CASE: its WHEN and THEN are no keywords of a statement."""
        depth = 1
        while depth and not self.done:
            word = self.take().word
            depth += (word == "CASE") - (word == "END")

    def group(self) -> str:
        """The text within the parentheses that come next."""
        if not self.sees("("):
            raise self.error("(")
        start = self.peek().end
        self.skip_group()
        return self.text[start : self.peek(-1).start]

    def rest(self) -> str:
        """All the text that is left."""
        start = self.peek().start
        self.at = len(self.tokens)
        return self.text[start : self.end]

    def query(self) -> str:
        """All that is left, behind blanks: its lines and columns are those of the statement."""
        start = self.peek().start
        self.at = len(self.tokens)
        return self.behind_blanks(start, self.end)

    def behind_blanks(self, start: int, end: int) -> str:
        """A part of the text at the very same place."""
        return re.sub(r"[^\n]", " ", self.text[:start]) + self.text[start:end]

    def placed(self, start: int, end: int) -> str:
        """A part of the text with its line and column, for many parts of a long statement."""
        lines, line = self.text.count("\n", 0, start), self.text.rfind("\n", 0, start) + 1
        return "\n" * lines + " " * (start - line) + self.text[start:end]

    def finish(self) -> None:
        if not self.done:
            raise self.error("the end of the statement")

    def error(self, wanted: str) -> StatementError:
        found = self.peek()
        shown = self.text[found.start : found.end] or "the end"
        line = self.text.count("\n", 0, found.start) + 1
        column = found.start - (self.text.rfind("\n", 0, found.start) + 1) + 1
        return StatementError(
            f"Expected {wanted} and found {shown!r} at line {line}, column {column}."
        )


def literal(text: str) -> str:
    """A string as a literal of Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
