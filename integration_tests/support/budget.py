"""How much of a test's grid runs: a fixed sample, or with DUCKLAKE_TEST_FULL=1 all of it."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("DUCKLAKE_TEST_FULL", "") not in ("", "0")


def seeds(few: int, full: int | None = None) -> range:
    """The seeds of a random test: so many, DUCKLAKE_TEST_SEEDS of them where that is set, from
    DUCKLAKE_TEST_FIRST_SEED on."""
    count = os.environ.get("DUCKLAKE_TEST_SEEDS", full if FULL and full is not None else few)
    first = int(os.environ.get("DUCKLAKE_TEST_FIRST_SEED", "0"))
    return range(first, first + int(count))


def sampled(cells: Sequence[T], size: int, *, seed: int = 2026) -> list[T]:
    """The cells of a grid that run: always the same sample, in the grid's order."""
    if FULL or size >= len(cells):
        return list(cells)
    chosen = sorted(random.Random(seed).sample(range(len(cells)), size))
    return [cells[at] for at in chosen]
