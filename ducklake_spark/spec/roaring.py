"""Reads Roaring bitmaps in their portable format, which deletion vectors consist of.

NumPy reads the containers as whole arrays, so no compiled package is needed for this. A bitmap that
breaks a rule of the format raises ValueError: a deletion vector must never be read in part.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]

_COOKIE = 12_346
_COOKIE_WITH_RUNS = 12_347
_OFFSETS_FROM = 4  # containers, if some of them are runs
_LARGEST_ARRAY = 4_096
_BITS = 1 << 16


class Cursor:
    """A place in some bytes, from which little-endian numbers are read."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        self.at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self.at

    def skip(self, size: int) -> memoryview:
        """Return the next bytes."""
        if size > self.left:
            raise ValueError(f"{size} bytes are expected at byte {self.at}, got {self.left}")
        self.at += size
        return self._data[self.at - size : self.at]

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.skip(size), "little", signed=signed)

    def words(self, count: int) -> Positions:
        """Return the next 16-bit numbers."""
        return np.frombuffer(self.skip(2 * count), "<u2").astype(np.int64)


def read_bitmap(cursor: Cursor) -> Positions:
    """Return the 32-bit numbers of a bitmap, in increasing order."""
    cookie = cursor.number(4)
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = np.frombuffer(cursor.skip((count + 7) // 8), np.uint8)
        is_run = np.unpackbits(flags, bitorder="little")[:count].astype(bool)
    elif cookie == _COOKIE:
        count = cursor.number(4)
        is_run = np.zeros(min(count, _BITS), bool)
    else:
        raise ValueError(f"{cookie} is not the cookie of a Roaring bitmap")
    if count > _BITS:
        raise ValueError(f"a Roaring bitmap has at most {_BITS} containers, got {count}")
    header = cursor.words(2 * count)
    keys, sizes = header[0::2], header[1::2] + 1
    _check_increasing(keys, "containers")
    if cookie == _COOKIE or count >= _OFFSETS_FROM:
        cursor.skip(4 * count)  # the containers follow each other without gaps
    found = [
        key * _BITS + _container(cursor, size, run)
        for key, size, run in zip(keys.tolist(), sizes.tolist(), is_run.tolist(), strict=True)
    ]
    return np.concatenate([np.empty(0, np.int64), *found])


def _container(cursor: Cursor, size: int, is_run: bool) -> Positions:
    if is_run:
        values = _runs(cursor)
    elif size <= _LARGEST_ARRAY:
        values = cursor.words(size)
        _check_increasing(values, "values of an array")
    else:
        bits = np.frombuffer(cursor.skip(_BITS // 8), np.uint8)
        values = np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.int64)
    if len(values) != size:
        raise ValueError(f"a container has {len(values)} values, expected {size}")
    return values


def _runs(cursor: Cursor) -> Positions:
    pairs = cursor.words(2 * cursor.number(2))
    starts, lengths = pairs[0::2], pairs[1::2] + 1
    ends = starts + lengths
    if (starts[1:] < ends[:-1]).any() or (ends > _BITS).any():
        raise ValueError("the runs of a container overlap or are too long")
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def _check_increasing(values: Positions, what: str) -> None:
    if (values[1:] <= values[:-1]).any():
        raise ValueError(f"the {what} are not in increasing order")
