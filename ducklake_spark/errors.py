"""Every error a user of this package can meet.

A message says what failed, on which relation and why; the hint says what to do next. Codes are
stable: documentation and tests refer to them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any


class DuckLakeError(Exception):
    """Root of all errors raised on purpose by this package."""

    code = "DL000"
    # What became of the transaction, for those who run it themselves.
    aftermath: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        parts = (f"[{self.code}] {self.message}", self.hint, self.aftermath)
        return " ".join(part for part in parts if part)

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes (Spark workers, test runners): keep the hint and extras.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(cls: type[DuckLakeError], args: tuple[Any, ...], state: dict[str, Any]) -> Exception:
    error = cls.__new__(cls)
    Exception.__init__(error, *args)
    error.__dict__.update(state)
    return error


# --- settings ---


class ConfigError(DuckLakeError, ValueError):
    """A setting is missing, unknown or contradicts another."""

    code = "DL101"


class MissingExtraError(ConfigError):
    """An optional dependency is needed for what was asked."""

    code = "DL102"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs a package that is not installed.",
            hint=f'Install it with: pip install "dbt-ducklake[{extra}]"',
        )


# --- the catalog database ---


class CatalogError(DuckLakeError):
    """Something is wrong with the catalog database itself."""

    code = "DL200"


class CatalogUnavailableError(CatalogError):
    """The catalog database cannot be reached, or is held by another process."""

    code = "DL201"


class CatalogVersionError(CatalogError):
    """The catalog has a DuckLake version that this package cannot read."""

    code = "DL202"


class CatalogNotFoundError(CatalogError):
    """There is no DuckLake catalog where one was expected."""

    code = "DL203"


class DataPathError(CatalogError):
    """The data path given contradicts the one stored in the catalog, or is missing."""

    code = "DL204"


class UnsupportedCatalogError(ConfigError):
    """The catalog database is of a kind this package refuses to write."""

    code = "DL205"


class CatalogDamagedError(CatalogError):
    """Rows of the catalog contradict the DuckLake specification."""

    code = "DL206"


class CatalogAccessError(CatalogError):
    """The file or the database user does not allow what was asked of the catalog."""

    code = "DL207"


class CatalogTimeoutError(CatalogError):
    """The database server canceled a statement, or ended a session, after one of its timeouts."""

    code = "DL208"


# --- names and definitions ---


class NotFoundError(DuckLakeError, LookupError):
    """A schema, table, view, column, snapshot or option does not exist."""

    code = "DL301"

    def __init__(self, what: str, *, near: Iterable[str] = (), wanted: str = "") -> None:
        by_lower = {name.lower(): name for name in near}
        found = difflib.get_close_matches(wanted.lower(), by_lower, n=3) if wanted else []
        close = [by_lower[name] for name in found]
        hint = f"Did you mean {' or '.join(repr(name) for name in close)}?" if close else None
        super().__init__(f"{what} does not exist.", hint=hint)


class AlreadyExistsError(DuckLakeError):
    """The name is taken."""

    code = "DL302"


class InvalidDefinitionError(DuckLakeError, ValueError):
    """A table, column, type, partition or sort definition that DuckLake cannot hold."""

    code = "DL303"


class UnsupportedFeatureError(DuckLakeError):
    """The lake uses something this package refuses by name rather than read wrong."""

    code = "DL304"


class IncompatibleFileError(DuckLakeError, ValueError):
    """A file whose columns, types or values are not those of the table it shall become part of."""

    code = "DL305"


# --- SQL ---


class StatementError(DuckLakeError, ValueError):
    """A statement that cannot be understood."""

    code = "DL401"


class QueryError(DuckLakeError):
    """Spark refused a query, or failed while it ran it."""

    code = "DL402"


class ChangedRowsError(QueryError):
    """Spark computed the rows of a statement again, and they were other rows."""

    code = "DL403"


# --- commits ---


class CommitError(DuckLakeError):
    """A commit did not end with certainty that it landed."""

    code = "DL500"


class CommitConflictError(CommitError):
    """Another commit changed what this one depends on; nothing of this one landed."""

    code = "DL501"


class CommitContentionError(CommitError):
    """Every attempt lost the race for the next snapshot; nothing landed, trying again is safe."""

    code = "DL502"


class CommitUnknownError(CommitError):
    """The catalog went away during COMMIT and could not be asked since: it may have landed."""

    code = "DL503"


class CommitMessageRequiredError(CommitError):
    """The lake asks for a commit message (option ``require_commit_message``)."""

    code = "DL504"


class TransactionStateError(DuckLakeError):
    """A transaction was used after it ended."""

    code = "DL505"


class AfterCommitError(DuckLakeError):
    """A transaction was committed, and an operation that was to follow it failed."""

    code = "DL506"


class PartlyDoneError(DuckLakeError):
    """An operation of several parts failed in some of them, and was carried out in all others."""

    code = "DL507"

    def __init__(self, operation: str, failures: Mapping[str, Exception]) -> None:
        said = {
            error.message if isinstance(error, DuckLakeError) else str(error).partition("\n")[0]
            for error in failures.values()
        }
        hints = (error.hint for error in failures.values() if isinstance(error, DuckLakeError))
        super().__init__(
            f"{operation} failed for {', '.join(failures)}, and all else was done: "
            f"{' '.join(sorted(said))}",
            hint=next(filter(None, hints), "verify tells what is wrong with a lake."),
        )


class SnapshotExpiredError(CommitConflictError):
    """Another client expired a snapshot while it was in use; nothing was changed.

    Raised by reads of that snapshot, and by commits of transactions that began at it or that
    cannot be compared with it any more.
    """

    code = "DL508"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(
            message,
            hint=hint
            or "Run it again. Expire only snapshots that are older than your longest "
            "transaction: raise older_than or the option expire_older_than.",
        )


# --- files ---


class StorageError(DuckLakeError):
    """A file, or the store that holds it, cannot be read or written."""

    code = "DL601"

    def __init__(
        self, path: str, problem: str, *, hint: str | None = None, is_missing: bool = False
    ) -> None:
        super().__init__(f"{path!r} {problem}.", hint=hint)
        self.path = path
        self.problem = problem
        self.is_missing = is_missing
        self.relation: str | None = None

    def name_relation(self, relation: str) -> None:
        """Say whose file it is; whoever is nearest to the file knows best."""
        if self.relation is None:
            self.relation = relation
            self.message = f"{self.path!r} of {relation} {self.problem}."


class RowCountError(DuckLakeError):
    """The data files of a write do not hold the rows that Spark counted; nothing was committed."""

    code = "DL602"


# --- refusals ---


class RefusedError(DuckLakeError):
    """Understood, possible, and refused because it would endanger data."""

    code = "DL700"


class ReadOnlyError(RefusedError):
    """The lake was opened read-only."""

    code = "DL701"


class UnwritableVersionError(RefusedError):
    """The lake has a DuckLake version that this package reads and does not write."""

    code = "DL704"


class PathOutsideLakeError(RefusedError):
    """A path leaves the lake's data path."""

    code = "DL702"


class UntrustedSqlError(RefusedError):
    """SQL that a catalog stores does more than compute."""

    code = "DL703"
