"""Reads DuckDB's text of lists, structs and maps, as inlined rows hold it.

There are two kinds of text. One is that of CAST(… AS VARCHAR): a backslash escapes, and only what
would be misread is quoted. The other is what extension 1.5.5 writes for a struct that is not inside
a list or map: SQL, where a quote is doubled and dates are `CAST('2024-01-15' AS DATE)`. DuckDB
itself cannot read the latter back (it fails, or drops the quote of `it''s`); we can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

from ducklake_spark.spec.scalars import Physical, parse_text
from ducklake_spark.spec.types import DataType, ListType, MapType, StructType

_SPACES = " \t\n\v\f\r"
_QUOTES = "'\""
_CLOSING = {"[": "]", "{": "}", "(": ")"}
_MUST_BE_QUOTED = re.compile(r"""["'(),:=\[\]{}]|^[ \t-\r]|[ \t-\r]\Z|^null\Z|^\Z""", re.IGNORECASE)
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_QUOTE = re.compile(r"\\(['\"])")
_SQL_STRING = re.compile(r"'((?:[^']|'')*)'")
_SQL_CAST = re.compile(r"CAST\('([^']*)' AS [A-Z_ ]+\)")
_SQL_NUMBER = re.compile(r"[^,{}'()]+")


def parse_nested(text: str, data_type: DataType) -> Physical:
    """The value a text stands for. Raises ValueError if it is not a text of the type.

    A struct's text that could be of either kind is read as DuckDB reads it. It must have two
    backslashes in a row for that, in a string that both kinds quote.
    """
    if not isinstance(data_type, StructType):
        return _parse_plain(text, data_type)
    reader = _SqlStruct(text)
    try:
        value = reader.read(data_type)
    except ValueError:
        return _parse_plain(text, data_type)
    return _parse_plain(text, data_type) if reader.reads_plain else value


def _parse_plain(text: str, data_type: DataType) -> Physical:
    match data_type:
        case ListType(element=element):
            return [_parse_part(part, element) for part in _parts(text, "[", ",")]
        case MapType(key=key, value=value):
            parts = _parts(text, "{", "=,")
            return [_entry(name, next(parts), key, value) for name in parts]
        case StructType(fields=fields):
            return _parse_fields(_parts(text, "{", ":,"), dict(fields))
        case _:
            return parse_text(text, data_type)


def _entry(
    key: str, value: str, key_type: DataType, value_type: DataType
) -> tuple[Physical, Physical]:
    known = _parse_part(key, key_type)
    if known is None:
        raise ValueError("the key of a map is NULL")
    return known, _parse_part(value, value_type)


def _parse_fields(parts: Iterator[str], types: dict[str, DataType]) -> dict[str, Physical]:
    fields: dict[str, Physical] = dict.fromkeys(types)
    for part in parts:
        name = _unquote(part)
        if name not in types:
            raise ValueError(f"no such field: {name!r}")
        fields[name] = _parse_part(next(parts), types[name])
    return fields


def _parse_part(part: str, data_type: DataType) -> Physical:
    if part.lower() == "null":
        return None
    is_bare_json = data_type.name == "json" and part[:1] != "'"
    if part[:1] in _CLOSING or is_bare_json:
        return _parse_plain(part, data_type)
    return _parse_plain(_unquote(part), data_type)


def _parts(text: str, opening: str, separators: str) -> Iterator[str]:
    """The trimmed parts between brackets, which the separators end in turn."""
    text, closing = text.strip(_SPACES), _CLOSING[opening]
    if text[:1] != opening:
        raise ValueError(f"not in brackets: {text!r}")
    at = 1
    if text[1:].lstrip(_SPACES) == closing:
        return
    for separator in cycle(separators):
        start = at
        at = _find(text, at, separator + closing if separator == "," else separator)
        yield text[start:at].strip(_SPACES)
        at += 1
        if text[at - 1] == closing:
            break
    if at != len(text):
        raise ValueError(f"text after the closing bracket: {text!r}")


