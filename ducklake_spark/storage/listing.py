"""What lies below a folder, and whether a file is really there: links are seen as links."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pyarrow import fs

from ducklake_spark.spec.paths import canonical, is_inside, is_remote, join
from ducklake_spark.storage.failures import reaching
from ducklake_spark.storage.filesystem import locate

_THREADS = 16  # they wait for the store most of the time


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file by its complete path."""

    path: str
    size_bytes: int
    modified: datetime.datetime


@dataclass(frozen=True, slots=True)
class ListedFolder:
    """A folder by its complete path with a trailing slash.

    `modified` is None on an object store. `holds_links`: besides files and folders it holds links
    or devices, so it is not empty without its files.
    """

    path: str
    modified: datetime.datetime | None
    holds_links: bool = False


Listed = ListedFile | ListedFolder


def list_below(folder: str) -> Iterator[Listed]:
    """List all files and folders below a folder. Links are neither followed nor listed."""
    return _remote_files(folder) if is_remote(folder) else _local_files(Path(canonical(folder)))


def _remote_files(folder: str) -> Iterator[Listed]:
    file_system, inner = locate(folder)
    root = inner.rstrip("/") + "/"
    selector = fs.FileSelector(root, recursive=True, allow_not_found=True)
    with reaching(folder, "listed"):
        found = file_system.get_file_info(selector)
    for info in found:
        path = folder.rstrip("/") + "/" + info.path.removeprefix(root)
        if info.type == fs.FileType.File:
            yield ListedFile(path, info.size, info.mtime)
        elif info.type == fs.FileType.Directory:
            yield ListedFolder(f"{path}/", None)


def _local_files(folder: Path) -> Iterator[Listed]:
    for parent, folders, names in os.walk(folder):  # which does not follow links
        links = any(Path(parent, name).is_symlink() for name in folders)
        for name in names:
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file():
                links = True
                continue
            found = path.stat()
            yield ListedFile(str(path), found.st_size, _moment(found.st_mtime))
        if parent != str(folder):
            yield ListedFolder(f"{parent}/", _moment(Path(parent).stat().st_mtime), links)


def _moment(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def missing_files(paths: Iterable[str]) -> list[str]:
    """Those of the files that are not there."""

    def is_missing(path: str) -> bool:
        file_system, inner = locate(path)
        with reaching(path):
            return bool(file_system.get_file_info(inner).type != fs.FileType.File)

    listed = list(paths)
    with ThreadPoolExecutor(_THREADS) as pool:
        gone = list(pool.map(is_missing, listed))
    return [path for path, missing in zip(listed, gone, strict=True) if missing]


def identities(paths: Iterable[str]) -> Iterator[str]:
    """One spelling for each file, however its path is written and whatever links lead to it."""
    resolved = _resolver()
    return (resolved(path) for path in paths)


def is_really_inside(root: str, path: str) -> bool:
    """Whether a file lies below the root, once the links on the way to both are followed."""
    beside, found = identities([join(root, "any"), path])
    return is_inside(beside.rpartition("/")[0], found)


def _resolver() -> Callable[[str], str]:
    """Follows the links on the way to files. A file that is a link itself is taken as it is: what
    is deleted is the link."""
    real = cache(os.path.realpath)

    def resolved(path: str) -> str:
        plain = canonical(path)
        if is_remote(plain):
            return plain
        parent, _, name = plain.rpartition("/")
        return f"{real(parent or '/').rstrip('/')}/{name}"

    return resolved
