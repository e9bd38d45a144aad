"""Which file system a path is on."""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from pyarrow import fs

from ducklake_spark.spec.file_names import staged_at
from ducklake_spark.spec.paths import is_remote, local_path
from ducklake_spark.storage.failures import reaching

_log = logging.getLogger(__name__)
_WILDCARD = re.compile(r"[*?[]")
_PART = re.compile(r"\*\*/|\[[^]/]+\]|.", re.DOTALL)
# Hadoop's names for stores that PyArrow knows under one.
_ARROW_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "az": "abfss", "abfs": "abfss"}

_NOT_EMPTY_OR_GONE = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR}


def locate(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path and the path as that file system takes it."""
    if not is_remote(path):
        return fs.LocalFileSystem(), local_path(path)
    # Without the key, in which PyArrow would decode percent signs; DuckDB takes them as they are.
    scheme, _, rest = path.partition("://")
    bucket, slash, key = rest.partition("/")
    file_system, root = _store(_ARROW_SCHEMES.get(scheme.lower(), scheme.lower()), bucket)
    return file_system, f"{root}{slash}{key}"


@cache
def _store(scheme: str, bucket: str) -> tuple[fs.FileSystem, str]:
    # Kept, for PyArrow asks a bucket for its region first.
    address = f"{scheme}://{bucket}"
    with reaching(address, "opened"):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(address)
    return found


def make_parent(file_system: fs.FileSystem, path: str) -> None:
    """Make the directory of a file; object stores need none."""
    if isinstance(file_system, fs.LocalFileSystem):
        file_system.create_dir(path.rpartition("/")[0], recursive=True)


def list_files(folder: str) -> list[str]:
    """The files below a folder, by their paths inside it."""
    file_system, inner = locate(folder)
    root = inner.rstrip("/") + "/"
    selector = fs.FileSelector(root, recursive=True, allow_not_found=True)
    with reaching(folder, "listed"):
        found = file_system.get_file_info(selector)
    return [info.path.removeprefix(root) for info in found if info.type == fs.FileType.File]


def expanded(path: str) -> list[str]:
    """The files that a path with wildcards means, in order; one without means itself.

    Two stars stand for any number of folders, all other wildcards for parts of one name.
    """
    wildcard = _WILDCARD.search(path)
    if wildcard is None:
        return [path]
    folder = path[: path.rfind("/", 0, wildcard.start()) + 1]
    pattern = re.compile("".join(map(_matching, _PART.findall(path[len(folder) :]))), re.DOTALL)
    return sorted(folder + file for file in list_files(folder) if pattern.fullmatch(file))


def _matching(part: str) -> str:
    """The regular expression for a part of a pattern."""
    match part:
        case "**/":
            return "(?:[^/]+/)*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _ if len(part) > 1:
            return part.replace("[!", "[^", 1)
        case _:
            return re.escape(part)


def remove_tree(folder: str) -> None:
    """Remove a folder with all that is in it; one that is gone is fine."""
    file_system, inner = locate(folder)
    with reaching(folder, "removed"):
        if file_system.get_file_info(inner.rstrip("/")).type != fs.FileType.NotFound:
            file_system.delete_dir(inner.rstrip("/"))


def remove_file(path: str) -> None:
    """Remove a file; one that is gone is fine.

    On a local disk Spark leaves a checksum beside each file that it writes, which goes with it.
    """
    file_system, inner = locate(path)
    with reaching(path, "removed"):
        _remove(file_system, inner)
        if isinstance(file_system, fs.LocalFileSystem):
            folder, slash, name = inner.rpartition("/")
            _remove(file_system, f"{folder}{slash}.{name}.crc")


def remove_files(paths: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Remove files that nothing refers to, and then those of the folders that are empty.

    One that cannot be removed is a matter for the log: the caller is on its way to tell of a commit
    that landed, or of an error. A staging folder goes with its last file. Other folders are removed
    on a local disk only: an object store could remove what another client writes to the folder.
    """
    removed = list(paths)
    staging = sorted({folder for path in removed if (folder := staging_folder_of(path))})
    others = [folder for folder in folders if not is_remote(folder)]
    steps: list[tuple[str, Callable[[str], None]]] = [(path, remove_file) for path in removed]
    steps += [(folder, remove_empty_folder) for folder in (*staging, *others)]
    for path, remove in steps:
        try:
            remove(path)
        except Exception as error:  # noqa: BLE001 - whatever a store's client raises
            _log.warning("%s is of no use any more and could not be removed: %s", path, error)


def staging_folder_of(path: str) -> str | None:
    """Return the folder of a file, with a trailing slash, if it is a staging folder."""
    folder = path.rpartition("/")[0]
    return f"{folder}/" if staged_at(folder) is not None else None


def remove_empty_folder(folder: str) -> None:
    """Remove a folder without files; do nothing if it has any, or is gone.

    An object store has a folder only as an empty object, which PyArrow makes when it deletes the
    last file. PyArrow removes that object only together with all files below it, so on an object
    store this function accepts only folders that no other writer uses.
    """
    file_system, inner = locate(folder.rstrip("/"))
    with reaching(folder, "removed"):
        if not isinstance(file_system, fs.LocalFileSystem):
            found = file_system.get_file_info(inner)
            if found.type == fs.FileType.Directory and not list_files(folder):
                file_system.delete_dir(inner)
            return
        try:
            Path(inner).rmdir()  # fails if the folder holds anything
        except OSError as error:
            if error.errno not in _NOT_EMPTY_OR_GONE:
                raise


def _remove(file_system: fs.FileSystem, path: str) -> None:
    if file_system.get_file_info(path).type == fs.FileType.File:
        with suppress(FileNotFoundError):  # another client removed it in between
            file_system.delete_file(path)


def move_file(source: str, target: str) -> None:
    """Move a file within one file system; an object store copies it on its own side."""
    file_system, inner = locate(source)
    _, wanted = locate(target)
    with reaching(source, "moved"):
        make_parent(file_system, wanted)
        file_system.move(inner, wanted)
