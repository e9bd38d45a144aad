"""Random histories written by DuckDB are read by our client as DuckDB reads them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.budget import seeds
from support.histories import History, play
from support.lakes import LakeAddress
from support.states import assert_read_alike

_LAKES = [
    *(("sqlite", seed) for seed in seeds(20)),
    *(("postgres", seed) for seed in range(1000, 1003)),
    *(("duckdb", seed) for seed in range(2000, 2003)),
]


@pytest.mark.parametrize(("kind", "seed"), _LAKES)
def test_random_histories_are_read_alike_at_every_snapshot(
    make_lake: Callable[[str], LakeAddress], kind: str, seed: int
) -> None:
    lake = make_lake(kind)
    done = play(lake, History(seed))
    try:
        assert_read_alike(lake)
    except AssertionError as error:
        story = "\n".join(done)
        raise AssertionError(f"seed {seed}, after\n{story}\n{error}") from error
