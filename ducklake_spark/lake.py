"""The front door: a lake that answers SQL. Wiring only."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.catalog import Catalog, CommitNote, CommitResult, LakeReader, find_schema
from ducklake_spark.scan import read_table
from ducklake_spark.session import Session, SparkSettings
from ducklake_spark.spec.names import backticked, split_identifier
from ducklake_spark.sql import MAIN, SPARK_ERRORS, Executor, Result, Workspace, query_error


class Lake:
    """A lake, and others attached beside it, on one Spark session.

    Each thread takes a Lake of its own: `sibling` gives one on the same catalogs and Spark.
    """

    def __init__(
        self, session: Session, catalogs: Mapping[str, Catalog], schema: str = MAIN
    ) -> None:
        self.session = session
        self._schema = schema
        self._workspace = Workspace(session)
        for name, catalog in catalogs.items():
            self._workspace.attach(name, catalog)
        if schema != MAIN:
            self._workspace.start_in(schema)
        self._executor = Executor(self._workspace)

    @classmethod
    def open(
        cls,
        catalog: str,
        data_path: str | None = None,
        spark: SparkSession | SparkSettings | None = None,
        *,
        name: str = "lake",
        metadata_schema: str | None = None,
        allow_paths: Sequence[str] = (),
        read_only: bool = False,
        author: str | None = None,
        schema: str = MAIN,
    ) -> Lake:
        """Open a lake, or create it, by the string DuckDB's ATTACH takes.

        `spark` is a session that runs or how to get one; a local Spark is started without it.
        Names that say no schema lead to `schema`, which need not exist yet. `allow_paths` lists
        the folders outside the data path whose files the catalog may name.
        """
        opened = Catalog.open(
            catalog,
            data_path=data_path,
            metadata_schema=metadata_schema,
            allow_paths=allow_paths,
            read_only=read_only,
            author=author,
        )
        try:
            if spark is None or isinstance(spark, SparkSettings):
                session = Session.open(spark)
            else:  # whatever its class: those of Spark Connect are not of classic Spark's
                session = Session(spark)
        except BaseException:
            opened.close()
            raise
        return cls(session, {name: opened}, schema)

    def sibling(self) -> Lake:
        """The same lakes on a Spark session of its own, for another thread."""
        return Lake(self.session.sibling(), self._workspace.lakes, self._schema)

    def attach(
        self,
        name: str,
        catalog: str,
        data_path: str | None = None,
        *,
        metadata_schema: str | None = None,
        allow_paths: Sequence[str] = (),
        read_only: bool = False,
        author: str | None = None,
    ) -> None:
        """Make another lake known to statements as `name.schema.table`."""
        opened = Catalog.open(
            catalog,
            data_path=data_path,
            metadata_schema=metadata_schema,
            allow_paths=allow_paths,
            read_only=read_only,
            author=author,
        )
        self._workspace.attach(name, opened)

    # --- statements ---

    def sql(self, statement: str) -> DataFrame:
        """Run a statement. What changes data gives one row: rows affected, files, snapshot."""
        return self.execute(statement).frame

    def execute(self, statement: str) -> Result:
        """Run a statement, and tell apart rows that were asked for and what was changed."""
        return self._executor.run(statement)

    @contextmanager
    def transaction(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        extra_info: str | None = None,
    ) -> Iterator[Lake]:
        """Statements of the block become one commit, or none if the block fails."""
        self.begin()
        try:
            yield self
        except BaseException:
            self.rollback()
            raise
        self.commit(author=author, message=message, extra_info=extra_info)

    def table(
        self,
        name: str,
        *,
        version: int | None = None,
        timestamp: datetime.datetime | str | None = None,
    ) -> DataFrame:
        """Return a table or a view, by `name`, `schema.name` or `lake.schema.name`.

        Spark reads a `timestamp` that is a string, in the time zone of the session.
        """
        try:
            return self._table(name, version, timestamp)
        except SPARK_ERRORS as error:
            raise query_error(error) from error

    def _table(
        self, name: str, version: int | None, timestamp: datetime.datetime | str | None
    ) -> DataFrame:
        self.session.keep_settings()
        to = self._workspace.target(split_identifier(name))
        if version is None and timestamp is None:
            reader = self._workspace.reader(to.lake)
            if find_schema(reader, to.name.schema) and reader.find_view(to.name):
                parts = (to.lake, to.name.schema, to.name.name)
                return self.sql(f"SELECT * FROM {'.'.join(map(backticked, parts))}")  # noqa: S608
        else:
            if isinstance(timestamp, str):
                timestamp = self._executor.moment(timestamp)
            reader = self.catalog(to.lake).at(version, timestamp=timestamp)
        return read_table(self.session, reader, reader.table(to.name))

    def reader(self, name: str | None = None) -> LakeReader:
        """A lake as the next statement sees it, the open transaction's changes included."""
        workspace = self._workspace
        return workspace.reader(workspace.required_lake(name) if name else workspace.home)

    # --- transactions by hand, for those who cannot use a block ---

    def begin(self) -> None:
        """Begin a transaction that the statements to come are part of."""
        self._workspace.begin()

    def commit(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        extra_info: str | None = None,
    ) -> list[CommitResult]:
        """Commit it: a snapshot for the lake it changed."""
        return self._workspace.commit(author=author, message=message, extra_info=extra_info)

    def describe_commits(self, note: CommitNote) -> None:
        """What statements outside a transaction say of their commits from now on."""
        self._workspace.note = note

    def look_again(self) -> None:
        """Let the transaction see what others have committed since it began, if it has changed
        nothing so far."""
        self._workspace.look_again()

    def rollback(self) -> None:
        """Forget it, and remove the files written for it."""
        self._workspace.rollback()

    # --- what it stands on ---

    def catalog(self, name: str | None = None) -> Catalog:
        """The catalog of a lake, the first one unless another is named."""
        workspace = self._workspace
        return workspace.lakes[workspace.required_lake(name) if name else workspace.home]

    @property
    def in_transaction(self) -> bool:
        return self._workspace.in_transaction

    def close(self) -> None:
        """Roll back what is open, and let go of the catalogs; Spark itself goes on."""
        if self._workspace.in_transaction:
            self._workspace.rollback()
        for catalog in self._workspace.lakes.values():
            catalog.close()
        self.session.close()

    def __enter__(self) -> Lake:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
