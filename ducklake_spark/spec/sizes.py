"""Sizes and counts as people read them."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size_text(count: float) -> str:
    """A number of bytes in the unit that suits it."""
    for unit in _UNITS[:-1]:
        if count < 999.5:  # more would be shown as 1e+03
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_UNITS[-1]}"


def count_text(count: int, of: str) -> str:
    """A number of things: `1 row`, `2,000 rows`."""
    return f"{count:,} {of}{'' if count == 1 else 's'}"
