"""What the catalogs that are files have in common."""

from __future__ import annotations

import os
from pathlib import Path

from ducklake_spark.errors import CatalogAccessError


def holds_database(path: Path, magic: bytes, *, at: int, kind: str) -> bool:
    """Whether there is a database in the file; none yet if it is empty or missing.

    A file that holds something else is refused before a driver gets to see it: DuckDB would go
    and look for an extension that can read it.
    """
    try:
        with path.open("rb") as file:
            head = file.read(at + len(magic))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise cannot_open(path, str(error.strerror)) from error
    if head and head[at:] != magic:
        raise CatalogAccessError(
            f"The catalog file {path} cannot be opened: it is not a {kind} file.",
            hint="Write sqlite:FILE for a catalog in SQLite, the path alone for one in DuckDB, "
            "or name another file.",
        )
    return bool(head)


def check_parent(path: Path) -> None:
    """Raise CatalogAccessError if the directory of a new catalog file cannot be created."""
    folder = path.absolute().parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise cannot_open(path, f"{folder} is not a directory")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise cannot_open(path, f"no permission to create it in {folder}")


def make_parent(path: Path) -> None:
    """Make the directory that a new catalog file goes to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"its directory cannot be made ({error.strerror})"
        raise cannot_open(path, reason) from error


def check_access(path: Path, *, write: bool) -> None:
    """Raise CatalogAccessError if permissions do not let us open the file, or make it."""
    needed = os.R_OK | (os.W_OK if write else 0)
    if not os.access(path if path.exists() else path.parent, needed):
        raise cannot_open(path, f"no permission to {'write' if write else 'read'}")


def cannot_open(path: Path, reason: str) -> CatalogAccessError:
    return CatalogAccessError(
        f"The catalog file {path} cannot be opened: {reason}.",
        hint="Check the path, and who may read and write there.",
    )
