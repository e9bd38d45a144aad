"""The examples of the documentation: blocks of code whose title says what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r'^```(\w+) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block: the file of a dbt project that it is, or `Spark`, `DuckDB`, or another file."""

    page: str
    language: str
    title: str
    text: str


def examples() -> Iterator[Example]:
    """All blocks that have a title, page by page."""
    for page in (_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))):
        for language, title, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
            yield Example(page.name, language, title, text)
