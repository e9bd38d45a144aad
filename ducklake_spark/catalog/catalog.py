"""The door to a lake's catalog: open it, look at a snapshot, begin a transaction."""

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import TypeVar

from sqlalchemy import Connection

from ducklake_spark.catalog import file_lists, history
from ducklake_spark.catalog.commit import CommitNote
from ducklake_spark.catalog.definitions import read_schemas
from ducklake_spark.catalog.dialects import CatalogDatabase, database_for
from ducklake_spark.catalog.expire import expire
from ducklake_spark.catalog.file_lists import ScheduledFile
from ducklake_spark.catalog.indexes import create_indexes
from ducklake_spark.catalog.inventory import (
    TableFiles,
    read_locations,
    read_table_files,
)
from ducklake_spark.catalog.reader import SnapshotReader
from ducklake_spark.catalog.retries import read, repeatedly
from ducklake_spark.catalog.store import (
    LakeFacts,
    Store,
    complete_data_path,
    open_store,
    path_of_new_lake,
)
from ducklake_spark.catalog.transaction import Transaction
from ducklake_spark.catalog.usage import LakeUsage, read_usage
from ducklake_spark.config import CatalogAddress, CommitSettings, parse_catalog
from ducklake_spark.errors import ConfigError
from ducklake_spark.spec.faults import Fault
from ducklake_spark.spec.formats import Format
from ducklake_spark.spec.model import Commit, Schema, Snapshot, Table
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.spec.paths import Area

T = TypeVar("T")


