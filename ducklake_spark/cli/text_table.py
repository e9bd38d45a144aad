"""Draw rows as a table of text that fits the terminal."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

# A narrower column would break words into syllables; a table of many columns overflows instead.
_NARROWEST = 12


def draw_table(
    names: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None
) -> str:
    """Return the rows as a table, at most `width` characters wide where that is possible.

    Values wrap instead of being cut off. Without a width every row stays on one line.
    """
    header = [_one_line(name) for name in names]
    cells = [[_cell(value) for value in row] for row in rows]
    natural = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    widths = _fit(natural, width)
    align_right = [_is_numeric([row[at] for row in rows]) for at in range(len(names))]

    def draw(values: Sequence[str]) -> list[str]:
        columns = [_wrap(value, w) for value, w in zip(values, widths, strict=True)]
        height = max(map(len, columns), default=1)
        padded = [column + [""] * (height - len(column)) for column in columns]
        return [_line(line, widths, align_right) for line in zip(*padded, strict=True)]

    drawn = [draw(row) for row in cells]
    divider = _rule("├┼┤", widths)
    # Wrapped rows need a divider; otherwise nobody sees where one ends and the next begins.
    between = [divider] if any(len(lines) > 1 for lines in drawn) else []
    body = [line for at, lines in enumerate(drawn) for line in (between if at else []) + lines]
    return "\n".join([_rule("┌┬┐", widths), *draw(header), divider, *body, _rule("└┴┘", widths)])


def terminal_width() -> int | None:
    """Return the width of the terminal, or None if the output goes to a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def value_text(value: Any) -> str:
    """Return a value as text; nested values as JSON."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple, dict)):
        return json_text(value)
    return str(value)


def json_text(value: Any) -> str:
    """Return a value as JSON; what JSON has no form for becomes a string."""
    return json.dumps(_with_text_keys(value), default=value_text, ensure_ascii=False)


def _with_text_keys(value: Any) -> Any:
    """Convert the keys of maps to strings, because JSON allows no others."""
    if isinstance(value, dict):
        return {value_text(key): _with_text_keys(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_text_keys(item) for item in value]
    return value


def _fit(natural: Sequence[int], width: int | None) -> list[int]:
    """Narrow the widest columns until the table has the given width."""
    widths = list(natural)
    if width is None or not widths:
        return widths
    borders = 3 * len(widths) + 1
    while sum(widths) + borders > width:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _wrap(text: str, width: int) -> list[str]:
    if len(text) <= width:
        return [text]
    return textwrap.wrap(
        text, width, expand_tabs=False, replace_whitespace=False, break_on_hyphens=False
    ) or [""]


def _line(values: Sequence[str], widths: Sequence[int], align_right: Sequence[bool]) -> str:
    aligned = [
        value.rjust(width) if right else value.ljust(width)
        for value, width, right in zip(values, widths, align_right, strict=True)
    ]
    return f"│ {' │ '.join(aligned)} │"


def _rule(corners: str, widths: Sequence[int]) -> str:
    return corners[0] + corners[1].join("─" * (width + 2) for width in widths) + corners[2]


def _is_numeric(values: Sequence[object]) -> bool:
    """Check whether a column holds numbers, and nothing else but NULL."""
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) for value in known
    )


def _cell(value: Any) -> str:
    return "NULL" if value is None else _one_line(value_text(value))


def _one_line(text: str) -> str:
    return text.replace("\r\n", "⏎").replace("\n", "⏎").replace("\t", " ")
