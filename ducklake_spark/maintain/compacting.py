"""What all compactions have in common: the tables they are for, a commit for each of these."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from ducklake_spark.catalog import Catalog, CommitResult, Compaction, SnapshotReader
from ducklake_spark.errors import (
    CommitConflictError,
    NotFoundError,
    PartlyDoneError,
    UnsupportedFeatureError,
)
from ducklake_spark.maintain.targets import named, tables_of
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Table
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.write.move import discard

_AT_ONCE = 4
_ATTEMPTS = 3
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompactedFile:
    """One file that takes the place of some; none, if no row of theirs was left.

    `skipped`: why a table is left alone that has something to do.
    """

    schema_name: str
    table_name: str
    files_processed: int
    files_created: int
    skipped: str | None = None

    @classmethod
    def none_of(cls, table: QualifiedName, why: str) -> CompactedFile:
        return cls(table.schema, table.name, 0, 0, why)


Row = TypeVar("Row")
# Plans and, unless it is a dry run, carries out what is to be done to a table of a snapshot.
Work = Callable[[Session, SnapshotReader, Table], list[Row]]


@dataclass(frozen=True, slots=True)
class Operation(Generic[Row]):
    """What is done to each table; `skip` makes the row of one to which it cannot be done."""

    name: str
    work: Work[Row]
    skip: Callable[[QualifiedName, str], Row]


def compact_tables(
    catalog: Catalog,
    session: Session,
    schema: str | None,
    table_name: str | None,
    operation: Operation[Row],
) -> list[Row]:
    """Do it to one table, or to those of a schema or the lake that want to be compacted.

    Each table has its commit. Where one of several fails, all others go on: then it is an error.
    """
    if catalog.is_encrypted:
        raise UnsupportedFeatureError(
            "The lake is encrypted, and this package writes plain files only.",
            hint="Compact it with DuckDB.",
        )
    if table_name is not None:
        with session.sibling(writes_field_ids=True) as own:
            return _with_retries(catalog, own, named(table_name, schema), operation.work)
    reader = catalog.at()
    names = [table.name for table in tables_of(reader, schema=schema) if is_willing(reader, table)]
    failures: dict[str, Exception] = {}
    with _Sessions(session) as sessions:

        def do(name: QualifiedName) -> list[Row]:
            try:
                return _with_retries(catalog, sessions.own, name, operation.work)
            except UnsupportedFeatureError as error:
                _log.warning("%s", error)
                return [operation.skip(name, error.message)]
            except NotFoundError:  # dropped meanwhile
                _log.info("%s is there no more", name)
            except Exception as error:  # noqa: BLE001 - raised when all are done
                failures[str(name)] = error
            return []

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            done = list(pool.map(do, names))
    if failures:
        raise PartlyDoneError(operation.name, failures) from next(iter(failures.values()))
    return [row for rows in done for row in rows]


class _Sessions:
    """A Spark session for each thread that asks for one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._local = threading.local()
        self._open = ExitStack()

    @property
    def own(self) -> Session:
        if not hasattr(self._local, "session"):
            self._local.session = self._open.enter_context(
                self._session.sibling(writes_field_ids=True)
            )
        session: Session = self._local.session
        return session

    def __enter__(self) -> _Sessions:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def is_willing(reader: SnapshotReader, table: Table) -> bool:
    """Return whether the table does not opt out of being compacted with others."""
    return reader.options(table).get("auto_compact", "true") == "true"


def _with_retries(
    catalog: Catalog, session: Session, name: QualifiedName, work: Work[Row]
) -> list[Row]:
    """A compaction that loses against a writer is planned anew on what that one left."""

    def once() -> list[Row]:
        reader = catalog.at()
        return work(session, reader, reader.table(name))

    for _ in range(_ATTEMPTS - 1):
        try:
            return once()
        except CommitConflictError as conflict:
            _log.info("Once more: %s", conflict)
    return once()


def commit(
    catalog: Catalog,
    reader: SnapshotReader,
    table: Table,
    compactions: Sequence[Compaction],
    message: str,
    written: list[StoredPath],
) -> CommitResult:
    """Commit what was planned at a snapshot; of the files written, only those that can go stay
    listed."""
    with catalog.transaction(message=message, base=reader.snapshot) as tx:
        tx.compact(table.name, compactions)
        try:
            return tx.commit()
        finally:
            if tx.may_have_landed:
                written.clear()


@contextmanager
def discarded_on_error(table: Table) -> Iterator[list[StoredPath]]:
    """A list for files, which go if it is certain that they do not become part of the table."""
    files: list[StoredPath] = []
    try:
        yield files
    except BaseException:
        discard(table, files)
        raise


def compact_with_duckdb(operation: str) -> str:
    """Return the advice for a table with values that Spark cannot write."""
    return f"DuckDB can compact the table, with its ducklake_{operation}."
