"""Puts other words in a text and knows afterwards where the text's own words are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """What takes the place of a part of a text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Spliced:
    """A text as it was and as it is; `edits` are in order."""

    original: str
    text: str
    edits: tuple[Edit, ...] = ()

    def original_offset(self, offset: int) -> int:
        """Where a place of the new text is in the original; within an edit, where that begins."""
        grown = 0
        for edit in self.edits:
            start = edit.start + grown
            if offset < start:
                break
            if offset < start + len(edit.text):
                return edit.start
            grown += len(edit.text) - (edit.end - edit.start)
        return offset - grown


def spliced(text: str, edits: Sequence[Edit]) -> Spliced:
    """The text with the edits made; they do not overlap."""
    ordered = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    parts, at = [], 0
    for edit in ordered:
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return Spliced(text, "".join([*parts, text[at:]]), ordered)
