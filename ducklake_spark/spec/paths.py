"""Paths of a lake: joining what the catalog stores, and telling what lies inside the lake.

Lexical only: symbolic links are resolved where files are touched.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from ducklake_spark.errors import PathOutsideLakeError

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
# file:///x is DuckDB's spelling, file:/x is Hadoop's; with another host it is no local file.
_LOCAL = re.compile(r"^file:(?://(?:localhost)?(?=/)|(?=/(?!/)))", re.IGNORECASE)
# One store, several spellings: DuckDB writes s3://, Hadoop reads s3a://.
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "az": "abfss"}
# Below a folder whoever reads it, unless it has two dots.
_PLAIN = re.compile(r"[\w=.-][\w=./ -]*")
_ON_WINDOWS = os.sep == "\\"


@dataclass(frozen=True, slots=True)
class StoredPath:
    """A path as a catalog row holds it: relative to its parent's path, or complete."""

    path: str
    is_relative: bool = True

    def under(self, parent: str) -> str:
        return join(parent, self.path) if self.is_relative else self.path


def as_directory(path: str) -> str:
    """The path with the one trailing slash that every directory in the catalog has."""
    return _slashed(path).rstrip("/") + "/" if path else ""


def join(parent: str, child: str) -> str:
    return as_directory(parent) + child


def local_path(path: str) -> str:
    """The path without the scheme that says that it is a local one."""
    return _LOCAL.sub("", path)


def is_relative(data_path: str) -> bool:
    """Return whether a data path depends on the folder in which its reader runs."""
    return not is_remote(data_path) and not data_path.startswith(("/", "~"))


def is_remote(path: str) -> bool:
    """Whether the path names an object store rather than a local file."""
    return _SCHEME.match(local_path(path)) is not None


def canonical(path: str) -> str:
    """One spelling for every way to write the same path; `..` may not climb out of a bucket."""
    path = local_path(path)
    if _SCHEME.match(path) is None:
        plain = posixpath.normpath(_slashed(path))
        # POSIX lets two slashes in front mean something else, and on no system of ours they do.
        return plain[1:] if plain.startswith("//") and not _ON_WINDOWS else plain
    store, _, key = _literal(path).partition("://")
    bucket, _, key = key.partition("/")
    inner = posixpath.normpath("/" + key.lstrip("/")) if key else ""
    return f"{store}://{bucket}{inner.rstrip('/')}"


def is_inside(root: str, path: str) -> bool:
    """Whether the path lies below the root, whoever reads it.

    Some decode percent signs, some take a backslash for a separator: all must end up inside.
    """
    while True:
        if not (_is_below(root, path) and _is_below(_forward(root), _forward(path))):
            return False
        decoded = unquote(path)
        if decoded == path:
            return True
        root, path = unquote(root), decoded


@dataclass(frozen=True, slots=True)
class Area:
    """Where files of a lake may be: its data path, and the paths that its user allows beside it.

    The catalog names the files, and whoever can write to the catalog can name any file. Only
    spelling counts: a symbolic link is followed wherever it leads.
    """

    data_path: str
    allowed: tuple[str, ...] = ()

    def contains(self, path: str) -> bool:
        """Return whether a file may be read and written at the path."""
        roots = (self.data_path, *self.allowed)
        return any(is_inside(root, path) for root in roots) or any(
            canonical(root) == canonical(path) for root in self.allowed
        )

    def check(self, path: str, what: str) -> None:
        """Raise unless the path is in the area; `what` is at the path."""
        if not self.contains(path):
            folder = path.rstrip("/") if path.endswith("/") else path.rpartition("/")[0]
            raise PathOutsideLakeError(
                f"{what} {path!r} is outside the data path {self.data_path!r}.",
                hint="Whoever can write to the catalog can name any file. If you trust it, add "
                f"this line to the profile: allow_paths: [{(folder or '/')!r}]",
            )

    def check_files(self, location: str, paths: Iterable[str], table: object) -> None:
        """Raise unless every file of a table is in the area; `location` is the table's folder."""
        is_known = self.contains(location)
        for path in paths:
            rest = path[len(location) :] if path.startswith(location) else "../"
            if not (is_known and _PLAIN.fullmatch(rest) and ".." not in rest):
                self.check(path, f"The file of {table}")


def relative_to(root: str, path: str) -> str:
    """The part of the path below root, or an error if it lies outside."""
    if not is_inside(root, path):
        raise PathOutsideLakeError(
            f"{path!r} is not inside {root!r}.",
            hint="Files of a lake are stored below its data path; register others by full path.",
        )
    return _rest(root, path)


def stored_below(root: str, path: str) -> StoredPath:
    """How the catalog stores a path: relative where it lies below root, complete otherwise."""
    if is_inside(root, path):
        rest = _rest(root, path)
        if posixpath.normpath(rest) == rest.rstrip("/") and not rest.startswith("/"):
            return StoredPath(rest)
    return StoredPath(path, is_relative=False)


def _slashed(path: str) -> str:
    return _forward(path) if _ON_WINDOWS else path


def _forward(path: str) -> str:
    return path.replace("\\", "/")


def _literal(path: str) -> str:
    """A remote path with its store's one name. Keys of objects are what they are: `a//b` and
    `a/./b` are other objects than `a/b`."""
    scheme, _, rest = path.partition("://")
    return f"{_SAME_STORE.get(scheme.lower(), scheme.lower())}://{rest}"


def _is_below(root: str, path: str) -> bool:
    if "\x00" in path:
        return False
    above = canonical(root).rstrip("/") + "/"
    found = canonical(path)
    if not found.startswith(above) or ".." in found[len(above) :].split("/"):
        return False
    return not is_remote(path) or _literal(path).startswith(_literal(root).rstrip("/") + "/")


def _rest(root: str, path: str) -> str:
    if is_remote(path):
        return _literal(path)[len(_literal(root).rstrip("/")) + 1 :]
    return canonical(path)[len(canonical(root).rstrip("/")) + 1 :]
