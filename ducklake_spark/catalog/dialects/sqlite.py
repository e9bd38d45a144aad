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
    case,
    cast,
    create_engine,
    event,
    or_,
    text,
)
from sqlalchemy.exc import DBAPIError

from ducklake_spark.catalog.dialects.protocol import CatalogDatabase, Failure, TimeShape

_BEGIN = "ducklake_begin"
_BUSY_TIMEOUT_S = 30.0
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_TAKEN = {sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE}

_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_SECOND = f"{_DAY} [0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
_FRACTIONS = ["", *("." + "[0-9]" * digits for digits in range(1, 10))]
_GLOBS = {
    TimeShape.DATE: (_DAY,),
    TimeShape.TIMESTAMP: tuple(_SECOND + fraction for fraction in _FRACTIONS),
    TimeShape.UTC: tuple(f"{_SECOND}{fraction}+00" for fraction in _FRACTIONS),
}

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
        return self.path.is_file() and self.path.stat().st_size > 0

    def create_engine(self, *, read_only: bool) -> Engine:
        absolute = self.path.absolute()

        def connect() -> sqlite3.Connection:
            if read_only:
                uri = f"{absolute.as_uri()}?mode=ro"
                return self._open(uri, uri=True)
            return self._open(str(absolute))

        engine = create_engine("sqlite://", creator=connect, hide_parameters=True)
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
        if code is not None and (code & 0xFF in _BUSY or code in _TAKEN):
            return Failure.CONTENTION
        return Failure.OTHER

    def integer(self, text: ColumnElement[str]) -> ColumnElement[int]:
        return _if_glob(text, ("[0-9]*", "-[0-9]*"), cast(text, BigInteger))

    def number(self, text: ColumnElement[str]) -> ColumnElement[float]:
        # SQLite would read "inf" and "nan" as 0.
        return _if_glob(text, ("[0-9]*", "-[0-9]*"), cast(text, Float))

    def shaped(self, text: ColumnElement[str], shape: TimeShape) -> ColumnElement[str]:
        return _if_glob(text, _GLOBS[shape], text)

    def table_exists(self, connection: Connection, name: str) -> bool:
        query = text("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name")
        return connection.execute(query, {"name": name}).first() is not None


def _if_glob(
    text: ColumnElement[str], patterns: tuple[str, ...], value: ColumnElement[Any]
) -> ColumnElement[Any]:
    return case((or_(*(text.op("GLOB")(pattern) for pattern in patterns)), value))


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))
