"""A catalog in a DuckDB file: one process at a time, so it is opened anew for each piece of work.

No DuckLake extension takes part: DuckDB serves as a plain SQL database here.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    DateTime,
    Double,
    Engine,
    NullPool,
    TryCast,
    case,
    create_engine,
    func,
    text,
    try_cast,
)
from sqlalchemy.dialects import registry
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import GenericTypeCompiler, SQLCompiler

from ducklake_spark.catalog.dialects.files import (
    check_access,
    check_parent,
    holds_database,
    make_parent,
)
from ducklake_spark.catalog.dialects.protocol import (
    NUMBER_TEXT,
    CatalogDatabase,
    Failure,
)
from ducklake_spark.errors import (
    CatalogAccessError,
    CatalogUnavailableError,
    MissingExtraError,
)

try:
    import duckdb
except ImportError as error:
    what = "A catalog in a DuckDB file (one without sqlite: or postgres:)"
    raise MissingExtraError(what, "duckdb") from error

_OPEN_TIMEOUT_S = 10.0
_MAGIC = b"DUCK"
# Raised while another process, or another thread of this one, has the file open. A thread gets
# "Unique file handle conflict" while the last connection of another thread is being closed: a
# BinderException in DuckDB 1.5, a ResourceInUseException in DuckDB 2.
_BUSY: tuple[type[duckdb.Error], ...] = (
    duckdb.IOException,
    duckdb.ConnectionException,
    duckdb.BinderException,
    getattr(duckdb, "ResourceInUseException", duckdb.IOException),
)
# The storage format of a new file: the default of DuckDB 1.5, which cannot open the default of
# DuckDB 2.
_NEW_FILE: dict[str, Any] = {"storage_compatibility_version": "v1.0.0"}
_writers: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)


class DuckDBDatabase(CatalogDatabase):
    """The DuckDB file of a catalog."""

    kind = "duckdb"
    wants_indexes = False  # DuckDB scans its columns faster than it maintains indexes

    def __init__(self, path: Path) -> None:
        self.path = path

    def describe(self) -> str:
        return str(self.path)

    def default_data_path(self) -> str:
        return f"{self.path}.files/"

    def exists(self) -> bool:
        return holds_database(self.path, _MAGIC, at=8, kind="DuckDB")

    def check_room(self) -> None:
        check_parent(self.path)

    def make_room(self) -> None:
        make_parent(self.path)

    def create_engine(self, *, read_only: bool) -> Engine:
        return create_engine(
            "ducklake_catalog://",
            creator=lambda: _DriverConnection(self._open(read_only)),
            poolclass=NullPool,
            hide_parameters=True,
        )

    def _open(self, read_only: bool) -> duckdb.DuckDBPyConnection:
        deadline = time.monotonic() + _OPEN_TIMEOUT_S
        while True:
            try:
                config = _NEW_FILE if not self.path.exists() else {}
                return duckdb.connect(str(self.path.absolute()), read_only, config)
            except _BUSY as error:
                check_access(self.path, write=not read_only)
                if time.monotonic() > deadline:
                    raise CatalogUnavailableError(
                        f"The catalog file {self.path} cannot be opened: {error}",
                        hint="A DuckDB file serves one process at a time: close the other one, "
                        "or keep the catalog in SQLite or PostgreSQL.",
                    ) from error
            except duckdb.Error as error:
                raise CatalogAccessError(
                    f"The catalog file {self.path} cannot be opened: {error}",
                    hint="It may be damaged, or made by a newer DuckDB than the one here.",
                ) from error
            time.sleep(0.05)

    def writing(self) -> AbstractContextManager[object]:
        return _writers[self.path.absolute()]

    def classify(self, error: BaseException) -> Failure:
        original = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(original, (duckdb.TransactionException, duckdb.ConstraintException)):
            return Failure.CONTENTION
        if isinstance(original, (duckdb.CatalogException, duckdb.BinderException)):
            return Failure.DAMAGED
        return Failure.OTHER

    def integer(self, text: ColumnElement[str]) -> ColumnElement[int]:
        return try_cast(text, BigInteger)

    def number(self, text: ColumnElement[str]) -> ColumnElement[float]:
        return case((func.regexp_matches(text, NUMBER_TEXT), try_cast(text, Double)))

    def table_exists(self, connection: Connection, name: str) -> bool:
        query = text("SELECT 1 FROM duckdb_tables() WHERE table_name = :name AND NOT internal")
        return connection.execute(query, {"name": name}).first() is not None

    def table_names(self, connection: Connection) -> set[str]:
        query = text("SELECT table_name FROM duckdb_tables() WHERE NOT internal")
        return set(connection.scalars(query))

    def has_primary_key(self, connection: Connection, name: str) -> bool:
        query = text(
            "SELECT 1 FROM duckdb_constraints() "
            "WHERE table_name = :name AND constraint_type = 'PRIMARY KEY'"
        )
        return connection.execute(query, {"name": name}).first() is not None


class _Compiler(SQLCompiler):
    def visit_try_cast(self, element: TryCast[Any], **options: Any) -> str:
        value, data_type = (
            self.process(part, **options) for part in (element.clause, element.typeclause)
        )
        return f"TRY_CAST({value} AS {data_type})"


class _TypeCompiler(GenericTypeCompiler):
    def visit_datetime(self, type_: DateTime, **options: Any) -> str:
        return "TIMESTAMPTZ" if type_.timezone else "TIMESTAMP"


class DuckDBDialect(DefaultDialect):
    """The few lines of SQLAlchemy dialect that a catalog's statements need."""

    name = "duckdb"
    driver = "duckdb"
    statement_compiler = _Compiler
    type_compiler_cls = _TypeCompiler
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_uuid = True
    supports_sane_rowcount = False
    supports_multivalues_insert = True
    default_paramstyle = "qmark"

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return duckdb

    def initialize(self, connection: Connection) -> None:
        """There is no server whose version and defaults would have to be asked for."""

    def do_begin(self, dbapi_connection: Any) -> None:
        dbapi_connection.begin()

    def do_rollback(self, dbapi_connection: Any) -> None:
        dbapi_connection.rollback()


registry.register("ducklake_catalog", __name__, "DuckDBDialect")


class _DriverConnection:
    """DuckDB's cursors are connections of their own, with transactions of their own; the driver
    interface that SQLAlchemy expects has cursors that share one."""

    def __init__(self, inner: duckdb.DuckDBPyConnection) -> None:
        self._inner = inner
        self._in_transaction = False

    def begin(self) -> None:
        self._inner.begin()
        self._in_transaction = True

    def commit(self) -> None:
        if self._in_transaction:
            self._in_transaction = False
            self._inner.commit()

    def rollback(self) -> None:
        if self._in_transaction:
            self._in_transaction = False
            try:
                self._inner.rollback()
            except duckdb.TransactionException:
                # A failed COMMIT has ended the transaction already.
                return

    def close(self) -> None:
        self._inner.close()

    def cursor(self) -> _DriverCursor:
        return _DriverCursor(self._inner)


class _DriverCursor:
    rowcount: ClassVar[int] = -1
    arraysize = 1

    def __init__(self, inner: duckdb.DuckDBPyConnection) -> None:
        self._inner = inner
        self.description: list[tuple[Any, ...]] | None = None

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        self._inner.execute(statement, list(parameters))
        self.description = self._inner.description

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        self._inner.executemany(statement, [list(row) for row in parameters])
        self.description = None

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._inner.fetchone()

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        return self._inner.fetchmany(size or self.arraysize)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._inner.fetchall()

    def close(self) -> None:
        self.description = None
