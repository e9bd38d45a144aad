"""Cancels statements on Ctrl-C.

Statements run in another thread. Ctrl-C in the middle of a call to the JVM would break the
connection to it, and the job would continue.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType

from ducklake_spark.lake import Lake

# Again and again, because a job that Spark is only about to start cannot be stopped yet.
_BETWEEN_INTERRUPTS_S = 0.3


class Canceller:
    """Runs work on a lake, one piece after the other, so that Ctrl-C ends it."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._thread = ThreadPoolExecutor(1, "statements")

    def run(self, work: Callable[[], None]) -> None:
        """Wait for the work to end; raises KeyboardInterrupt if Ctrl-C stopped it."""
        future = self._thread.submit(work)
        try:
            future.result()
        except KeyboardInterrupt:
            while not future.done():
                self._lake.session.spark.interruptAll()
                wait([future], _BETWEEN_INTERRUPTS_S)
            if future.exception() is not None:
                raise
            # It was complete before Spark could be stopped.

    def __enter__(self) -> Canceller:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.shutdown(wait=False)
