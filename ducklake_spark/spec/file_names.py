"""The names of a lake's files, and what a name proves about the lake that wrote the file.

The data path of a lake may hold other lakes, or be shared with another lake whose tables have the
same folders. Only the name of a file tells who wrote it: each UUID that this package puts into a
name ends in a keyed hash of the lake, the table's folder and the rest of the UUID. DuckDB's UUIDs
are random.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import uuid
from collections.abc import Collection, Iterator
from enum import Enum, auto

from ducklake_spark.spec.names import uuid7

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_FOLDER = re.compile(f"ducklake-({_UUID})")
_FILE = re.compile(rf"\.?ducklake-({_UUID})(?:-delete)?\.(?:parquet|puffin)(?:\.crc)?")
_HIVE_FOLDER = re.compile("[^=]+=.*", re.DOTALL)
_HASHED_BYTES = 4
_MILLISECOND_BITS = 48


class Origin(Enum):
    """Which lake wrote a file."""

    THIS_LAKE = auto()
    # The name and the folder are those of a table of this lake, and of any lake that shares them.
    SHARED_FOLDER = auto()
    UNKNOWN = auto()


def mark_of(lake: uuid.UUID | None, folder: str) -> str:
    """Return the key that marks the files of a table; `folder` is relative to the data path.

    The mark is empty, so the files are not marked, if the lake cannot be identified.
    """
    return "" if lake is None else f"{lake}/{folder}"


def marked_uuid(mark: str) -> uuid.UUID:
    """Return a new UUID that ends in the hash of a mark."""
    unique = uuid7()
    if not mark:
        return unique
    free = unique.bytes[:-_HASHED_BYTES]
    return uuid.UUID(bytes=free + _hash(free, mark))


def is_marked(unique: uuid.UUID, mark: str) -> bool:
    """Check whether `marked_uuid` made the UUID for this mark."""
    free, hashed = unique.bytes[:-_HASHED_BYTES], unique.bytes[-_HASHED_BYTES:]
    return bool(mark) and _hash(free, mark) == hashed


def _hash(free: bytes, mark: str) -> bytes:
    key = hashlib.blake2b(mark.encode(), digest_size=32).digest()
    return hashlib.blake2b(free, key=key, digest_size=_HASHED_BYTES).digest()


def origin_of(path: str, lake: uuid.UUID | None, tables: Collection[str]) -> Origin:
    """Return which lake wrote a file or staging folder, by its path relative to the data path.

    `tables` holds the folders of this lake's tables, relative to the data path, each with a
    trailing slash.
    """
    unique, folders = _written_in(path)
    if unique is None:
        return Origin.UNKNOWN
    if marked_folder(path, lake) is not None:
        return Origin.THIS_LAKE
    return Origin.UNKNOWN if folders.isdisjoint(tables) else Origin.SHARED_FOLDER


def marked_folder(path: str, lake: uuid.UUID | None) -> str | None:
    """Return the folder of the table for which this lake wrote a file or staging folder, if it did.

    Both paths are relative to the data path. The table need not exist any more.
    """
    unique, folders = _written_in(path)
    if unique is None:
        return None
    return next((f for f in folders if is_marked(unique, mark_of(lake, f))), None)


def is_of_table(path: str, mark: str) -> bool:
    """Check whether this package wrote a file for a table, by the table's mark."""
    unique, _ = _written_in(path)
    return unique is not None and is_marked(unique, mark)


def staged_at(path: str) -> datetime.datetime | None:
    """Return when a staging folder was made, by its name; None if it is not a staging folder."""
    match = _FOLDER.fullmatch(path.rstrip("/").rpartition("/")[2])
    if match is None:
        return None
    milliseconds = uuid.UUID(match.group(1)).int >> (128 - _MILLISECOND_BITS)
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)


def _written_in(path: str) -> tuple[uuid.UUID | None, frozenset[str]]:
    """Return the UUID in a path, and each folder that may be the one of the file's table."""
    parts = path.rstrip("/").split("/")
    for at, part in enumerate(parts):
        is_last = at == len(parts) - 1
        match = _FOLDER.fullmatch(part) or (_FILE.fullmatch(part) if is_last else None)
        if match is not None:
            return uuid.UUID(match.group(1)), frozenset(_table_folders(parts[:at]))
    return None, frozenset()


def _table_folders(parts: list[str]) -> Iterator[str]:
    """List a folder, and its parents as long as the names are those of partitions."""
    yield "".join(f"{part}/" for part in parts)
    while parts and _HIVE_FOLDER.fullmatch(parts[-1]):
        parts = parts[:-1]
        yield "".join(f"{part}/" for part in parts)


def is_table_folder(path: str, tables: Collection[str]) -> bool:
    """Check whether a folder is the one of a table, or of a partition of it."""
    return not frozenset(_table_folders(path.rstrip("/").split("/"))).isdisjoint(tables)
