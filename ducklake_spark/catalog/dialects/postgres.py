"""A catalog in PostgreSQL: the one for many machines."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    ColumnElement,
    Connection,
    Double,
    Engine,
    FromClause,
    Numeric,
    and_,
    case,
    cast,
    create_engine,
    event,
    func,
    literal,
    literal_column,
    text,
)
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema

from ducklake_spark.catalog.dialects.protocol import (
    INTEGER_TEXT,
    NUMBER_TEXT,
    CatalogDatabase,
    Failure,
    Outcome,
)
from ducklake_spark.config import Secret
from ducklake_spark.errors import CatalogUnavailableError, ConfigError, MissingExtraError
from ducklake_spark.spec import tables

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as error:
    raise MissingExtraError("A PostgreSQL catalog", "postgres") from error

_URL = re.compile(r"postgres(ql)?://")
_PORTS = re.compile(r"[\d,]*")
_NO_NAME = re.compile(r"://|password\s*=", re.IGNORECASE)
# serialization failure, deadlock, unique violation, lock not available
_CONTENTION = {"40001", "40P01", "23505", "55P03"}
_SHUTDOWN = {"57P01", "57P02", "57P03", "57P05"}
_TIMEOUTS = {
    "57014": "statement_timeout",
    "25P03": "idle_in_transaction_session_timeout",
    "25P04": "transaction_timeout",
}
# Raised by the driver itself. InterfaceError and InternalError: the server's replies do not match
# what was sent, for example "received 2 results from command 'BEGIN'" from a PgBouncer whose server
# restarted.
_BROKEN = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError, OSError)
# a read-only transaction or server, missing privileges
_DENIED = {"25006", "42501"}
# undefined table, column or schema; damaged data
_DAMAGED = {"42P01", "42703", "3F000", "XX001", "XX002"}
_SECRETS = {
    "password",
    "sslpassword",
    "passfile",
    "sslkey",
    "oauth_client_secret",
    "scram_client_key",
    "scram_server_key",
}
_LOCK = DDL("LOCK TABLE %(fullname)s IN ACCESS SHARE MODE")  # type: ignore[no-untyped-call]
_HOLD_VERSION = _LOCK.against(tables.data_file)
_DEFAULT_SCHEMA = "public"  # DuckDB's default, whatever the search path
_MAX_NAME_BYTES = 63


class PostgresDatabase(CatalogDatabase):
    """The PostgreSQL database of a catalog."""

    kind = "postgres"
    schema: str

    def __init__(self, conninfo: Secret, schema: str | None) -> None:
        self.schema = _DEFAULT_SCHEMA if schema is None else _checked(schema)
        self._parameters = _parse(conninfo)

    def describe(self) -> str:
        shown = {k: v for k, v in self._parameters.items() if k not in _SECRETS}
        within = "" if self.schema == _DEFAULT_SCHEMA else f" (schema {self.schema})"
        return f"postgres:{make_conninfo('', **shown)}{within}"

    def __repr__(self) -> str:
        return f"PostgresDatabase({self.describe()!r})"

    def default_data_path(self) -> None:
        return None

    def exists(self) -> bool:
        try:
            self._connect().close()
        except psycopg.Error as error:
            # libpq's message names host, port and user, and never the password.
            reason = " ".join(str(error).split()).rstrip(".?")
            raise CatalogUnavailableError(
                f"The catalog {self.describe()} cannot be reached: {reason}.",
                hint="Check that the server runs and that host, port, user, password and "
                "database name are right.",
            ) from error
        return True

    def create_engine(self, *, read_only: bool) -> Engine:
        engine = create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            isolation_level="REPEATABLE READ",
            pool_pre_ping=True,
            hide_parameters=True,
            execution_options={"postgresql_readonly": True} if read_only else {},
        )
        event.listen(engine, "handle_error", self._discard_lost)
        return engine.execution_options(schema_translate_map={None: self.schema})

    def _discard_lost(self, context: ExceptionContext) -> None:
        # The driver may still call the connection open, and the pool would hand it out again.
        if self.classify(context.original_exception) is Failure.LOST:
            context.is_disconnect = True

    def _connect(self) -> psycopg.Connection[Any]:
        parameters: dict[str, Any] = {
            "connect_timeout": 10,
            "application_name": "dbt-ducklake",
            # A prepared statement belongs to one server session, and PgBouncer in transaction mode
            # gives every transaction another one.
            "prepare_threshold": None,
        } | self._parameters
        try:
            return psycopg.connect(**parameters)
        except psycopg.Error as error:
            # The driver's own error holds all parameters, the password among them.
            harmless = type(error)(*error.args)
        raise harmless

    def hold_version(self, connection: Connection) -> None:
        # A migration alters this table, which the lock keeps it from. Taken before the snapshot of
        # this transaction: after a migration, the version that it reads is the new one.
        connection.execute(_HOLD_VERSION)

    def prepare_new(self, connection: Connection) -> None:
        if self.schema != _DEFAULT_SCHEMA:
            connection.execute(CreateSchema(self.schema, if_not_exists=True))

    def classify(self, error: BaseException) -> Failure:
        original = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(original, "sqlstate", None)
        if state in _CONTENTION:
            return Failure.CONTENTION
        if state in _TIMEOUTS:
            return Failure.TIMED_OUT
        if state in _SHUTDOWN or (state or "").startswith("08"):
            return Failure.LOST
        # A connection cut by the network has no SQLSTATE; the driver reports it by class.
        if state is None and isinstance(original, _BROKEN):
            return Failure.LOST
        if state in _DENIED:
            return Failure.DENIED
        return Failure.DAMAGED if state in _DAMAGED else Failure.OTHER

    def exceeded_setting(self, error: DBAPIError) -> str:
        return _TIMEOUTS[getattr(error.orig, "sqlstate", "")]

    def integer(self, text: ColumnElement[str]) -> ColumnElement[int]:
        return case((self.bytewise(text).regexp_match(INTEGER_TEXT), cast(text, Numeric)))

    def number(self, text: ColumnElement[str]) -> ColumnElement[float]:
        # A cast to double precision fails for numbers too small for it.
        return case((self.bytewise(text).regexp_match(NUMBER_TEXT), cast(text, Numeric)))

    def comparable(self, value: float) -> ColumnElement[float]:
        # Compared with a double, every number of the table would be made one first.
        return cast(literal(value, Double), Numeric(asdecimal=False))

    def covered(self, stats: FromClause) -> ColumnElement[bool]:
        # A longer text in an index makes the INSERT of its row fail.
        sizes = (func.octet_length(text) for text in (stats.c.min_value, stats.c.max_value))
        # Not parameters: the planner must see that a query asks for what the index has.
        zero, limit = (literal_column(text, BigInteger) for text in ("0", "200"))
        return and_(*(func.coalesce(size, zero) <= limit for size in sizes))

    def bytewise(self, text: ColumnElement[str]) -> ColumnElement[str]:
        return text.collate("C")

    def table_exists(self, connection: Connection, name: str) -> bool:
        # information_schema would hide tables that this user may not read.
        query = text("SELECT 1 FROM pg_tables WHERE tablename = :name AND schemaname = :schema")
        parameters = {"name": name, "schema": self.schema}
        return connection.execute(query, parameters).first() is not None

    def table_names(self, connection: Connection) -> set[str]:
        query = text("SELECT tablename FROM pg_tables WHERE schemaname = :schema")
        return set(connection.scalars(query, {"schema": self.schema}))

    def has_primary_key(self, connection: Connection, name: str) -> bool:
        query = text(
            "SELECT 1 FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid "
            "JOIN pg_namespace n ON n.oid = t.relnamespace "
            "WHERE c.contype = 'p' AND t.relname = :name AND n.nspname = :schema"
        )
        parameters = {"name": name, "schema": self.schema}
        return connection.execute(query, parameters).first() is not None

    def index_names(self, connection: Connection) -> set[str]:
        query = text("SELECT indexname FROM pg_indexes WHERE schemaname = :schema")
        return set(connection.scalars(query, {"schema": self.schema}))

    def now(self, connection: Connection) -> datetime.datetime:
        result: datetime.datetime = connection.execute(
            text("SELECT clock_timestamp()")
        ).scalar_one()
        return result

    def unify_intervals(self, connection: Connection) -> None:
        # A role or database may be set to another style. Not for the whole session, which a pooler
        # such as PgBouncer shares between clients.
        connection.execute(text("SET LOCAL IntervalStyle = postgres"))

    def transaction_token(self, connection: Connection) -> str:
        return str(connection.execute(text("SELECT txid_current()")).scalar_one())

    def outcome_of(self, connection: Connection, token: str, *, force: bool) -> Outcome:
        # The server knows what became of every recent transaction, also after a crash.
        parameters = {"token": int(token)}
        query = text("SELECT txid_status(:token)")
        status: str | None = connection.execute(query, parameters).scalar_one()
        if status == "in progress" and force:
            # The server has not noticed that the connection is gone. Whoever ends the session
            # finds the transaction either committed or aborted afterwards.
            connection.execute(text(_END_SESSION), parameters)
        known = {"committed": Outcome.LANDED, "aborted": Outcome.NOT_LANDED}
        return known.get(status or "", Outcome.UNDECIDED)


_END_SESSION = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid()
      AND CAST(CAST(backend_xid AS text) AS bigint) = :token & 4294967295
"""


