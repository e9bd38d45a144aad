"""The lakes that statements can name, where unqualified names lead, and the open transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ducklake_spark.catalog import (
    Catalog,
    CommitNote,
    CommitResult,
    LakeReader,
    Transaction,
    find_schema,
)
from ducklake_spark.errors import (
    AfterCommitError,
    CommitUnknownError,
    ConfigError,
    DuckLakeError,
    NotFoundError,
    ReadOnlyError,
    SnapshotExpiredError,
    StatementError,
    TransactionStateError,
)
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Table
from ducklake_spark.spec.names import QualifiedName, fold
from ducklake_spark.storage.filesystem import remove_files
from ducklake_spark.write import StagedFiles

MAIN = "main"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a lake, by its full name."""

    lake: str
    name: QualifiedName

    def __str__(self) -> str:
        return f"{self.lake}.{self.name}"


@dataclass(slots=True)
class Work:
    """A transaction on one lake, with the files written for it."""

    lake: str
    tx: Transaction
    staged: list[StagedFiles] = field(default_factory=list)
    result: CommitResult | None = None
    # Whether the transaction had not looked at the lake before the statement that now writes.
    is_first: bool = True
    turn: threading.Lock | None = None

    def commit(self) -> CommitResult:
        """Commit; files of a commit that certainly did not land are removed."""
        try:
            result = self.tx.commit()
        except BaseException:
            if not self.tx.may_have_landed:
                self._discard()
            raise
        finally:
            self.end_turn()
        remove_files((*result.superseded_files, *self._unused()), self._unused_folders())
        return result

    def rollback(self) -> None:
        try:
            self.tx.rollback()
            self._discard()
        finally:
            self.end_turn()

    def take_turn(self, turn: threading.Lock, patience_s: float) -> None:
        """Wait until no other thread is about to commit; of several turns only the first is waited
        for, for two threads could wait for each other.

        It may be this very thread that has the turn in another transaction: whoever waited in vain
        goes on without, and the commit tells who is in the way.
        """
        if self.turn is None and turn.acquire(timeout=patience_s):
            self.turn = turn

    def end_turn(self) -> None:
        """Let the next thread go on."""
        if self.turn is not None:
            self.turn.release()
            self.turn = None

    @property
    def files(self) -> set[str]:
        """All that was written for the transaction, by complete paths."""
        return {path for one in self.staged for path in one.paths}.union(self.tx.delete_files)

    def back_to(self, tx: Transaction, files: Set[str]) -> None:
        """Forget what was done since, when the transaction had these files and no others."""
        remove_files(self.files.difference(files))
        self.staged = [one for one in self.staged if not files.isdisjoint(one.paths)]
        self.tx = tx  # It may have caught up since.

    def _unused(self) -> list[str]:
        """Data files whose rows, or whose table, went again in the same transaction."""
        used = self.tx.added_files
        return [
            file.path.under(one.location)
            for one in self.staged
            for file in one.files
            if file.path not in used
        ]

    def _unused_folders(self) -> set[str]:
        """Return the folders of tables to which the commit adds no file.

        A table that the transaction also drops would leave an empty folder.
        """
        used = self.tx.added_files
        filled = {one.location for one in self.staged if any(f.path in used for f in one.files)}
        return {one.location for one in self.staged} - filled

    def _discard(self) -> None:
        remove_files(self.files, {one.location for one in self.staged})


@dataclass(frozen=True, slots=True)
class Follower:
    """An operation that makes commits of its own, once the open transaction has made its."""

    lake: str
    name: str
    run: Callable[[], list[Any]]


