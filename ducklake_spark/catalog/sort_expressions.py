"""Which columns and fields the SQL of a sort key names, and that SQL after a rename.

DuckDB binds these expressions whenever it writes: one that names what is gone stops every INSERT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ducklake_spark.spec.names import as_duckdb_writes, fold, split_identifier

_PART = r'"(?:[^"]|"")*"|[^\W\d][\w$]*'
_PARTS = re.compile(_PART)
# After a dot comes the field of something else, such as of a call or an element.
_PATH_OR_STRING = re.compile(
    rf"'(?:[^']|'')*'|(?<![\w$.])(?:{_PART})(?:\s*\.\s*(?:{_PART}))*(?P<call>\s*\()?"
)


def uses(expression: str, path: str) -> bool:
    """Whether an expression names a column or field, or something inside it."""
    wanted = _folded(path)
    matches = _PATH_OR_STRING.finditer(expression)
    return any(_begins(_parts_of(match), wanted) for match in matches)


def renamed_in(expression: str, path: str, new_name: str) -> str:
    """An expression after a rename: columns and fields change, calls and strings do not."""
    wanted = _folded(path)

    def change(match: re.Match[str]) -> str:
        text, parts = match.group(0), _parts_of(match)
        if not _begins(parts, wanted):
            return text
        part = parts[len(wanted) - 1]
        return text[: part.start()] + as_duckdb_writes(new_name) + text[part.end() :]

    return _PATH_OR_STRING.sub(change, expression)


def _folded(path: str) -> list[str]:
    return [fold(part) for part in split_identifier(path)]


def _parts_of(match: re.Match[str]) -> list[re.Match[str]]:
    """The parts of a dotted name, without the name of what is called."""
    text = match.group(0)
    parts = [] if text.startswith("'") else list(_PARTS.finditer(text))
    return parts[:-1] if match["call"] else parts


def _begins(parts: Sequence[re.Match[str]], wanted: Sequence[str]) -> bool:
    names: Iterator[str] = (fold(split_identifier(part.group(0))[0]) for part in parts)
    return list(names)[: len(wanted)] == wanted
