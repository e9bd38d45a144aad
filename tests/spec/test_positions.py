"""Sorted positions and their histories hold what sets and dictionaries say."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from ducklake_spark.spec import positions
from ducklake_spark.spec.positions import (
    History,
    SortedPositions,
    count_repeated,
    expand_words,
    extended,
    is_increasing,
)
from ducklake_spark.spec.roaring import Positions


def numbers(values: list[int]) -> Positions:
    return np.array(values, np.int64)


def pairs(arrays: Iterator[tuple[Positions, Positions]]) -> list[tuple[int, int]]:
    return [
        pair
        for found, snapshots in arrays
        for pair in zip(found.tolist(), snapshots.tolist(), strict=True)
    ]


def test_runs_in_order_are_not_copied() -> None:
    later, earlier = numbers([105, 109]), numbers([101, 103])
    found = SortedPositions([later, numbers([]), earlier], offset=100)
    assert found.combined().tolist() == [1, 3, 5, 9]
    assert len(found) == 4
    for run, array in zip(found._runs, (earlier, later), strict=True):
        assert np.shares_memory(run, array)


@pytest.mark.parametrize("values", [[], [3], [5, 1, 5, 1, 2], list(range(20))])
def test_positions_in_any_order_become_distinct_and_sorted(values: list[int]) -> None:
    assert SortedPositions.of(values).combined().tolist() == sorted(set(values))


def test_runs_that_overlap_are_sorted_together() -> None:
    found = SortedPositions([numbers([1, 5, 9]), numbers([2, 5])])
    assert found.combined().tolist() == [1, 2, 5, 9]


def test_values_that_occur_more_than_once_are_counted_once_each() -> None:
    assert count_repeated([]) == 0
    assert count_repeated([numbers([1, 2]), numbers([3])]) == 0
    assert count_repeated([numbers([7, 2, 7]), numbers([7, 2, 5])]) == 2


def test_the_earliest_snapshot_of_a_position_counts() -> None:
    parts = [(numbers([4, 9]), numbers([3, 3])), (numbers([2, 9]), numbers([5, 2]))]
    history = History.earliest(parts, {4: 1, 0: 8})
    assert pairs(history.arrays()) == [(0, 8), (2, 5), (4, 1), (9, 2)]


@pytest.mark.parametrize("seed", range(60))
def test_later_deletes_leave_the_snapshots_of_earlier_ones(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(positions, "_ARRAY_SIZE", rng.choice([1, 2, 7, 100]))
    top = rng.choice([5, 50, 500])
    known = {rng.randrange(top): rng.randrange(1, 9) for _ in range(rng.randrange(top))}
    new = [rng.randrange(top) for _ in range(rng.randrange(top))]
    if rng.random() < 0.3:  # the new ones are in one place among the known ones
        new = list(range(top // 2, top // 2 + top // 4))
    found = pairs(extended(History.of(known).arrays(), SortedPositions.of(new), 9))
    expected = dict.fromkeys(new, 9) | known
    assert found == sorted(expected.items()), f"seed {seed}"


def test_order_is_looked_at_across_arrays() -> None:
    assert is_increasing()
    assert is_increasing(numbers([1, 2]), numbers([]), numbers([3]))
    assert not is_increasing(numbers([1, 3]), numbers([]), numbers([3]))
    assert not is_increasing(numbers([2, 2]))


@pytest.mark.parametrize("seed", range(5))
def test_the_bits_of_words_become_values(seed: int) -> None:
    rng = random.Random(seed)
    top = rng.choice([1_000, 1_000_000])
    values = {rng.randrange(-top, top) for _ in range(20_000)} | {0, 63, 64, -1, -64}
    words: dict[int, int] = {}
    for value in values:
        words[value >> 6] = words.get(value >> 6, 0) | 1 << (value & 63)
    keys = numbers(list(words))
    bits = np.array(list(words.values()), np.uint64).view(np.int64)
    found = [value for array in expand_words(keys, bits) for value in array.tolist()]
    assert found == sorted(values), f"seed {seed}"
