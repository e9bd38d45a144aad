"""Positions of rows in a data file, in NumPy arrays: eight bytes for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ducklake_spark.spec.roaring import Positions

Truths = npt.NDArray[np.bool_]

_ARRAY_SIZE = 1 << 18


class SortedPositions:
    """Distinct positions in increasing order.

    Arrays that are in order already are kept as they are, since a copy of 24 million positions
    takes 192 MB. `offset` is subtracted from their values when they are read.
    """

    def __init__(self, runs: Iterable[Positions], offset: int = 0) -> None:
        """Take arrays that are in order each; they may overlap, and come in any order."""
        ordered = sorted((run for run in runs if len(run)), key=lambda run: int(run[0]))
        if not is_increasing(*ordered):
            ordered = [sorted_distinct(np.concatenate(ordered))]
        self._runs = ordered
        self._offset = offset

    @classmethod
    def of(cls, positions: Iterable[int]) -> SortedPositions:
        """Sort positions that are in any order and may be repeated."""
        return cls([sorted_distinct(np.fromiter(positions, np.int64))])

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def arrays(self) -> Iterator[Positions]:
        """Yield the positions as arrays of limited size."""
        held: list[Positions] = []
        for run in self._runs:
            for begin in range(0, len(run), _ARRAY_SIZE):
                part = run[begin : begin + _ARRAY_SIZE]
                if held and sum(map(len, held)) + len(part) > _ARRAY_SIZE:
                    yield np.concatenate(held) - self._offset
                    held = []
                held.append(part)
        if held:
            yield np.concatenate(held) - self._offset

    def combined(self) -> Positions:
        """Return the positions as one array."""
        return np.concatenate([np.empty(0, np.int64), *self.arrays()])


@dataclass(frozen=True, slots=True)
class History:
    """Distinct positions in increasing order, and the snapshot that deleted each."""

    positions: Positions
    snapshots: Positions

    @classmethod
    def of(cls, deletes: Mapping[int, int]) -> History:
        """Return the history of positions with their snapshots."""
        return cls.earliest([_columns(deletes)])

    @classmethod
    def earliest(
        cls, parts: Iterable[tuple[Positions, Positions]], inlined: Mapping[int, int] | None = None
    ) -> History:
        """Combine positions in any order. The earliest snapshot of a repeated position counts."""
        found, by = ([column] for column in _columns(inlined or {}))
        for some, snapshots_of_some in parts:
            found.append(some)
            by.append(snapshots_of_some)
        positions = np.concatenate(found)
        found.clear()  # before the other column is copied
        snapshots = np.concatenate(by)
        if is_increasing(positions):
            return cls(positions, snapshots)
        order = np.lexsort((snapshots, positions))
        positions, snapshots = positions[order], snapshots[order]
        first = _first_of_equals(positions)
        return cls(positions[first], snapshots[first])

    def arrays(self) -> Iterator[tuple[Positions, Positions]]:
        """Yield positions and snapshots as arrays of limited size."""
        for begin in range(0, len(self.positions), _ARRAY_SIZE):
            part = slice(begin, begin + _ARRAY_SIZE)
            yield self.positions[part], self.snapshots[part]


def extended(
    history: Iterable[tuple[Positions, Positions]], positions: SortedPositions, snapshot_id: int
) -> Iterator[tuple[Positions, Positions]]:
    """Yield a history, whose arrays are in increasing order, with what a later snapshot deletes.

    Positions that were deleted before keep their snapshots.
    """
    arrays = positions.arrays()
    new = next(arrays, None)
    for known, snapshots in history:
        begin = 0
        while new is not None and begin < len(known):
            end = int(np.searchsorted(known, new[-1], side="right"))
            cut = int(np.searchsorted(new, known[-1], side="right")) if end == len(known) else None
            part = slice(begin, end)
            yield _merged(known[part], snapshots[part], new[:cut], snapshot_id)
            begin, new = end, new[len(new) if cut is None else cut :]
            if not len(new):
                new = next(arrays, None)
        if begin < len(known):
            yield known[begin:], snapshots[begin:]
    while new is not None:
        yield new, np.full(len(new), snapshot_id)
        new = next(arrays, None)


def _merged(
    known: Positions, snapshots: Positions, new: Positions, snapshot_id: int
) -> tuple[Positions, Positions]:
    fresh = new[~_contained(new, known)]
    positions = np.concatenate([known, fresh])
    order = np.argsort(positions, kind="stable")
    stamps = np.concatenate([snapshots, np.full(len(fresh), snapshot_id)])
    return positions[order], stamps[order]


def is_increasing(*arrays: Positions) -> bool:
    """Return whether each value is greater than the one before it, over all arrays."""
    filled = [values for values in arrays if len(values)]
    return all(bool((values[1:] > values[:-1]).all()) for values in filled) and all(
        one[-1] < following[0] for one, following in pairwise(filled)
    )


def sorted_distinct(values: Positions) -> Positions:
    """Sort an array in place, and return its distinct values."""
    if is_increasing(values):
        return values
    values.sort()
    first = _first_of_equals(values)
    return values if first.all() else values[first]


def expand_words(keys: Positions, words: Positions) -> Iterator[Positions]:
    """Yield the values that the bits of words stand for, in increasing order.

    The lowest bit of a word stands for 64 times the word's key.
    """
    order = np.argsort(keys)
    for begin in range(0, len(order), _ARRAY_SIZE // 64):
        part = order[begin : begin + _ARRAY_SIZE // 64]
        octets = words[part].astype("<i8").view(np.uint8)
        bits = np.flatnonzero(np.unpackbits(octets, bitorder="little"))
        yield (keys[part][bits >> 6] << 6) | (bits & 63)


def count_repeated(values: Sequence[Positions]) -> int:
    """Return how many distinct values occur more than once in arrays."""
    ordered = np.concatenate([np.empty(0, np.int64), *values])
    ordered.sort()
    equal = ordered[1:] == ordered[:-1]
    begins = equal.copy()
    begins[1:] &= ~equal[:-1]
    return int(begins.sum())


def _first_of_equals(ordered: Positions) -> Truths:
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _contained(values: Positions, known: Positions) -> Truths:
    """Return for each value whether it is among known values, which are in order."""
    if not len(known):
        return np.zeros(len(values), bool)
    at = np.searchsorted(known, values)
    at[at == len(known)] = 0
    found: Truths = known[at] == values
    return found


def _columns(deletes: Mapping[int, int]) -> tuple[Positions, Positions]:
    return np.fromiter(deletes, np.int64), np.fromiter(deletes.values(), np.int64)
