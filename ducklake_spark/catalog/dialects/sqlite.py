"""A catalog in a SQLite file: many threads and processes, one writer at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    Float,
    QueuePool,
    Select,
    case,
    cast,
    create_engine,
    event,
    except_,
    or_,
    text,
)
from sqlalchemy.exc import DBAPIError

from ducklake_spark.catalog.dialects.files import check_parent, holds_database, make_parent
from ducklake_spark.catalog.dialects.protocol import CatalogDatabase, Failure

_BEGIN = "ducklake_begin"
_BUSY_TIMEOUT_S = 30.0
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_TAKEN = {sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE}
_DENIED = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}
# SQLITE_ERROR is what a missing table or column gives.
_DAMAGED = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_MAGIC = b"SQLite format 3\x00"

# One lock per file for all lakes this process has open on it.
_writers: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)


class SqliteDatabase(CatalogDatabase):
    """The SQLite file of a catalog."""

    kind = "sqlite"
    # To read the newest snapshot and write the next one with nobody in between takes the write
    # lock first; a transaction that begins by reading and upgrades later can only fail.
    write_options: ClassVar[Mapping[str, str]] = {_BEGIN: "BEGIN IMMEDIATE"}

    def __init__(self, path: Path) -> None:
        self.path = path

    def describe(self) -> str:
        return f"sqlite:{self.path}"

    def default_data_path(self) -> str:
        return f"{self.path}.files/"

    def exists(self) -> bool:
        # SQLite creates a file of zero bytes for whoever merely looks.
        return holds_database(self.path, _MAGIC, at=0, kind="SQLite")

    def check_room(self) -> None:
        check_parent(self.path)

    def make_room(self) -> None:
        make_parent(self.path)

    def create_engine(self, *, read_only: bool) -> Engine:
        absolute = self.path.absolute()

        def connect() -> sqlite3.Connection:
            if read_only:
                uri = f"{absolute.as_uri()}?mode=ro"
                return self._open(uri, uri=True)
            return self._open(str(absolute))

        # For the URL alone SQLAlchemy would take this for a database in memory, and its pool for
        # those closes connections that other threads are using.
        engine = create_engine(
            "sqlite://",
            creator=connect,
            poolclass=QueuePool,
            max_overflow=-1,
            hide_parameters=True,
        )
        event.listen(engine, "begin", _begin)
        return engine

    def _open(self, database: str, *, uri: bool = False) -> sqlite3.Connection:
        # isolation_level None: we say BEGIN ourselves, since the driver would say it too late.
        connection = sqlite3.connect(
            database,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            uri=uri,
        )
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def writing(self) -> AbstractContextManager[object]:
        return _writers[self.path.absolute()]

    def classify(self, error: BaseException) -> Failure:
        original = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(original, "sqlite_errorcode", None)
        if code is None:
            return Failure.OTHER
        primary = code & 0xFF  # the rest only says more of it
        if primary in _BUSY or code in _TAKEN:
            return Failure.CONTENTION
        if primary in _DENIED:
            return Failure.DENIED
        return Failure.DAMAGED if primary in _DAMAGED else Failure.OTHER

    def integer(self, text: ColumnElement[str]) -> ColumnElement[int]:
        return _if_number(text, cast(text, BigInteger))

    def number(self, text: ColumnElement[str]) -> ColumnElement[float]:
        # SQLite would read "inf" and "nan" as 0.
        return _if_number(text, cast(text, Float))

    def difference(
        self, ids: ColumnElement[int], among: Select[Any], excluded: Select[Any]
    ) -> ColumnElement[bool]:
        # In order of ids, two lists from indexes are merged without a tree of either in memory.
        return ids.in_(except_(among, excluded).order_by(text("1")))

    def table_exists(self, connection: Connection, name: str) -> bool:
        query = text("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name")
        return connection.execute(query, {"name": name}).first() is not None

    def table_names(self, connection: Connection) -> set[str]:
        query = text("SELECT name FROM sqlite_master WHERE type = 'table'")
        return set(connection.scalars(query))

    def has_primary_key(self, connection: Connection, name: str) -> bool:
        query = text("SELECT 1 FROM pragma_table_info(:name) WHERE pk > 0")
        return connection.execute(query, {"name": name}).first() is not None

    def index_names(self, connection: Connection) -> set[str]:
        return set(connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'index'")))


def _if_number(text: ColumnElement[str], value: ColumnElement[Any]) -> ColumnElement[Any]:
    return case((or_(text.op("GLOB")("[0-9]*"), text.op("GLOB")("-[0-9]*")), value))


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))
