"""What lies below a folder, as the store itself lists it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from pyarrow import fs

from ducklake_spark.spec.paths import as_directory
from ducklake_spark.storage.filesystem import locate


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file with its complete path."""

    path: str
    size_bytes: int
    modified: datetime.datetime


def list_below(folder: str) -> Iterator[ListedFile]:
    """Every file below a folder; none if there is no such folder."""
    file_system, inner = locate(folder)
    root = as_directory(inner)
    selector = fs.FileSelector(root, recursive=True, allow_not_found=True)
    for info in file_system.get_file_info(selector):
        if info.type == fs.FileType.File:
            path = as_directory(folder) + info.path.removeprefix(root)
            yield ListedFile(path, info.size, info.mtime)