def _checked(schema: str) -> str:
    if not schema or len(schema.encode()) > _MAX_NAME_BYTES:
        raise ConfigError(
            f"{schema!r} cannot be the schema of a catalog in PostgreSQL.",
            hint=f"metadata_schema has 1 to {_MAX_NAME_BYTES} bytes.",
        )
    return schema


def _parse(conninfo: Secret) -> dict[str, Any]:
    parameters: dict[str, Any] | None = None
    with suppress(psycopg.Error):
        parameters = conninfo_to_dict(conninfo.value)
    if parameters is None or _is_torn(parameters, conninfo.value):
        # Outside the handler: the parser's message quotes the text, which may hold a password.
        raise ConfigError(
            "The PostgreSQL connection string cannot be understood.",
            hint="Write postgres:dbname=… host=… user=… password=…, with quotes around values "
            "that have spaces, or a postgresql:// URL with special characters percent-encoded.",
        )
    return parameters


def _is_torn(parameters: Mapping[str, Any], conninfo: str) -> bool:
    """Whether a part of a password may be in what is shown: the driver cuts a URL at the first
    special character that nobody encoded."""
    host, port, name = (str(parameters.get(key, "")) for key in ("host", "port", "dbname"))
    is_url = _URL.match(conninfo) is not None
    return bool(
        "@" in host[1:]  # a socket's name may begin with it
        or not _PORTS.fullmatch(port)
        or _NO_NAME.search(name)
        or (is_url and "@" in name and "%40" not in conninfo)
    )
