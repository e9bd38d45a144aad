"""Paths of a lake: joining what the catalog stores, and telling what lies inside the lake.

Lexical only: symbolic links are resolved where files are touched.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from ducklake_spark.errors import PathOutsideLakeError

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
# One store, several spellings: DuckDB writes s3://, Hadoop reads s3a://.
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "az": "abfss"}


@dataclass(frozen=True, slots=True)
class StoredPath:
    """A path as a catalog row holds it: relative to its parent's path, or complete."""

    path: str
    is_relative: bool = True

    def under(self, parent: str) -> str:
        return join(parent, self.path) if self.is_relative else self.path


def as_directory(path: str) -> str:
    """The path with the one trailing slash that every directory in the catalog has."""
    return path.replace("\\", "/").rstrip("/") + "/" if path else ""


def join(parent: str, child: str) -> str:
    return as_directory(parent) + child


def is_remote(path: str) -> bool:
    """Whether the path names an object store rather than a local file."""
    match = _SCHEME.match(path)
    return match is not None and match.group(1).lower() != "file"


def canonical(path: str) -> str:
    """One spelling for every way to write the same path; `..` may not climb out of a store."""
    match = _SCHEME.match(path)
    if match is None:
        return posixpath.normpath(path.replace("\\", "/"))
    scheme = match.group(1).lower()
    rest = posixpath.normpath("/" + path[match.end() :].replace("\\", "/").lstrip("/"))
    if scheme == "file":
        return rest
    return f"{_SAME_STORE.get(scheme, scheme)}:/{rest}"


def is_inside(root: str, path: str) -> bool:
    """Whether the path, once normalised, lies below the root."""
    return canonical(path).startswith(canonical(root).rstrip("/") + "/")


def relative_to(root: str, path: str) -> str:
    """The part of the path below root, or an error if it lies outside."""
    if not is_inside(root, path):
        raise PathOutsideLakeError(
            f"{path!r} is not inside {root!r}.",
            hint="Files of a lake are stored below its data path; register others by full path.",
        )
    return canonical(path)[len(canonical(root).rstrip("/")) + 1 :]


def stored_below(root: str, path: str) -> StoredPath:
    """How the catalog stores a path: relative where it lies below root, complete otherwise."""
    if is_inside(root, path):
        return StoredPath(relative_to(root, path))
    return StoredPath(path, is_relative=False)
