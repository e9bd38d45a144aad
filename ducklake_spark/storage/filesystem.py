"""Which file system a path is on."""

from __future__ import annotations

from pyarrow import fs

from ducklake_spark.spec.paths import is_remote


def locate(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path and the path as that file system takes it."""
    if is_remote(path):
        file_system, inner = fs.FileSystem.from_uri(path)
        return file_system, inner
    return fs.LocalFileSystem(), path.removeprefix("file://")


def make_parent(file_system: fs.FileSystem, path: str) -> None:
    """Make the directory of a file; object stores need none."""
    if isinstance(file_system, fs.LocalFileSystem):
        file_system.create_dir(path.rpartition("/")[0], recursive=True)
