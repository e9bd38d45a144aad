"""Identifiers: folding, quoting, qualified names, and the unique names of new objects."""

from __future__ import annotations

import os
import re
import time
import uuid
from dataclasses import dataclass

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec.keywords import KEYWORDS

_PLAIN_PART = re.compile(r'\s*(?:"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|([^."`\s][^."`]*?))\s*(\.|$)')
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNQUOTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_DIRECTORY = 255  # characters, which are ASCII; common file systems take no more bytes
_PLAIN_DIRECTORY = re.compile(r"[A-Za-z0-9_-]+")


def fold(name: str) -> str:
    """The form in which two spellings of an identifier are equal: DuckDB folds ASCII only."""
    return name.translate(_ASCII_LOWER)


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def backticked(name: str) -> str:
    """A name in backticks, as Spark takes any."""
    return "`" + name.replace("`", "``") + "`"


def quote(name: str) -> str:
    """The identifier in double quotes, as SQL and the change grammar write it."""
    return '"' + name.replace('"', '""') + '"'


def is_storable(text: str) -> bool:
    """Whether every catalog database can hold the text: no NUL, no half of a surrogate pair."""
    return not _UNSTORABLE.search(text)


def check_text(text: str, what: str) -> str:
    """The text itself, or an error if some catalog database could not hold it."""
    if not is_storable(text):
        raise InvalidDefinitionError(
            f"{text!r} cannot be stored as {what}.",
            hint="Leave out NUL characters and halves of surrogate pairs.",
        )
    return text


def as_duckdb_writes(name: str) -> str:
    """The identifier as DuckDB writes it into the catalog: quoted where it sees a need."""
    return quote(name) if needs_quotes(name) else name


def needs_quotes(name: str) -> bool:
    """Whether DuckDB quotes the identifier. Capitals alone are no reason to it."""
    return not _UNQUOTED.fullmatch(name) or fold(name) in KEYWORDS


# Begins the names of columns that this package adds to rows while it reads and writes them.
RESERVED_PREFIX = "_ducklake_"


def is_reserved(name: str) -> bool:
    """Return whether a column of that name could be taken for one of our own."""
    return fold(name).startswith(RESERVED_PREFIX)


def check_identifier(name: str, what: str) -> str:
    """The name itself, or an error if no catalog database could hold it."""
    if not name or not is_storable(name):
        raise InvalidDefinitionError(
            f"{name!r} cannot be the name of a {what}.",
            hint="A name has at least one character, no NUL, and no half of a surrogate pair.",
        )
    return name


def check_column_name(name: str) -> str:
    """Return the name of a new column, or raise if it is reserved or cannot be stored."""
    if is_reserved(name):
        raise InvalidDefinitionError(
            f"{name!r} cannot be the name of a column: names that begin with {RESERVED_PREFIX} "
            "are reserved.",
            hint="Choose another name.",
        )
    return check_identifier(name, "column")


@dataclass(frozen=True, slots=True)
class QualifiedName:
    """A schema and the name of a table or view in it."""

    schema: str
    name: str

    @classmethod
    def parse(cls, text: str, default_schema: str = "main") -> QualifiedName:
        """Read ``name`` or ``schema.name``; parts with odd characters are quoted."""
        parts = split_identifier(text)
        if len(parts) == 1:
            return cls(default_schema, parts[0])
        if len(parts) == 2:
            return cls(parts[0], parts[1])
        raise InvalidDefinitionError(
            f"{text!r} is not a table name.", hint="Write it as name or schema.name."
        )

    @property
    def folded(self) -> tuple[str, str]:
        return fold(self.schema), fold(self.name)

    def __str__(self) -> str:
        return f"{_shown(self.schema)}.{_shown(self.name)}"


def _shown(part: str) -> str:
    return part if re.fullmatch(r"\w+", part) else quote(part)


def split_identifier(text: str) -> list[str]:
    """The parts of a dotted identifier, with quotes removed."""
    parts: list[str] = []
    at = 0
    while True:
        match = _PLAIN_PART.match(text, at)
        if match is None:
            raise InvalidDefinitionError(
                f"{text!r} is not a name.",
                hint='Put double quotes around parts with odd characters: "my schema"."my.table".',
            )
        double, backtick, plain, separator = match.groups()
        if double is not None:
            parts.append(double.replace('""', '"'))
        elif backtick is not None:
            parts.append(backtick.replace("``", "`"))
        else:
            parts.append(plain)
        if not separator:
            return parts
        at = match.end()


def directory_for(name: str, unique: uuid.UUID) -> str:
    """The directory of a new schema or table: its name, or its uuid where the name could not be
    a directory everywhere (FORMAT 1.7)."""
    is_directory = _PLAIN_DIRECTORY.fullmatch(name) and len(name) <= _LONGEST_DIRECTORY
    return f"{name}/" if is_directory else f"{unique}/"


def uuid7() -> uuid.UUID:
    """A time-ordered UUID (RFC 9562), which the standard library has from Python 3.14."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | random
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return uuid.UUID(int=value)
