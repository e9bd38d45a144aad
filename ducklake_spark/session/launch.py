"""Starts the JVM without its chatter, and says what it said if it does not start."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkRuntimeError

from ducklake_spark.errors import ConfigError

_STDERR = 2
_LAST_LINES = 12
# How a JVM that did start begins the lines that say why it stopped; the others are its stack.
_CAUSES = ("Exception in thread", "Caused by:", "Error:", "Unrecognized", "Invalid")


@contextmanager
def quiet_start() -> Iterator[None]:
    """Let a JVM that is started here inherit a file as its standard error.

    Its warnings, about incubating modules, host names and loggers, are nobody's business; they
    come before any setting of ours could reach it.
    """
    with tempfile.TemporaryFile() as chatter:
        kept = os.dup(_STDERR)
        os.dup2(chatter.fileno(), _STDERR)
        try:
            yield
        except (PySparkRuntimeError, FileNotFoundError) as error:
            raise _no_spark(chatter.fileno()) from error
        finally:
            os.dup2(kept, _STDERR)
            os.close(kept)


def _no_spark(chatter: int) -> ConfigError:
    os.lseek(chatter, 0, os.SEEK_SET)
    said = os.read(chatter, 1_000_000).decode(errors="replace").splitlines()
    causes = [line for line in said if line.startswith(_CAUSES)]
    if causes:
        hint = "Check Spark's master and configuration."
    else:
        hint = "It needs Java 17 or newer: install one, and set JAVA_HOME if it is not on the PATH."
    detail = "".join(f"\n  {line}" for line in (causes or said)[-_LAST_LINES:])
    return ConfigError(f"Spark did not start.{detail}\n", hint=hint)
