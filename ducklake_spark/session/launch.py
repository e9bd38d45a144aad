"""Starts the JVM without its chatter, and says what it said if it does not start."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from ducklake_spark.errors import ConfigError
from ducklake_spark.session.jvm import forget

_LAST_LINES = 12
# How a JVM that did start begins the lines that say why it stopped; the others are its stack.
_CAUSES = ("Exception in thread", "Caused by:", "Error:", "Unrecognized", "Invalid")

_SETTINGS = "Check Spark's master and configuration."
_JAVA = "It needs Java 17 or newer: install one, and set JAVA_HOME if it is not on the PATH."


_launching = threading.Lock()


def launch(config: Mapping[str, str]) -> SparkSession:
    """The Spark of this process, started if it does not run.

    The JVM's standard error is a file: its warnings, about incubating modules, host names and
    loggers, are nobody's business, and come before any setting of ours could reach it.
    """
    with _launching, tempfile.TemporaryFile() as chatter:
        try:
            forget()
            if SparkContext._gateway is None:  # there is no JVM yet
                _start(SparkConf().setAll(list(config.items())), chatter)
            return SparkSession.builder.config(map=dict(config)).getOrCreate()
        except (PySparkRuntimeError, FileNotFoundError) as error:
            raise _no_jvm(chatter) from error
        except Py4JJavaError as error:  # the JVM runs, and has no Spark for us
            said = str(error).partition("\n\tat ")[0].splitlines()[1:]
            raise _no_spark([line.removeprefix(": ") for line in said], _SETTINGS) from error


def _start(conf: SparkConf, chatter: IO[bytes]) -> None:
    gateway = launch_gateway(conf, {"stderr": chatter})  # type: ignore[no-untyped-call]
    SparkContext(conf=conf, gateway=gateway)


def _no_jvm(chatter: IO[bytes]) -> ConfigError:
    chatter.seek(0)
    said = chatter.read().decode(errors="replace").splitlines()
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
