"""The few things a database system must tell the catalog client, beyond running SQL."""

from __future__ import annotations

import datetime
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, auto
from typing import Any, ClassVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Float,
    FromClause,
    Select,
    case,
    literal,
    select,
    true,
)
from sqlalchemy.exc import DBAPIError


class Failure(Enum):
    """What an exception of the driver means for a commit."""

    CONTENTION = auto()  # somebody else was faster, or holds a lock: nothing landed, try again
    LOST = auto()  # the connection is gone: only its COMMIT can have landed
    TIMED_OUT = auto()  # the server's own timeout ended the statement or session
    DENIED = auto()  # the file or the database user does not allow it
    DAMAGED = auto()  # tables or columns are missing, or the file is broken
    OTHER = auto()

    @property
    def may_pass(self) -> bool:
        """Whether the same may work when it is tried again."""
        return self in (Failure.CONTENTION, Failure.LOST, Failure.TIMED_OUT)


class Outcome(Enum):
    """What became of a transaction whose COMMIT was never answered."""

    LANDED = auto()
    NOT_LANDED = auto()
    UNDECIDED = auto()
    FORGOTTEN = auto()  # the snapshot of this id was expired, whoever had made it


class TimeShape(Enum):
    """Texts of dates and times that sort in the order of time, as patterns for LIKE.

    Years of other than four digits, years BC, infinities and other zones have other shapes.
    """

    DATE = "____-__-__"
    TIMESTAMP = "____-__-__ __:__:__%"
    UTC = "____-__-__ __:__:__%+00"

    def fits(self, text: str) -> bool:
        pattern = re.escape(self.value).replace("_", "[0-9]").replace("%", ".*")
        return re.fullmatch(pattern, text) is not None


INTEGER_TEXT = "^-?[0-9]+$"
# The fewer its groups, the faster in PostgreSQL.
NUMBER_TEXT = "^-?[0-9]+[.]?[0-9]*([eE][+-]?[0-9]+)?$"


class CatalogDatabase(ABC):
    """One catalog database, before and while it is open."""

    kind: str
    # Where the catalog's tables live, if not in the default schema.
    schema: str | None = None
    # Whether extra indexes on the catalog's tables pay off.
    wants_indexes = True
    # Execution options of connections that will write.
    write_options: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def describe(self) -> str:
        """The database for a message; never with a password."""

    @abstractmethod
    def default_data_path(self) -> str | None:
        """Where data goes if nobody says, or None if somebody must."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a database at all (it may still hold no lake)."""

    def check_room(self) -> None:  # noqa: B027 - as below
        """Raise CatalogAccessError if a new database certainly cannot be created."""

    def make_room(self) -> None:  # noqa: B027 - a server has a place for it already
        """Called before a database is created."""

    @abstractmethod
    def create_engine(self, *, read_only: bool) -> Engine:
        """The engine; its connections begin transactions that see one consistent state."""

    @abstractmethod
    def classify(self, error: BaseException) -> Failure:
        """Decide by SQLSTATE and exception class, never by message text."""

    def exceeded_setting(self, error: DBAPIError) -> str:
        """Return the server's setting behind a Failure.TIMED_OUT."""
        raise NotImplementedError  # files have no timeouts of their own

    @abstractmethod
    def integer(self, text: ColumnElement[str]) -> ColumnElement[int]:
        """The number in a statistics text, NULL if it is none."""

    @abstractmethod
    def number(self, text: ColumnElement[str]) -> ColumnElement[float]:
        """The finite number in a statistics text, NULL if it is none; perhaps not exact."""

    def comparable(self, value: float) -> ColumnElement[float]:
        """A finite number to compare with those of `number`; perhaps not exact."""
        return literal(value, Float)

    def shaped(self, text: ColumnElement[str], shape: TimeShape) -> ColumnElement[str]:
        """The text if it has this shape, NULL otherwise; compares byte by byte."""
        bytewise = self.bytewise(text)
        # Regular expressions take PostgreSQL ten times as long.
        return case((bytewise.like(shape.value), bytewise))

    def bytewise(self, text: ColumnElement[str]) -> ColumnElement[str]:
        """The text, comparing byte by byte whatever the database's collation."""
        return text

    def covered(self, stats: FromClause) -> ColumnElement[bool]:
        """Which rows of the statistics of files an index may hold completely."""
        return true()

    def difference(
        self, ids: ColumnElement[int], among: Select[Any], excluded: Select[Any]
    ) -> ColumnElement[bool]:
        """Which rows of a query for `among` are not excluded. Both may be long lists, for which
        NOT IN can take quadratic time."""
        listed = excluded.subquery()
        found = select(listed).where(listed.c[0] == ids).correlate(ids.table)
        return ~found.exists()

    @abstractmethod
    def table_exists(self, connection: Connection, name: str) -> bool:
        """Whether the catalog has a table of this name (inlined data come and go)."""

    @abstractmethod
    def table_names(self, connection: Connection) -> set[str]:
        """The names of the catalog's tables."""

    @abstractmethod
    def has_primary_key(self, connection: Connection, name: str) -> bool:
        """Whether a table of the catalog has a primary key."""

    def index_names(self, connection: Connection) -> set[str]:
        """The indexes of the catalog's tables, where there may be any."""
        return set()

    def prepare_new(self, connection: Connection) -> None:  # noqa: B027 - most need nothing
        """Called before the catalog's tables are created."""

    def hold_version(self, connection: Connection) -> None:  # noqa: B027 - one writer at a time
        """Called first in a writing transaction: no other client may migrate the catalog from when
        the transaction reads its version until it ends."""

    def writing(self) -> AbstractContextManager[object]:
        """Held around a writing transaction, to spare this process's threads the contention."""
        return nullcontext()

    def unify_intervals(self, connection: Connection) -> None:  # noqa: B027 - most have one form
        """Called in a transaction before intervals are read as text."""

    def now(self, connection: Connection) -> datetime.datetime:
        """The time of a commit: the server's where there is one, for clients' clocks differ."""
        return datetime.datetime.now(datetime.UTC)

    def transaction_token(self, connection: Connection) -> str | None:
        """What to ask for should the answer to COMMIT get lost."""
        return None

    def outcome_of(self, connection: Connection, token: str, *, force: bool) -> Outcome:
        """What became of the transaction, asked on a new connection; `force` ends its session
        if it is still open, so that there is an answer."""
        raise NotImplementedError  # never asked where there is no token to ask with