class Workspace:
    """What a sequence of statements shares. Not for use by several threads at once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lakes: dict[str, Catalog] = {}
        self.home = ""
        self.schema = MAIN
        self.pruning = True  # switched off to look whether it is to blame
        self.note = CommitNote()  # of statements that are a commit of their own
        self._names: dict[str, str] = {}
        self._open: dict[str, Work] | None = None
        # What the open transaction's commits will say, by lakes where it has to begin anew.
        self._notes: dict[str, CommitNote] = {}
        self._followers: list[Follower] = []

    # --- lakes and names ---

    def attach(self, name: str, catalog: Catalog) -> None:
        """Make a lake known by a name; the first one is where unqualified names lead."""
        if fold(name) in self._names:
            raise ConfigError(f"Two lakes are named {name!r}.", hint="Give one another name.")
        self._names[fold(name)] = name
        self.lakes[name] = catalog
        self.home = self.home or name

    def lake_named(self, name: str) -> str | None:
        """The lake of that name, spelled as it was attached."""
        return self._names.get(fold(name))

    def required_lake(self, name: str) -> str:
        found = self.lake_named(name)
        if found is None:
            raise NotFoundError(f"The lake {name!r}", near=self.lakes, wanted=name)
        return found

    def candidates(self, parts: Sequence[str], schema: str | None = None) -> list[Relation]:
        """The relations of lakes that a name may mean, the likeliest first."""
        match list(parts):
            case [name]:
                return [Relation(self.home, QualifiedName(schema or self.schema, name))]
            case [first, name]:
                found = [Relation(self.home, QualifiedName(first, name))]
                lake = self.lake_named(first)
                return found + ([Relation(lake, QualifiedName(MAIN, name))] if lake else [])
            case [first, second, name]:
                lake = self.lake_named(first)
                return [Relation(lake, QualifiedName(second, name))] if lake else []
        return []

    def target(self, parts: Sequence[str]) -> Relation:
        """The relation that a statement is about, whether or not it exists."""
        found = self.candidates(parts)
        if not found:
            if len(parts) > 3:
                raise StatementError(f"{'.'.join(parts)} has too many parts for a name.")
            raise NotFoundError(f"The lake {parts[0]!r}", near=self.lakes, wanted=parts[0])
        first, *others = found
        if others and find_schema(self.reader(first.lake), first.name.schema) is None:
            return others[0]
        return first

    def start_in(self, schema: str) -> None:
        """Let unqualified names lead to a schema of the first lake, which need not exist yet."""
        found = find_schema(self.reader(self.home), schema)
        self.schema = found.name if found else schema

    def use(self, parts: Sequence[str]) -> None:
        """Let unqualified names lead elsewhere: to a schema, a lake, or a schema of a lake."""
        lake, schema = self.home, parts[-1]
        if len(parts) == 2:
            lake = self.required_lake(parts[0])
        elif (found := self.lake_named(parts[0])) is not None:
            lake, schema = found, MAIN
        self.schema = self.reader(lake).schema(schema).name
        self.home = lake

    # --- reading ---

    def reader(self, lake: str) -> LakeReader:
        """The lake as the next statement sees it."""
        if self._open is not None:
            return self._part_of(self._open, lake).tx
        return self.lakes[lake].at()

    # --- transactions ---

    @property
    def in_transaction(self) -> bool:
        return self._open is not None

    def begin(self) -> None:
        """Begin a transaction; it takes part in a lake when it first reads or writes there."""
        if self._open is not None:
            raise TransactionStateError(
                "A transaction is open already.", hint="COMMIT or ROLLBACK it first."
            )
        self._open = {}

    def _part_of(self, works: dict[str, Work], lake: str) -> Work:
        """The open transaction's work on a lake, begun at its first use."""
        if lake not in works:
            works[lake] = Work(lake, self._transaction(lake, self._notes.pop(lake, CommitNote())))
        return works[lake]

    def _transaction(self, lake: str, note: CommitNote) -> Transaction:
        """Begin a transaction on the newest snapshot of a lake, with what its commit will say."""
        return self.lakes[lake].transaction(
            author=note.author, message=note.message, extra_info=note.extra_info
        )

    def _start_over(self, works: dict[str, Work], lake: str) -> None:
        """Let the next use of a lake begin a new transaction there, with the same commit note."""
        work = works.pop(lake)
        self._notes[lake] = work.tx.note
        work.rollback()

    def commit(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        extra_info: str | None = None,
    ) -> list[CommitResult]:
        """Commit what the transaction changed, a snapshot for the lake it changed; then carry out
        what had to wait for that."""
        followers = self._followers
        results = []
        for work in self._end():
            work.tx.describe_commit(author=author, message=message, extra_info=extra_info)
            try:
                results.append(work.commit())
            except CommitUnknownError:
                raise
            except DuckLakeError as error:
                error.aftermath = "The transaction was rolled back."
                raise
        _follow(followers, results)
        return results

    def rollback(self) -> None:
        for work in self._end():
            work.rollback()

    def _end(self) -> list[Work]:
        if self._open is None:
            raise TransactionStateError("No transaction is open.", hint="Start one with BEGIN.")
        works, self._open, self._followers = list(self._open.values()), None, []
        self._notes.clear()
        return works

    def by_itself(self, lake: str, name: str, run: Callable[[], list[Any]]) -> list[Any] | None:
        """Run an operation that makes commits of its own; None if it has to wait.

        It would neither see what an open transaction has changed nor get along with it, so it
        follows that one's commit. A transaction that has changed nothing so far goes on over what
        the operation leaves.
        """
        self._check_writable(lake)
        self.lakes[lake].check_writable()
        work = self._open.get(lake) if self._open is not None else None
        if self._open is None or work is None:
            return run()
        if not work.tx.is_untouched:
            self._followers.append(Follower(lake, name, run))
            return None
        self._start_over(self._open, lake)
        return run()

    def look_again(self) -> None:
        """Let the open transaction see what others have committed, where it has changed nothing."""
        works = self._open if self._open is not None else {}
        for lake, work in list(works.items()):
            if work.tx.is_untouched and work.turn is None:
                self._start_over(works, lake)

    def catch_up(self, work: Work, table: Table) -> None:
        """Go on from the newest snapshot, in turn with the other threads that change the table.

        If more than its rows are different there the transaction stays where it is, and its commit
        will tell who is in the way.
        """
        catalog = self.lakes[work.lake]
        work.take_turn(catalog.turn(table), catalog.patience_s)
        newest = self._transaction(work.lake, work.tx.note)
        if work.tx.is_untouched and newest.find_table(table.name) == table:
            work.tx = newest

    def _check_writable(self, lake: str) -> None:
        if self.lakes[lake].read_only:
            raise ReadOnlyError(
                f"The lake {lake} was opened read-only.", hint="Attach it without read_only."
            )

    @contextmanager
    def writing(self, lake: str) -> Iterator[Work]:
        """Work of one statement on a lake: a commit of its own, or part of the open transaction.

        Of a statement that fails in a transaction nothing stays, and the transaction goes on.
        """
        self._check_writable(lake)
        if self._open is None:
            with self._on_its_own(lake) as work:
                yield work
            return
        others = [w.lake for w in self._open.values() if w.lake != lake and w.tx.has_changes]
        if others:
            raise StatementError(
                f"The transaction has changed the lake {others[0]} and cannot change {lake} too: "
                "two lakes have no commit in common.",
                hint=f"COMMIT what was done to {others[0]} first.",
            )
        is_first = lake not in self._open
        work = self._part_of(self._open, lake)
        work.is_first = is_first
        tx, turn, files = work.tx, work.turn, work.files
        try:
            with tx.savepoint():
                tx.check_writable()
                yield work
        except BaseException as error:
            work.back_to(tx, files)
            if turn is None:
                work.end_turn()
            if isinstance(error, SnapshotExpiredError):
                error.aftermath = "The open transaction cannot commit any more. Roll it back."
            elif isinstance(error, DuckLakeError):
                error.aftermath = "The transaction is still open, without this statement."
            raise

    @contextmanager
    def _on_its_own(self, lake: str) -> Iterator[Work]:
        work = Work(lake, self._transaction(lake, self.note))
        try:
            work.tx.check_writable()
            yield work
        except BaseException:
            work.rollback()
            raise
        work.result = work.commit()


def _follow(followers: Sequence[Follower], results: Sequence[CommitResult]) -> None:
    """Carry out what waited for a commit; an error must not look as if that had failed."""
    for follower in followers:
        try:
            rows = follower.run()
        except DuckLakeError as error:
            snapshot = next((f" as snapshot {r.snapshot_id}" for r in results if r.is_new), "")
            raise AfterCommitError(
                f"The transaction was committed{snapshot}, and stays so. {follower.name} of "
                f"{follower.lake}, which was to follow it, failed: {error.message}",
                hint=error.hint,
            ) from error
        _log.info("%s of %s followed the commit: %s", follower.name, follower.lake, rows)
