"""Compares data files with the sizes and row counts that the catalog records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

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


def check_sizes(files: Iterable[DataFile], relation: object) -> None:
    """Raise CatalogDamagedError if a file is larger than the catalog records.

    Spark plans a scan with the recorded sizes, and silently leaves out the row groups of a file
    that lie behind the recorded end. A recorded size that is too large does no harm. A missing file
    is skipped: Spark raises an error when it reads the file.
    """
    listed = list(files)
    if not any(is_remote(file.path) for file in listed):
        sizes = list(map(_size_of, listed))
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            sizes = list(pool.map(_size_of, listed))
    for file, size in zip(listed, sizes, strict=True):
        if size is not None and size > file.file_size_bytes:
            raise CatalogDamagedError(
                f"The data file {file.path} of {relation} has {size:,} bytes, but the catalog "
                f"records {file.file_size_bytes:,}. Spark would leave out rows.",
                hint="If the file is as its writer left it, set file_size_bytes of its row in "
                f"ducklake_data_file to {size}; otherwise restore the file from a backup. "
                "CALL lake.verify() lists all files with a wrong size.",
            )


def _size_of(file: DataFile) -> int | None:
    """Return the size of a file, or None if the file is missing."""
    path = file.path
    if not is_remote(path):
        try:
            return os.stat(local_path(path)).st_size  # noqa: PTH116 - called for each file
        except FileNotFoundError:
            return None
    if path not in _remote_sizes:
        file_system, inner = locate(path)
        with reaching(path):
            found = file_system.get_file_info(inner)
        if found.type != fs.FileType.File:
            return None
        if len(_remote_sizes) >= _MOST_KEPT:
            _remote_sizes.clear()
        _remote_sizes[path] = found.size
    return _remote_sizes[path]


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
