"""Roaring bitmaps, deletion vectors and Puffin files, made byte by byte from their layout."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence


def array(*values: int) -> tuple[int, bytes]:
    return len(values), struct.pack(f"<{len(values)}H", *values)


def bits(*values: int) -> tuple[int, bytes]:
    whole = sum(1 << value for value in values)
    return len(values), whole.to_bytes(8192, "little")


def runs(*pairs: tuple[int, int]) -> tuple[int, bytes]:
    """Runs as their first value and the number of values after it."""
    flat = [number for pair in pairs for number in pair]
    return sum(n + 1 for _, n in pairs), struct.pack(f"<{1 + len(flat)}H", len(pairs), *flat)


def bitmap(containers: dict[int, tuple[int, bytes]], run_keys: Sequence[int] = ()) -> bytes:
    """A portable 32-bit bitmap of containers by their keys."""
    count = len(containers)
    if run_keys:
        flags = sum(1 << at for at, key in enumerate(containers) if key in run_keys)
        head = struct.pack("<HH", 12347, count - 1) + flags.to_bytes((count + 7) // 8, "little")
    else:
        head = struct.pack("<II", 12346, count)
    head += b"".join(struct.pack("<HH", key, size - 1) for key, (size, _) in containers.items())
    at, offsets = len(head) + 4 * count, b""
    for _, body in containers.values():
        offsets += struct.pack("<I", at)
        at += len(body)
    with_offsets = not run_keys or count >= 4
    bodies = b"".join(body for _, body in containers.values())
    return head + (offsets if with_offsets else b"") + bodies


def blob(bitmaps: dict[int, bytes], count: int | None = None) -> bytes:
    body = b"\xd1\xd3\x39\x64" + struct.pack("<q", len(bitmaps) if count is None else count)
    body += b"".join(struct.pack("<i", key) + data for key, data in bitmaps.items())
    return sealed(body)


def sealed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def of(*positions: int) -> bytes:
    """A deletion vector of a few positions, in arrays."""
    bitmaps: dict[int, dict[int, list[int]]] = {}
    for position in sorted(positions):
        high = bitmaps.setdefault(position >> 32, {})
        high.setdefault(position >> 16 & 0xFFFF, []).append(position & 0xFFFF)
    return blob({k: bitmap({c: array(*v) for c, v in h.items()}) for k, h in bitmaps.items()})


def container(
    *blobs: tuple[object, bytes], flags: int = 0, footer: object = None, **extra: object
) -> bytes:
    """A Puffin file with a blob for each of some snapshots."""
    data, listed = b"PFA1", []
    for snapshot, part in blobs:
        listed.append(
            {
                "type": "deletion-vector-v1",
                "fields": [],
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": len(data),
                "length": len(part),
                "properties": {"ducklake-snapshot-id": snapshot},
            }
            | extra
        )
        data += part
    text = json.dumps({"blobs": listed} if footer is None else footer).encode()
    return data + b"PFA1" + text + struct.pack("<II", len(text), flags) + b"PFA1"
