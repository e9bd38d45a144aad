"""Starts the JVM without its chatter, and says what it said if it does not start."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkRuntimeError

from ducklake_spark.errors import ConfigError

_STDERR = 2
_LAST_LINES = 12
# How a JVM that did start begins the lines that say why it stopped; the others are its stack.
_CAUSES = ("Exception in thread", "Caused by:", "Error:", "Unrecognized", "Invalid")

_SETTINGS = "Check Spark's master and configuration."
_JAVA = "It needs Java 17 or newer: install one, and set JAVA_HOME if it is not on the PATH."


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
            raise _no_jvm(chatter.fileno()) from error
        except Py4JJavaError as error:  # the JVM runs, and has no Spark for us
            said = str(error).partition("\n\tat ")[0].splitlines()[1:]
            raise _no_spark([line.removeprefix(": ") for line in said], _SETTINGS) from error
        finally:
            os.dup2(kept, _STDERR)
            os.close(kept)


def _no_jvm(chatter: int) -> ConfigError:
    os.lseek(chatter, 0, os.SEEK_SET)
    said = os.read(chatter, 1_000_000).decode(errors="replace").splitlines()
    if (wrong := _wrong_java(said)) is not None:
        return _no_spark([wrong], _JAVA)
    causes = [line for line in said if line.startswith(_CAUSES)]
    return _no_spark(causes or said, _SETTINGS if causes else _JAVA)


def _wrong_java(said: Iterable[str]) -> str | None:
    """What is the matter with Java, if that is known: the JVM says it in its own terms or not."""
    home = os.environ.get("JAVA_HOME")
    if home and not Path(home, "bin", "java").exists():
        return f"JAVA_HOME is {home}, and there is no bin/java in it."
    if not home and shutil.which("java") is None:
        return "There is no `java` on the PATH, and JAVA_HOME is not set."
    if any("UnsupportedClassVersionError" in line for line in said):
        return f"The Java of {home or shutil.which('java')} is too old."
    return None


def _no_spark(said: Sequence[str], hint: str) -> ConfigError:
    detail = "".join(f"\n  {line}" for line in said[-_LAST_LINES:])
    return ConfigError(f"Spark did not start.{detail}\n", hint=hint)
