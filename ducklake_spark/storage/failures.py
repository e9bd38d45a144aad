"""What a file system says when it fails, as an error that names the file and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from ducklake_spark.errors import StorageError

_BACKUP = "Bring it back from a backup; ducklake_verify tells what else is missing."
_RIGHTS = "Ask for the right to that, or check the credentials of the store."
DAMAGED = "If the store is well, the file is damaged: bring it back from a backup."
_STORE = "Check that the store can be reached, and its settings; then try again."


@contextmanager
def reaching(path: str, done: str = "read") -> Iterator[None]:
    """Translate the errors of whatever is to be done to a path; `done` is its participle."""
    try:
        yield
    except FileNotFoundError as error:
        raise StorageError(path, "is not there", hint=_BACKUP, is_missing=True) from error
    except (OSError, pa.ArrowException) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise StorageError(path, f"cannot be {done}: {reason}", hint=_hint(error)) from error


@contextmanager
def files_of(relation: object) -> Iterator[None]:
    """Say of which relation a file is that cannot be reached."""
    try:
        yield
    except StorageError as error:
        error.name_relation(str(relation))
        raise


def _hint(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return _RIGHTS
    return _STORE if isinstance(error, OSError) else DAMAGED