class Catalog:
    """An open lake, as its catalog describes it. Safe for use by several threads."""

    def __init__(self, store: Store, facts: LakeFacts, author: str | None) -> None:
        self._store = store
        self._facts = facts
        self._author = author
        self._turns: dict[int, threading.Lock] = {}

    @classmethod
    def open(
        cls,
        catalog: str | CatalogAddress,
        *,
        data_path: str | None = None,
        metadata_schema: str | None = None,
        read_only: bool = False,
        create: bool = True,
        override_data_path: bool = False,
        allow_paths: Sequence[str] = (),
        author: str | None = None,
        commit_settings: CommitSettings | None = None,
    ) -> Catalog:
        """Open a lake by the string DuckDB's ATTACH takes, or a SQLAlchemy URL.

        Without a lake there, one is created, unless `create` is false or `read_only` is true.
        `allow_paths` lists folders and files outside the data path that the lake may use.
        """
        address = parse_catalog(catalog) if isinstance(catalog, str) else catalog
        if metadata_schema is not None and address.kind != "postgres":
            raise ConfigError(
                f"A {address.kind} catalog has no schemas.",
                hint="metadata_schema is for PostgreSQL; leave it out.",
            )
        store, facts = open_store(
            database_for(address, metadata_schema),
            commit_settings or CommitSettings(),
            data_path=data_path,
            override_data_path=override_data_path,
            allow_paths=allow_paths,
            read_only=read_only,
            create=create,
        )
        return cls(store, facts, author)

    @staticmethod
    def planned_data_path(catalog: str | CatalogAddress, data_path: str | None = None) -> str:
        """Return the complete path below which a lake that does not exist yet would keep its files.

        Raises CatalogAccessError if its catalog cannot be created.
        """
        address = parse_catalog(catalog) if isinstance(catalog, str) else catalog
        database = database_for(address, metadata_schema=None)
        database.check_room()
        return complete_data_path(path_of_new_lake(database, data_path))

    def __repr__(self) -> str:
        return f"Catalog({self._store.database.describe()!r})"

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    @property
    def address(self) -> str:
        """Where the catalog is, for people to read; without a password."""
        return self._store.database.describe()

    @property
    def data_path(self) -> str:
        """The complete path below which the lake's files lie."""
        return self._facts.data_path

    @property
    def lake_id(self) -> uuid.UUID | None:
        """What the names of the lake's files are marked with (spec.file_names)."""
        return self._facts.lake_id

    @property
    def area(self) -> Area:
        """Where files of the lake may be."""
        return self._facts.area

    @property
    def read_only(self) -> bool:
        return self._store.read_only

    @property
    def format(self) -> Format:
        """The version of the format that the newest transaction found, and what it allows."""
        return self._store.format

    def check_writable(self) -> None:
        """Raise UnwritableVersionError if the lake is now of a version that is read only."""
        self._read(lambda _: self._store.check_writable())

    @property
    def is_encrypted(self) -> bool:
        """Whether files are encrypted, which this package can neither read nor write."""
        return self._facts.encrypted

    # --- reading ---

    def snapshot(
        self, version: int | None = None, *, timestamp: datetime.datetime | None = None
    ) -> Snapshot:
        """The newest snapshot, or the one of an id, or the newest one at a point in time."""
        return self._read(lambda c: _snapshot(c, version, timestamp))

    def first_snapshot_since(self, when: datetime.datetime) -> Snapshot:
        """Return the snapshot with the earliest time from a point in time on."""
        return self._read(lambda c: history.first_snapshot_since(c, when))

    def at(
        self,
        version: int | Snapshot | None = None,
        *,
        timestamp: datetime.datetime | None = None,
    ) -> SnapshotReader:
        """The lake as a snapshot shows it: the newest one unless another is named."""
        if isinstance(version, Snapshot):
            return SnapshotReader(self._store, self._facts, version)

        def find(connection: Connection) -> tuple[Snapshot, list[Schema]]:
            found = _snapshot(connection, version, timestamp)
            # Nearly every question begins with a schema, and a transaction costs more than it.
            return found, read_schemas(connection, found.id)

        snapshot, schemas = self._read(find)
        return SnapshotReader(self._store, self._facts, snapshot, schemas)

    def commits(self, after: int | None = None, up_to: int | None = None) -> list[Commit]:
        """The history in order: snapshots after one (exclusive), up to another (inclusive)."""
        return self._read(lambda c: history.read_commits(c, after, up_to))

    # --- looking after it ---

    def faults(self, *, schema: str | None = None, table: str | None = None) -> list[Fault]:
        """What is wrong in the catalog, or with a schema or table of it, past ones included."""
        # All checks with their queries: whoever only works with a lake need not wait for them.
        from ducklake_spark.catalog.faults import find_faults

        path, database = self._facts.data_path, self._store.database
        return self._read(
            lambda c: list(find_faults(c, database, path, schema=schema, table=table))
        )

    def usage(self) -> LakeUsage:
        """What the lake holds, and what room that takes."""
        return self._read(lambda c: read_usage(c, self._store.database))

    def relations(self) -> dict[int, QualifiedName]:
        """The newest name of everything that ever had an id, by the id."""
        from ducklake_spark.catalog.faults import relation_names

        return self._read(relation_names)

    def table_files(self) -> Iterator[TableFiles]:
        """All files of each table, whichever snapshot needs them; past tables included."""
        database = self._store.database
        locations = self._read(lambda c: read_locations(c, self.data_path))
        for table_id, location in locations.items():
            yield self._read(partial(_table_files, database, table_id, location))

    # --- changing ---

    def transaction(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        extra_info: str | None = None,
        base: Snapshot | None = None,
    ) -> Transaction:
        """Begin a transaction over the newest snapshot, or over the one that was read at."""
        note = CommitNote(author if author is not None else self._author, message, extra_info)
        reader = self.at(base)
        return Transaction(self._store, self._facts, reader, note)

    def turn(self, table: Table) -> threading.Lock:
        """What threads of this process hold while they change a table, to wait instead of undoing
        each other's work. It protects nothing: a commit checks what was committed before it."""
        return self._turns.setdefault(table.id, threading.Lock())

    @property
    def patience_s(self) -> float:
        """How long others may be in the way before a commit gives up."""
        return self._store.settings.give_up_after_s

    def create_indexes(self, *, dry_run: bool = False) -> list[str]:
        """Add the indexes that make narrow reads fast, where they are missing; DuckDB tolerates
        them."""
        if not self._store.database.wants_indexes:
            return []
        if dry_run:
            return self._read(lambda c: create_indexes(c, self._store.database, dry_run=True))
        return self._repeatedly(lambda c: create_indexes(c, self._store.database))

    # --- upkeep, which makes no snapshot ---

    def expire(self, snapshot_ids: Collection[int]) -> None:
        """Forget snapshots, and all that only they could see; the newest one stays.

        Files that nothing needs any more are scheduled for deletion.
        """

        def change(connection: Connection) -> None:
            newest = history.latest_snapshot(connection).id
            database, now = self._store.database, self._store.database.now(connection)
            expire(connection, database, set(snapshot_ids) - {newest}, self.data_path, now)

        self._repeatedly(change)

    def scheduled_files(self) -> list[ScheduledFile]:
        """The files that are scheduled for deletion."""
        return self._read(lambda c: file_lists.read_scheduled(c, self.data_path))

    def forget_scheduled(self, files: Collection[ScheduledFile]) -> None:
        """Take files off the schedule: they are deleted, or will not be."""
        self._repeatedly(lambda c: file_lists.forget_scheduled(c, files))

    def named_files(self) -> set[str]:
        """The complete paths of all files that snapshots need, as they are written there."""
        return self._read(lambda c: file_lists.read_named(c, self.data_path))

    def table_folders(self) -> set[str]:
        """Return the folders of all tables that the catalog knows, relative to the data path."""
        locations = self._read(lambda c: read_locations(c, self.data_path)).values()
        inside = (location for location in locations if location.startswith(self.data_path))
        return {location.removeprefix(self.data_path) for location in inside}

    def _read(self, question: Callable[[Connection], T]) -> T:
        return read(self._store, question)

    def _repeatedly(self, change: Callable[[Connection], T]) -> T:
        return repeatedly(self._store, change)


def _table_files(
    database: CatalogDatabase, table_id: int, location: str, connection: Connection
) -> TableFiles:
    return read_table_files(connection, database, table_id, location)


def _snapshot(
    connection: Connection, version: int | None, timestamp: datetime.datetime | None
) -> Snapshot:
    if version is not None and timestamp is not None:
        raise ConfigError("A snapshot is named by version or by timestamp, not by both.")
    if version is not None:
        return history.snapshot_by_id(connection, version)
    if timestamp is not None:
        return history.snapshot_at(connection, timestamp)
    return history.latest_snapshot(connection)
