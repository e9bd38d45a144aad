"""The few things a database system must tell the catalog client, beyond running SQL."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, auto
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Connection, Engine


class Failure(Enum):
    """What an exception of the driver means for a commit."""

    CONTENTION = auto()  # somebody else was faster, or holds a lock: nothing landed, try again
    LOST = auto()  # the connection is gone: only its COMMIT can have landed
    OTHER = auto()


class Outcome(Enum):
    """What became of a transaction whose COMMIT was never answered."""

    LANDED = auto()
    NOT_LANDED = auto()
    UNDECIDED = auto()


class TimeShape(Enum):
    """Texts of dates and times that sort in the order of time: a regular expression for each."""

    DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
    TIMESTAMP = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?$"
    UTC = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?[+]00$"


INTEGER_TEXT = "^-?[0-9]+$"
NUMBER_TEXT = "^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$"


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

    @abstractmethod
    def create_engine(self, *, read_only: bool) -> Engine:
        """The engine; its connections begin transactions that see one consistent state."""

    @abstractmethod
    def classify(self, error: BaseException) -> Failure:
        """Decide by SQLSTATE and exception class, never by message text."""

    @abstractmethod
    def integer(self, text: ColumnElement[str]) -> ColumnElement[int]:
        """The number in a statistics text, NULL if it is none."""

    @abstractmethod
    def number(self, text: ColumnElement[str]) -> ColumnElement[float]:
        """The finite number in a statistics text, NULL if it is none; perhaps not exact."""

    @abstractmethod
    def shaped(self, text: ColumnElement[str], shape: TimeShape) -> ColumnElement[str]:
        """The text if it has this shape, NULL otherwise; compares byte by byte."""

    def bytewise(self, text: ColumnElement[str]) -> ColumnElement[str]:
        """The text, comparing byte by byte whatever the database's collation."""
        return text

    @abstractmethod
    def table_exists(self, connection: Connection, name: str) -> bool:
        """Whether the catalog has a table of this name (inlined data come and go)."""

    def prepare_new(self, connection: Connection) -> None:  # noqa: B027 - most need nothing
        """Called before the catalog's tables are created."""

    def writing(self) -> AbstractContextManager[object]:
        """Held around a writing transaction, to spare this process's threads the contention."""
        return nullcontext()

    def now(self, connection: Connection) -> datetime.datetime:
        """The time of a commit: the server's where there is one, for clients' clocks differ."""
        return datetime.datetime.now(datetime.UTC)

    def transaction_token(self, connection: Connection) -> str | None:
        """What to ask for should the answer to COMMIT get lost."""
        return None

    def outcome_of(self, connection: Connection, token: str, *, force: bool) -> Outcome:
        """What became of the transaction, asked on a new connection; `force` ends its session
        if it is still open, so that there is an answer."""
        raise NotImplementedError
