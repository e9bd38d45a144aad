"""Compares data files with the sizes and row counts that the catalog records."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pyarrow import fs

from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.spec.model import DataFile
from ducklake_spark.spec.paths import is_remote, local_path
from ducklake_spark.storage.failures import reaching
from ducklake_spark.storage.filesystem import locate
from ducklake_spark.storage.footers import read_footer

_THREADS = 32  # they wait for the store most of the time
# The sizes of objects that were asked for already: a data file never changes.
_remote_sizes: dict[str, int] = {}
_MOST_KEPT = 1_000_000
_WORTH_LISTING = 20  # objects of one folder, for which one request lists a thousand


def check_sizes(files: Iterable[DataFile], relation: object) -> None:
    """Raise CatalogDamagedError if a file is larger than the catalog records.

    Spark plans a scan with the recorded sizes, and silently leaves out the row groups of a file
    that lie behind the recorded end. A recorded size that is too large does no harm. A missing file
    is skipped: Spark raises an error when it reads the file.
    """
    listed = list(files)
    _ask_stores([file.path for file in listed if is_remote(file.path)])
    for file in listed:
        size = _size_of(file.path)
        if size is not None and size > file.file_size_bytes:
            raise CatalogDamagedError(
                f"The data file {file.path} of {relation} has {size:,} bytes, but the catalog "
                f"records {file.file_size_bytes:,}. Spark would leave out rows.",
                hint="If the file is as its writer left it, set file_size_bytes of its row in "
                f"ducklake_data_file to {size}; otherwise restore the file from a backup. "
                "CALL lake.verify() lists all files with a wrong size.",
            )


def _size_of(path: str) -> int | None:
    """Return the size of a file, or None if the file is missing."""
    if is_remote(path):
        return _remote_sizes.get(path)
    try:
        return os.stat(local_path(path)).st_size  # noqa: PTH116 - called for each file
    except FileNotFoundError:
        return None


def _ask_stores(paths: Sequence[str]) -> None:
    """Remember the sizes of objects: folder by folder for many objects, else one by one."""
    if len(_remote_sizes) > _MOST_KEPT:
        _remote_sizes.clear()
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        if path not in _remote_sizes:
            folders[path.rpartition("/")[0]].append(path)
    questions: list[Callable[[], Iterable[tuple[str, int]]]] = []
    for folder, members in folders.items():
        if len(members) > _WORTH_LISTING:
            questions.append(partial(_sizes_below, folder))
        else:
            questions += [partial(_sizes_at, path) for path in members]
    if questions:
        with ThreadPoolExecutor(_THREADS) as pool:
            for sizes in pool.map(lambda ask: ask(), questions):
                _remote_sizes.update(sizes)


def _sizes_below(folder: str) -> list[tuple[str, int]]:
    """List the objects in a folder, a thousand with each request."""
    file_system, inner = locate(folder)
    with reaching(folder, "listed"):
        found = file_system.get_file_info(fs.FileSelector(inner, allow_not_found=True))
    return [(f"{folder}/{info.base_name}", info.size) for info in found if info.is_file]


def _sizes_at(path: str) -> list[tuple[str, int]]:
    file_system, inner = locate(path)
    with reaching(path):
        found = file_system.get_file_info(inner)
    return [(path, found.size)] if found.is_file else []


def check_row_counts(files: Iterable[DataFile], relation: object) -> None:
    """Raise CatalogDamagedError if a file has more rows than the catalog records.

    Call this before a file is ended because all rows that the catalog knows of are deleted.
    """
    listed = list(files)
    with ThreadPoolExecutor(_THREADS) as pool:
        counts = list(pool.map(lambda file: read_footer(file.path).metadata.num_rows, listed))
    for file, count in zip(listed, counts, strict=True):
        if count > file.record_count:
            raise CatalogDamagedError(
                f"The data file {file.path} of {relation} has {count:,} rows, but the catalog "
                f"records {file.record_count:,}. Nothing was deleted.",
                hint=f"Set record_count of its row in ducklake_data_file to {count}. "
                "CALL lake.verify() lists all files with a wrong row count.",
            )
