"""Reads deletion vectors: the positions of deleted rows in a file of the format `puffin`.

A file for one snapshot is a bare blob: length, magic, bitmaps, checksum. A file for several
snapshots is a Puffin container, whose footer lists a blob for each snapshot with all positions that
were deleted by then. All that is damaged raises ValueError.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ducklake_spark.spec.roaring import Cursor, Positions, read_bitmap

_BLOB_TYPE = "deletion-vector-v1"
_MAGIC = b"\xd1\xd3\x39\x64"
_CONTAINER_MAGIC = b"PFA1"
_SNAPSHOT = "ducklake-snapshot-id"
_LENGTH_SIZE = _CHECKSUM_SIZE = 4
_FOOTER_END = 12  # the size of the footer's text, flags, magic
_MAX_KEY = 2**31 - 1

# Positions by the snapshot that deleted them; None where the file does not name a snapshot.
Vectors = Mapping[int | None, Positions]


def read_vectors(data: bytes) -> Vectors:
    """Return the positions in a file, each under the first snapshot that deleted it."""
    if data[:4] != _CONTAINER_MAGIC or data[4:8] == _MAGIC:
        return {None: read_blob(data)}
    found: dict[int | None, Positions] = {}
    known = np.empty(0, np.int64)
    for snapshot_id, blob in sorted(_blobs(data), key=lambda pair: pair[0]):
        positions = read_blob(blob)
        new = np.setdiff1d(positions, known, assume_unique=True)
        found[snapshot_id] = np.union1d(found.get(snapshot_id, new), new)
        known = np.union1d(known, new)
    return found


def read_blob(data: bytes) -> Positions:
    """Return the positions of one deletion vector, in increasing order."""
    length = int.from_bytes(data[:_LENGTH_SIZE], "big")
    if len(data) != _LENGTH_SIZE + length + _CHECKSUM_SIZE:
        raise ValueError(f"a deletion vector of {length} bytes is expected, got {len(data) - 8}")
    body, checksum = data[_LENGTH_SIZE:-_CHECKSUM_SIZE], data[-_CHECKSUM_SIZE:]
    if body[:4] != _MAGIC:
        raise ValueError(f"{body[:4].hex()} is not the magic number of a deletion vector")
    if zlib.crc32(body) != int.from_bytes(checksum, "big"):
        raise ValueError("the checksum of the deletion vector is wrong")
    return _read_bitmaps(Cursor(body[4:]))


def _read_bitmaps(cursor: Cursor) -> Positions:
    parts = [np.empty(0, np.int64)]
    last = -1
    for _ in range(cursor.number(8)):
        key = cursor.number(4)
        if not last < key <= _MAX_KEY:
            raise ValueError("the keys of the bitmaps are not in increasing order")
        parts.append((key << 32) + read_bitmap(cursor))
        last = key
    if cursor.left:
        raise ValueError(f"{cursor.left} bytes follow the last bitmap")
    return np.concatenate(parts)


def _blobs(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the blobs of a container with the snapshot of each."""
    listed = _footer(data).get("blobs")
    if not isinstance(listed, list) or not listed:
        raise ValueError("the footer lists no deletion vector")
    for blob in listed:
        if not isinstance(blob, dict) or blob.get("type") != _BLOB_TYPE:
            raise ValueError(f"a blob of the type {_BLOB_TYPE} is expected, got {blob!r}")
        if blob.get("compression-codec") is not None:
            raise ValueError(f"the deletion vector is compressed: {blob['compression-codec']}")
        offset, length = _number(blob.get("offset")), _number(blob.get("length"))
        part = data[offset : offset + length]
        if len(part) != length:
            raise ValueError(f"a deletion vector of {length} bytes is expected at byte {offset}")
        properties = blob.get("properties")
        snapshot = properties.get(_SNAPSHOT) if isinstance(properties, dict) else None
        yield _number(snapshot), part


def _footer(data: bytes) -> Mapping[str, Any]:
    size, flags = (int.from_bytes(data[at : at + 4], "little") for at in (-12, -8))
    start = len(data) - _FOOTER_END - size
    if data[-4:] != _CONTAINER_MAGIC or start < 8 or data[start - 4 : start] != _CONTAINER_MAGIC:
        raise ValueError("the footer of the Puffin file is missing or cut off")
    if flags:
        raise ValueError(f"the footer of the Puffin file has unknown flags: {flags}")
    footer = json.loads(data[start:-_FOOTER_END])
    if not isinstance(footer, dict):
        raise ValueError("the footer of the Puffin file is not a JSON object")
    return footer


def _number(value: object) -> int:
    """Return a whole number, which a property holds as text."""
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()):
        raise ValueError(f"the footer of the Puffin file has {value!r} where a number is expected")
    return int(text)
