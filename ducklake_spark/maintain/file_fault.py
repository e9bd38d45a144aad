"""What is wrong with a file, before it is known whose it is."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ducklake_spark.errors import StorageError, UnsupportedFeatureError
from ducklake_spark.spec.faults import Fault, Severity

MISSING = "file-missing"
# What reading a file raises if the file is to blame.
UNREADABLE = (StorageError, pa.ArrowException, UnsupportedFeatureError)


@dataclass(frozen=True, slots=True)
class FileFault:
    """A fault of the file at a path."""

    fault: str
    path: str
    problem: str
    advice: str

    def of(self, relation: str) -> Fault:
        problem = f"{self.path} {self.problem}"
        return Fault(Severity.ERROR, self.fault, relation, problem, self.advice)


def unreadable(path: str, failure: Exception) -> FileFault:
    """The fault of a file that could not be read."""
    if isinstance(failure, StorageError) and failure.is_missing:
        return FileFault(
            MISSING,
            path,
            "is not there: every query that needs it fails.",
            "Bring it back from a backup. If that cannot be, delete its row from the catalog: "
            "its rows are lost.",
        )
    reason = str(failure.__cause__ or failure).partition("\n")[0].rstrip(".")
    return FileFault(
        "file-unreadable",
        path,
        f"cannot be read: {reason}.",
        "If the store is well, the file is damaged: bring it back from a backup.",
    )


def not_allowed(path: str) -> FileFault:
    """Make the fault of a file that is neither in the data path nor in allow_paths."""
    return FileFault(
        "path-not-allowed",
        path,
        "is outside the data path and allow_paths, so it was not read, and queries fail.",
        "Find out who registered the file. If you trust it, add its folder to allow_paths.",
    )


def wrong_size(path: str, stored: int, said: int | None, what: str) -> FileFault:
    """Return the fault of a file whose size differs from the size in the catalog."""
    effect = "Spark skips rows or fails" if what == "file" else "DuckDB fails to read it"
    return FileFault(
        f"{what}-size-wrong",
        path,
        f"has a {what} of {stored:,} bytes, and the catalog says {said}: {effect}.",
        f"If the file is the one that was written, set {what}_size"
        f"{'_bytes' if what == 'file' else ''} of its row to {stored}.",
    )
