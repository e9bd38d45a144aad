"""Patience with a catalog that others use too, or whose server restarts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ducklake_spark.catalog.dialects import Failure
from ducklake_spark.catalog.store import Store
from ducklake_spark.catalog.versions import read_format

T = TypeVar("T")
_MOST_GROWTH = 100
# A statement that exceeds a timeout of the server's five times in a row is not going to get faster.
_TIMEOUT_ATTEMPTS = 5


class Patience:
    """How long one caller keeps trying, by the settings of the store."""

    def __init__(self, store: Store) -> None:
        self.attempt = 1
        self.deadline = time.monotonic() + store.settings.give_up_after_s
        self._store = store
        self._timeouts = 0

    def wait_after(self, error: DBAPIError) -> bool:
        """Wait before another attempt, longer after each; return False if there should be none."""
        failure = self._store.database.classify(error)
        if not self._allows(failure) or time.monotonic() > self.deadline:
            return False
        settings = self._store.settings
        if failure is Failure.LOST:
            self._store.report_outage(error, settings.give_up_after_s)
        # Bounded, for a float to the power of many attempts overflows.
        growth = settings.backoff ** min(self.attempt - 1, _MOST_GROWTH)
        longest = min(settings.first_wait_ms * growth, settings.longest_wait_ms)
        time.sleep(longest * random.uniform(0.5, 1.0) / 1000)  # noqa: S311 - jitter, not a secret
        self.attempt += 1
        return True

    def _allows(self, failure: Failure) -> bool:
        match failure:
            case Failure.LOST:  # a restart takes a time, and not a number of attempts
                return True
            case Failure.TIMED_OUT:
                self._timeouts += 1
                return self._timeouts < _TIMEOUT_ATTEMPTS
            case Failure.CONTENTION:
                return self.attempt < self._store.settings.max_attempts
        return False


def repeatedly(store: Store, change: Callable[[Connection], T]) -> T:
    """Make a change that does no harm if it is made twice, until it gets through."""
    patience = Patience(store)
    while True:
        try:
            with store.writing() as connection:
                result = change(connection)
        except DBAPIError as error:
            if not patience.wait_after(error):
                raise store.translated(error) from error
        else:
            store.report_answer()
            return result


def ask(store: Store, question: Callable[[Connection], T]) -> T:
    """Answer a question in one read transaction, waiting for a server that is away.

    A lost connection repeats the whole question in a new transaction, so no answer mixes two states
    of the catalog.
    """
    patience = Patience(store)
    while True:
        try:
            with store.engine.connect() as connection:
                answer = question(connection)
        except PoolTimeout as error:
            raise store.translated(error) from error
        except DBAPIError as error:
            # A catalog in a file has waited for others already.
            is_held = store.database.classify(error) is Failure.CONTENTION
            if is_held or not patience.wait_after(error):
                raise store.translated(error) from error
        else:
            store.report_answer()
            return answer


def read(store: Store, question: Callable[[Connection], T]) -> T:
    """Answer a question as `ask` does, once the version of the format is found to be supported."""

    def answer(connection: Connection) -> T:
        store.format = read_format(connection, store.database.describe())
        return question(connection)

    return ask(store, answer)
