"""The lakes and the Spark of a dbt process, opened when first needed and shared by its threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt.adapters.ducklake.loading import load_engine
from dbt.adapters.exceptions.connection import FailedToConnectError
from dbt_common.exceptions import DbtRuntimeError

from ducklake_spark.errors import ConfigError, DuckLakeError

if TYPE_CHECKING:
    from dbt.adapters.ducklake.cursor import Cursor

    from ducklake_spark import Lake
    from ducklake_spark.catalog import Catalog, CommitNote, LakeReader
    from ducklake_spark.session import Session

_BETWEEN_INTERRUPTS = 0.5


class Engine:
    """What all connections have in common."""

    def __init__(self, credentials: DuckLakeCredentials) -> None:
        self.credentials = credentials
        self._opening = threading.Lock()
        self._catalogs: dict[str, Catalog] | None = None
        self._starting = threading.Lock()
        self._session: Session | None = None
        self._no_spark: ConfigError | None = None

    @property
    def catalogs(self) -> dict[str, Catalog]:
        """The profile's lake and those attached, by their names in SQL."""
        with self._opening:
            if self._catalogs is None:
                try:
                    self._catalogs = self._open()
                except DuckLakeError as error:
                    raise FailedToConnectError(str(error)) from error
            return self._catalogs

    def _open(self) -> dict[str, Catalog]:
        load_engine()
        from ducklake_spark.catalog import Catalog
        from ducklake_spark.session import check_answers

        mine = self.credentials
        # Here, where an error ends the run: each model would report it otherwise.
        check_answers(mine.spark_settings)
        opened = {
            mine.database: Catalog.open(
                mine.catalog,
                data_path=mine.data_path,
                metadata_schema=mine.metadata_schema,
                allow_paths=mine.allow_paths,
                author=mine.commit_author,
            )
        }
        for other in mine.attached:
            opened[other.name] = Catalog.open(
                other.catalog,
                data_path=other.data_path,
                metadata_schema=other.metadata_schema,
                allow_paths=other.allow_paths,
                read_only=other.read_only,
                author=mine.commit_author,
            )
        return opened

    def start_early(self) -> None:
        """Have a Spark of this process start while dbt reads its project: both take seconds."""
        if self.credentials.spark_remote is None:
            # Here, for PySpark's modules import each other: two threads could see them half done.
            import ducklake_spark.session  # noqa: F401

            threading.Thread(target=self._start_unasked, name="start of Spark", daemon=True).start()

    def _start_unasked(self) -> None:
        with suppress(DuckLakeError):  # who needs Spark tries again, and is told
            self._spark()

    def _spark(self) -> Session:
        from ducklake_spark.session import Session

        with self._starting:
            if self._session is None:
                self._session = Session.open(self.credentials.spark_settings)
            return self._session

    def lake(self) -> Lake:
        """The lakes on a Spark session of their own; bare names lead to the profile's schema."""
        catalogs = self.catalogs  # first: who cannot reach them is told without waiting for Spark
        from ducklake_spark import Lake

        return Lake(self._own_session(), catalogs, self.credentials.schema)

    def _own_session(self) -> Session:
        if self._no_spark is not None:
            raise self._no_spark  # whoever asked first has waited for it, and the others need not
        try:
            return self._spark().sibling()
        except ConfigError as error:
            self._no_spark = error
            raise

    def close(self) -> None:
        """Let go of the catalogs; Spark goes on until the process ends."""
        with self._opening:
            for catalog in (self._catalogs or {}).values():
                catalog.close()
            self._catalogs = None
        if self._session is not None:
            self._session.close()
            self._session = None
        self._no_spark = None


class Handle:
    """One connection: Spark is started by the first statement, not by a look at the catalog."""

    def __init__(self, engine: Engine, note: Callable[[], CommitNote]) -> None:
        self._engine = engine
        self._note = note
        self._lake: Lake | None = None
        self._in_transaction = False
        self._cancelled = False
        self._waiting: list[Callable[[int | None], None]] = []

    @property
    def lake(self) -> Lake:
        self._go_on()
        if self._lake is None:
            self._lake = self._engine.lake()
            if self._in_transaction:
                self._lake.begin()
        self._lake.describe_commits(self._note())
        return self._lake

    def cursor(self) -> Cursor:
        load_engine()
        from dbt.adapters.ducklake.cursor import Cursor

        return Cursor(self)

    def reader(self, database: str) -> LakeReader:
        """A lake as the connection sees it now."""
        if self._lake is not None:
            return self._lake.reader(database)
        return self.catalog(database).at()

    def catalog(self, database: str) -> Catalog:
        names = {name.lower(): name for name in self._engine.catalogs}
        return self._engine.catalogs[names[database.lower()]]

    def knows(self, database: str | None) -> bool:
        return (database or "").lower() in {name.lower() for name in self.lakes}

    @property
    def lakes(self) -> list[str]:
        """The names of the profile's lakes."""
        return list(self._engine.catalogs)

    # --- transactions ---

    def begin(self) -> None:
        self._in_transaction = True
        if self._lake is not None:
            self._lake.begin()

    def commit(self) -> int | None:
        """Commit; the id of the snapshot, if there is a new one."""
        self._in_transaction = False
        if self._lake is None or not self._lake.in_transaction:
            return None
        self._go_on()
        waiting, self._waiting = self._waiting, []
        note = self._note()
        results = self._lake.commit(message=note.message, extra_info=note.extra_info)
        new = [result.snapshot_id for result in results if result.is_new]
        snapshot = new[-1] if new else None
        for tell in waiting:
            tell(snapshot)
        return snapshot

    def on_commit(self, tell: Callable[[int | None], None]) -> None:
        """Have the id of the new snapshot, if there is one, told once the open transaction is
        committed."""
        if self._lake is not None and self._lake.in_transaction:
            self._waiting.append(tell)

    def commit_and_go_on(self) -> None:
        """Commit what is open, if anything is, and let what follows be a transaction as before."""
        if self._in_transaction:
            self.commit()
            self.begin()

    def rollback(self) -> None:
        self._in_transaction = False
        self._waiting = []
        if self._lake is not None and self._lake.in_transaction:
            self._lake.rollback()

    def cancel(self) -> None:
        """Stop what Spark does for this connection, and let it begin and commit nothing more."""
        self._cancelled = True
        threading.Thread(target=self._interrupt, daemon=True).start()

    def _interrupt(self) -> None:
        # Again and again, for a job that Spark is only about to start cannot be stopped yet.
        while (lake := self._lake) is not None:
            lake.session.spark.interruptAll()
            time.sleep(_BETWEEN_INTERRUPTS)

    def _go_on(self) -> None:
        if self._cancelled:
            raise DbtRuntimeError("The run was cancelled.")

    def close(self) -> None:
        self.rollback()
        if self._lake is not None:
            self._lake.session.close()
            self._lake = None