def _find(text: str, at: int, stops: str) -> int:
    """Where one of the characters stands next, outside quotes and brackets."""
    is_escaped = False
    while at < len(text):
        char = text[at]
        if char in stops:
            return at
        if char in _QUOTES and not is_escaped:
            at = _after_quotes(text, at)
        elif char in _CLOSING:
            at = _after_brackets(text, at)
        else:
            at += 1
        is_escaped = char == "\\"
    raise ValueError(f"text ends early: {text!r}")


def _after_quotes(text: str, at: int) -> int:
    match = _QUOTED.match(text, at)
    if match is None:
        raise ValueError(f"no closing quote: {text!r}")
    return match.end()


def _after_brackets(text: str, at: int) -> int:
    closings: list[str] = []
    is_escaped = False
    while at < len(text):
        char = text[at]
        if char in _QUOTES and not is_escaped:
            at = _after_quotes(text, at)
            continue
        if char in _CLOSING:
            closings.append(_CLOSING[char])
        elif char == closings[-1]:
            closings.pop()
        at += 1
        if not closings:
            return at
        is_escaped = char == "\\"
    raise ValueError(f"no closing bracket: {text!r}")


def _unquote(part: str) -> str:
    match = _QUOTED.fullmatch(part)
    if match is None:
        return _ESCAPED_QUOTE.sub(r"\1", part)
    return _ESCAPED.sub(r"\1", match[1] if match[1] is not None else match[2])


def _is_plain_string(quoted: str) -> bool:
    """Whether CAST(… AS VARCHAR) would have quoted and escaped a string like this."""
    match = _QUOTED.fullmatch(quoted)
    if match is None:
        return False
    value = _unquote(quoted)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return escaped == match[1] and _MUST_BE_QUOTED.search(value) is not None


@dataclass
class _SqlStruct:
    """A struct written as SQL; lists and maps in it are plain again."""

    text: str
    at: int = 0
    reads_plain: bool = True  # every string so far could be of the other kind too

    def read(self, data_type: StructType) -> dict[str, Physical]:
        value = self._struct(data_type)
        if self.at != len(self.text):
            raise ValueError(f"text after the closing bracket: {self.text!r}")
        return value

    def _struct(self, data_type: StructType) -> dict[str, Physical]:
        fields: dict[str, Physical] = {}
        for position, (name, field_type) in enumerate(data_type.fields):
            self._take("{" if position == 0 else ", ")
            if self._string(is_key=True) != name:
                raise ValueError(f"not the field {name!r}: {self.text!r}")
            self._take(": ")
            fields[name] = self._value(field_type)
        self._take("}")
        return fields

    def _value(self, data_type: DataType) -> Physical:
        if self.text.startswith("NULL", self.at):
            self._take("NULL")
            return None
        match data_type:
            case StructType():
                return self._struct(data_type)
            case ListType() | MapType():
                start, self.at = self.at, _after_brackets(self.text, self.at)
                return _parse_plain(self.text[start : self.at], data_type)
        if data_type.name in ("varchar", "json"):
            return self._string()
        cast = self._match(_SQL_CAST)
        if cast is None:
            return parse_text(self._expect(_SQL_NUMBER)[0], data_type)
        self.reads_plain = False
        return parse_text(cast[1], data_type)

    def _string(self, *, is_key: bool = False) -> str:
        if self.text.startswith("CONCAT(", self.at):
            return self._concatenated()
        match = self._expect(_SQL_STRING)
        if is_key:
            self.reads_plain &= "''" not in match[1] and "\\" not in match[1]
        else:
            self.reads_plain &= _is_plain_string(match[0])
        return match[1].replace("''", "'")

    def _concatenated(self) -> str:
        # A string with NUL characters: CONCAT('a', chr(0), 'b').
        self._take("CONCAT(")
        parts = [self._string()]
        while self.text.startswith(", chr(0), ", self.at):
            self._take(", chr(0), ")
            parts.append(self._string())
        self._take(")")
        self.reads_plain = False
        return "\0".join(parts)

    def _take(self, wanted: str) -> None:
        if not self.text.startswith(wanted, self.at):
            raise ValueError(f"expected {wanted!r} in {self.text!r}")
        self.at += len(wanted)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return match

    def _expect(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = self._match(pattern)
        if match is None:
            raise ValueError(f"unexpected text in {self.text!r}")
        return match
