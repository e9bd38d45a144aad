"""The commit protocol: one snapshot per commit, all or nothing, known to have landed or not.

Every attempt is one database transaction. It reads the newest snapshot, checks what others
committed since the base, and writes its rows on top; the primary key of ducklake_snapshot decides
who was first (rule 15). No data file is written again for a retry.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ducklake_spark.catalog.batch import Batch, insert_into
from ducklake_spark.catalog.checks import check_files, check_not_null, what_i_did
from ducklake_spark.catalog.compaction_rows import CompactionRows
from ducklake_spark.catalog.conflicts import check_conflicts
from ducklake_spark.catalog.data_rows import Staging, add_data
from ducklake_spark.catalog.define_rows import add_definitions
from ducklake_spark.catalog.dialects import Failure, Outcome
from ducklake_spark.catalog.history import check_same, latest_snapshot, read_commits
from ducklake_spark.catalog.inlined_tables import add_inlined_tables
from ducklake_spark.catalog.local_changes import LocalChanges
from ducklake_spark.catalog.options import in_force, read_options
from ducklake_spark.catalog.retries import Patience
from ducklake_spark.catalog.store import LakeFacts, Store
from ducklake_spark.errors import (
    CatalogError,
    CatalogUnavailableError,
    CommitContentionError,
    CommitMessageRequiredError,
    CommitUnknownError,
    SnapshotExpiredError,
)
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import format_changes
from ducklake_spark.spec.model import Commit, Snapshot
from ducklake_spark.spec.names import check_text


@dataclass(frozen=True, slots=True)
class CommitNote:
    """Who commits, and what they say about it."""

    author: str | None = None
    message: str | None = None
    extra_info: str | None = None

    def __post_init__(self) -> None:
        check_text(self.author or "", "the author of a commit")
        check_text(self.message or "", "the message of a commit")
        check_text(self.extra_info or "", "extra information of a commit")


@dataclass(frozen=True, slots=True)
class CommitResult:
    """How a commit ended. Without changes it made no snapshot, and names the one it saw.

    `ids` gives the committed ids of what the transaction knew under ids below zero;
    `superseded_files` are staged delete files that others took the place of and that can go.
    """

    snapshot_id: int
    is_new: bool
    attempts: int = 0
    ids: dict[int, int] = field(default_factory=dict)
    superseded_files: tuple[str, ...] = ()


@dataclass(slots=True)
class CommitState:
    """What is known of a commit even if it is interrupted, as Ctrl-C may at any place."""

    staging: Staging = field(default_factory=Staging)
    # From COMMIT on, unless the database says that it did not.
    may_have_landed: bool = False


def commit_changes(
    store: Store,
    facts: LakeFacts,
    base: Snapshot,
    changes: LocalChanges,
    note: CommitNote,
    state: CommitState,
) -> CommitResult:
    """Commit, retrying while others are merely faster; raises a CommitError otherwise."""
    if changes.is_empty:
        superseded = state.staging.superseded(changes)
        return CommitResult(base.id, is_new=False, superseded_files=superseded)
    return _Commit(store, facts, base, changes, note, state).run()


# How long a transaction may stay undecided before its session is ended by force.
_PATIENCE_S = 2.0
_PAUSE_S = 0.05
_log = logging.getLogger(__name__)
_TICK = datetime.timedelta(microseconds=1)


class _ContendedError(Exception):
    """An attempt that did not land and may be repeated."""

    def __init__(self, reason: DBAPIError) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class _Attempt:
    """How far an attempt got, should its connection break."""

    token: str | None = None
    snapshot: Snapshot | None = None
    changes_made: str = ""
    sent_commit: bool = False


@dataclass(slots=True)
class _Commit:
    store: Store
    facts: LakeFacts
    base: Snapshot
    changes: LocalChanges
    note: CommitNote
    state: CommitState

    def run(self) -> CommitResult:
        patience = Patience(self.store)
        while True:
            try:
                result = self._attempt(patience)
            except _ContendedError as contended:
                if not patience.wait_after(contended.reason):
                    raise self._gave_up(contended.reason, patience.attempt) from contended
            else:
                self.store.report_answer()
                return result

    def _gave_up(self, reason: DBAPIError, attempts: int) -> CatalogError | CommitContentionError:
        failure = self.store.database.classify(reason)
        if failure is Failure.TIMED_OUT:
            return self.store.translated(reason)
        if failure is Failure.LOST:
            return CatalogUnavailableError(
                f"The catalog {self.store.database.describe()} cannot be reached. "
                "Nothing was changed.",
                hint="Check that the database server runs, then run it again.",
            )
        return CommitContentionError(
            f"The commit to {self.store.database.describe()} did not get through in {attempts} "
            "attempts, because others kept committing or held the catalog. Nothing was changed.",
            hint="Run it again, with fewer writers at once.",
        )

    def _attempt(self, patience: Patience) -> CommitResult:
        progress = _Attempt()
        try:
            with self._transaction(progress) as connection:
                batch = self._collect(connection, progress)
                self._write(connection, batch, progress)
        except DBAPIError as error:
            if not self._landed_after(error, progress, patience.deadline):
                self.state.may_have_landed = False
                raise _ContendedError(error) from error
        except BaseException:
            if self.state.may_have_landed:
                _log.warning(
                    "The commit of snapshot %s to %s was interrupted. It may have landed, so no "
                    "file was removed.",
                    self._shown(progress),
                    self.store.database.describe(),
                )
            raise
        if progress.snapshot is None:  # options only
            return CommitResult(self.base.id, False, patience.attempt, batch.ids)
        superseded = self.state.staging.superseded(self.changes)
        return CommitResult(batch.snapshot_id, True, patience.attempt, batch.ids, superseded)

    @contextmanager
    def _transaction(self, progress: _Attempt) -> Iterator[Connection]:
        with self.store.writing() as connection:
            yield connection
            progress.sent_commit = self.state.may_have_landed = True

    def _collect(self, connection: Connection, progress: _Attempt) -> Batch:
        """Check against what others committed, and build the rows on top of it."""
        head = latest_snapshot(connection)
        if head.id == self.base.id:
            check_same(self.base, head.time, self.store.database.describe())
        # The history stays in order even if the clocks of two clients disagree.
        now = max(self.store.database.now(connection), head.time + _TICK)
        progress.token = self.store.database.transaction_token(connection)
        batch = Batch(head, now)
        add_definitions(batch, self.changes)
        if head.id != self.base.id:
            self._check_conflicts(connection, batch, head)
        check_not_null(connection, self.store.database, head.id, self.changes)
        add_inlined_tables(batch, connection, self.store.database.kind, self.changes)
        add_data(batch, connection, self.changes, self.facts.data_path, self.state.staging)
        self._add_compactions(batch, connection)
        if batch.changes:  # what sets options alone is no commit: how else is this one unset?
            self._check_message(connection)
        return batch

    def _add_compactions(self, batch: Batch, connection: Connection) -> None:
        database, data_path = self.store.database, self.facts.data_path
        for table, data in self.changes.written():
            if data.compactions:
                rows = CompactionRows(batch, connection, database, table, data_path)
                rows.add(data.compactions)

    def _check_conflicts(self, connection: Connection, batch: Batch, head: Snapshot) -> None:
        theirs = self._commits_since_base(connection, head)
        mine = what_i_did(self.changes, batch.changes)
        check_conflicts(mine, theirs)
        check_files(connection, self.changes, mine, theirs)

    def _commits_since_base(self, connection: Connection, head: Snapshot) -> list[Commit]:
        """Return every commit after the base; raise if one of them, or the base, is missing.

        Snapshot ids have no gaps of their own. The changes of an expired snapshot are unknown:
        it may have dropped the table that this transaction appends to.
        """
        commits = read_commits(connection, self.base.id - 1, head.id)
        found = {commit.snapshot.id: commit.snapshot for commit in commits}
        lake = self.store.database.describe()
        if self.base.id not in found:
            raise SnapshotExpiredError(
                f"Snapshot {self.base.id} of the lake {lake}, which this transaction reads, was "
                "expired before the commit. Nothing was changed."
            )
        check_same(self.base, found[self.base.id].time, lake)
        missing = sorted({*range(self.base.id, head.id)} - found.keys())
        if missing:
            raise SnapshotExpiredError(
                f"Snapshot {missing[0]} of the lake {lake} was committed and expired during this "
                "transaction, so its changes cannot be checked for conflicts. Nothing was changed."
            )
        return [commit for commit in commits if commit.snapshot.id > self.base.id]

    def _check_message(self, connection: Connection) -> None:
        options = in_force(read_options(connection))
        if options.get("require_commit_message") == "true" and not self.note.message:
            raise CommitMessageRequiredError(
                "The lake asks for a commit message, and this commit has none. "
                "Nothing was changed.",
                hint="Give one, or unset the option require_commit_message.",
            )

    def _write(self, connection: Connection, batch: Batch, progress: _Attempt) -> None:
        """The snapshot first, for its primary key; the list of changes last (section 2)."""
        if not batch.changes:
            batch.run(connection)
            return
        progress.snapshot = snapshot = batch.snapshot
        progress.changes_made = format_changes(batch.changes)
        connection.execute(
            insert_into(tables.snapshot),
            {
                "snapshot_id": snapshot.id,
                "snapshot_time": snapshot.time,
                "schema_version": snapshot.schema_version,
                "next_catalog_id": snapshot.next_catalog_id,
                "next_file_id": snapshot.next_file_id,
            },
        )
        batch.run(connection)
        connection.execute(
            insert_into(tables.snapshot_changes),
            {
                "snapshot_id": snapshot.id,
                "changes_made": progress.changes_made,
                "author": self.note.author,
                "commit_message": self.note.message,
                "commit_extra_info": self.note.extra_info,
            },
        )

    # --- when the database did not say that it worked ---

    def _landed_after(self, error: DBAPIError, progress: _Attempt, deadline: float) -> bool:
        """Whether an attempt that failed has landed; False if it may be repeated."""
        failure = self.store.database.classify(error)
        if failure is Failure.CONTENTION:
            return False
        if not progress.sent_commit:
            if failure.may_pass:
                return False
            raise self.store.translated(error) from error
        # The answer to COMMIT got lost. Until it is known what became of it, nothing may be
        # written again and no staged file may go.
        outcome = self._settle(progress, deadline)
        if outcome in (Outcome.UNDECIDED, Outcome.FORGOTTEN):
            raise self._unknown(outcome, progress) from error
        self.state.may_have_landed = outcome is not Outcome.NOT_LANDED
        if outcome is Outcome.NOT_LANDED and not failure.may_pass:
            raise self.store.translated(error) from error
        return outcome is Outcome.LANDED

    def _unknown(self, outcome: Outcome, progress: _Attempt) -> CommitUnknownError:
        """Return the error of a commit that may have landed, for all that the catalog says."""
        catalog, snapshot = self.store.database.describe(), self._shown(progress)
        if outcome is Outcome.FORGOTTEN:
            return CommitUnknownError(
                f"The catalog {catalog} did not confirm the commit of snapshot {snapshot}, and "
                "another client has expired a snapshot with this ID since. The commit may have "
                "landed. No file was removed.",
                hint="Look whether the newest snapshot contains the changes "
                f"{progress.changes_made}. If it does not, run this again.",
            )
        return CommitUnknownError(
            f"The catalog {catalog} went away during the commit of snapshot {snapshot}, and did "
            "not come back since. It may have landed. No file was removed.",
            hint="Once the catalog answers, look for that snapshot with its changes "
            f"{progress.changes_made}; if it is not there, run this again.",
        )

    def _settle(self, progress: _Attempt, deadline: float) -> Outcome:
        """Ask on new connections until the database knows, or time is up."""
        started = time.monotonic()
        while True:
            try:
                with self.store.engine.connect() as connection:
                    force = time.monotonic() - started > _PATIENCE_S
                    outcome = self._outcome(connection, progress, force)
            except (SQLAlchemyError, CatalogError):
                outcome = Outcome.UNDECIDED
            if outcome is not Outcome.UNDECIDED or time.monotonic() > deadline:
                return outcome
            time.sleep(_PAUSE_S)

    def _outcome(self, connection: Connection, progress: _Attempt, force: bool) -> Outcome:
        if progress.token is not None:
            return self.store.database.outcome_of(connection, progress.token, force=force)
        # A database in this machine's file has nothing in flight once the connection is gone:
        # either our snapshot is there, or it was expired, or it never will be.
        snapshot, s, c = progress.snapshot, tables.snapshot.c, tables.snapshot_changes.c
        if snapshot is None:
            return Outcome.UNDECIDED
        row = connection.execute(
            select(s.snapshot_time, c.changes_made)
            .join_from(tables.snapshot, tables.snapshot_changes, s.snapshot_id == c.snapshot_id)
            .where(s.snapshot_id == snapshot.id)
        ).first()
        if row is not None and tuple(row) == (snapshot.time, progress.changes_made):
            return Outcome.LANDED
        if row is None and latest_snapshot(connection).id >= snapshot.id:
            return Outcome.FORGOTTEN
        return Outcome.NOT_LANDED

    def _shown(self, progress: _Attempt) -> str:
        return str(progress.snapshot.id) if progress.snapshot else "(options only)"
