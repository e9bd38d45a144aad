"""Finds where a text calls functions by qualified names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ducklake_spark.spec.names import fold
from ducklake_spark.sql.splice import Edit
from ducklake_spark.sql.tokens import Token


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """The name of a function that is called: `start` to `end` is what takes its place, and
    `second` where its second part begins."""

    parts: tuple[str, ...]
    start: int
    second: int
    end: int


def find_calls(tokens: Sequence[Token]) -> Iterator[FunctionCall]:
    """Calls by names of two parts or three."""
    for at, token in enumerate(tokens):
        if not token.is_name or (at and tokens[at - 1].word == "."):
            continue
        last = at
        while last + 2 < len(tokens) and tokens[last + 1].word == "." and tokens[last + 2].is_name:
            last += 2
        if last > at and last + 1 < len(tokens) and tokens[last + 1].word == "(":
            parts = tuple(part.text for part in tokens[at : last + 1 : 2])
            yield FunctionCall(parts, token.start, tokens[at + 2].start, tokens[last].end)


def calls_without_lake(tokens: Sequence[Token], lake: str) -> list[Edit]:
    """Calls of lake.schema.function, without the lake."""
    return [
        Edit(call.start, call.second, "")
        for call in find_calls(tokens)
        if len(call.parts) == 3 and fold(call.parts[0]) == fold(lake)
    ]
