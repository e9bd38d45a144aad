"""Patience with others who use the same catalog."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ducklake_spark.catalog.dialects import Failure
from ducklake_spark.catalog.store import Store
from ducklake_spark.config import CommitSettings

T = TypeVar("T")
_MOST_GROWTH = 100


def wait(settings: CommitSettings, attempt: int) -> None:
    """Wait after an attempt that others were faster than, longer after each."""
    # Bounded, for a float to the power of many attempts overflows.
    growth = settings.backoff ** min(attempt - 1, _MOST_GROWTH)
    longest = min(settings.first_wait_ms * growth, settings.longest_wait_ms)
    time.sleep(longest * random.uniform(0.5, 1.0) / 1000)  # noqa: S311 - jitter, not a secret


def repeatedly(store: Store, settings: CommitSettings, change: Callable[[Connection], T]) -> T:
    """Make a change that does no harm if it is made twice, until nobody is in the way."""
    deadline = time.monotonic() + settings.give_up_after_s
    attempt = 1
    while True:
        try:
            with store.writing() as connection:
                return change(connection)
        except DBAPIError as error:
            contended = store.database.classify(error) is Failure.CONTENTION
            late = attempt >= settings.max_attempts or time.monotonic() > deadline
            if not contended or late:
                raise store.translated(error) from error
        wait(settings, attempt)
        attempt += 1
