"""Detects that the JVM of Spark has ended, and says why.

A query that needs more memory than the JVM has can end it, and with it every query of the process.
"""

from __future__ import annotations

import logging
import subprocess
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from ducklake_spark.errors import ConfigError
from ducklake_spark.session.memory import DRIVER_MEMORY

_LAST_BREATH_S = 15
_LAST_WORDS = ("java.lang.OutOfMemoryError", "[INTERNAL_ERROR]")
# The exit code of a Spark that is out of memory, and those of a process that the system killed.
_OUT_OF_MEMORY, _KILLED = 52, (-9, 137)
_outlived: set[int] = set()
_MORE_MEMORY = (
    f"Give it more memory, such as spark_config: {{{DRIVER_MEMORY}: 8g}} in the profile, or more "
    "and smaller tasks by a larger spark.sql.shuffle.partitions."
)


def silence_py4j() -> None:
    """Have Py4J not log, with its stack, what it then raises when the JVM ends."""
    logging.getLogger().addFilter(_is_not_py4js)


def _is_not_py4js(record: logging.LogRecord) -> bool:
    return record.msg != "Exception while sending command."


def gateway_of(spark: SparkSession) -> Any:
    """Return the way to the JVM of a session; None for Spark Connect."""
    return None if not hasattr(spark, "_jsparkSession") else SparkContext._gateway


def has_ended(gateway: Any) -> bool:
    """Return whether the JVM has ended; False where this process did not start it."""
    process = getattr(gateway, "proc", None)
    return process is not None and process.poll() is not None


def is_ending(gateway: Any) -> bool:
    """Return whether the JVM has ended, after waiting for one in which Spark has stopped."""
    if gateway is SparkContext._gateway and not has_ended(gateway) and _is_stopping():
        _ended_soon()
    return has_ended(gateway)


def is_jvm_gone(error: Exception) -> bool:
    """Return whether a statement failed because Spark has stopped or its JVM has ended."""
    # Spark reports that a task of the JVM's own failed for want of memory, and then ends.
    context: Any = SparkContext._active_spark_context
    runs_tasks = context is not None and is_in_one_process(context.master)
    is_last_word = runs_tasks and any(word in str(error) for word in _LAST_WORDS)
    return _is_stopping() or (is_last_word and _ended_soon() is not None)


def is_in_one_process(master: str) -> bool:
    """Return whether a Spark with this master runs its tasks in the JVM of the driver."""
    return master == "local" or master.startswith("local[")


def _is_stopping() -> bool:
    """Return whether Spark has stopped or does not answer; queries then fail in many ways."""
    context: Any = SparkContext._active_spark_context
    if context is None:
        return False
    try:
        return bool(context._jsc.sc().isStopped())
    except (Py4JError, ConnectionError):
        return True


def jvm_gone() -> ConfigError:
    """Return the error for a Spark that has stopped."""
    code = _ended_soon()
    if code == _OUT_OF_MEMORY:
        return ConfigError("Spark ran out of memory and ended.", hint=_MORE_MEMORY)
    if code in _KILLED:
        return ConfigError(
            "Spark was killed, as systems do when memory runs out.",
            hint="Let the machine run less beside it, or give Spark less memory.",
        )
    how = "has stopped" if code is None else f"ended with exit code {code}"
    return ConfigError(
        f"Spark {how}.",
        hint="See the log of Spark or of its cluster for the reason, and start again.",
    )


def forget() -> None:
    """Have PySpark forget a JVM that has ended, so that it can start another one."""
    gateway: Any = SparkContext._gateway
    if gateway is None or not has_ended(gateway):
        return
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _ended_soon() -> int | None:
    """Return the exit code of the JVM, which may be about to end; None if it runs.

    One that has outlived the wait, as when a cluster has stopped Spark, is not waited for again.
    """
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    try:
        return int(process.wait(timeout=0 if process.pid in _outlived else _LAST_BREATH_S))
    except subprocess.TimeoutExpired:
        _outlived.add(process.pid)
        return None
