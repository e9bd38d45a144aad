"""One isolated Spark session with the settings that reading and writing a lake rely on.

Public DataFrame API only, so that classic Spark and Spark Connect are the same to all callers.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from pyspark.sql import SparkSession

from ducklake_spark.errors import ConfigError
from ducklake_spark.session.launch import quiet_start

# What must hold whatever the user configures: files are read by field id and written the way
# DuckDB reads them, and no calendar or time zone of this machine leaks into data.
_REQUIRED = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    # A column read from a lake carries its id there into the frame: in another table it is another
    # column's. What Spark writes is found by name, through the table's mapping.
    "spark.sql.parquet.fieldId.write.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.ansi.enabled": "true",
}
# Quiet and quick on one machine; a user's spark_config wins over these.
_LOCAL_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where Spark runs: a master to start in this process, or a Connect server to talk to."""

    master: str = "local[*]"
    remote: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)


class Session:
    """A Spark session of its own settings and temp views, beside others on the same Spark."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark.newSession()
        for key, value in _REQUIRED.items():
            self.spark.conf.set(key, value)
        self._scratch: Path | None = None

    @classmethod
    def open(cls, settings: SparkSettings | None = None) -> Session:
        """Start Spark or reach the one that runs, and take a session on it."""
        settings = settings or SparkSettings()
        builder = SparkSession.builder.appName("dbt-ducklake")
        if settings.remote is not None:
            builder = builder.remote(settings.remote)
        else:
            builder = builder.master(settings.master)
            if settings.master.startswith("local"):
                # Workers on this machine run the Python that we run, with its packages.
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
                for key, value in _LOCAL_DEFAULTS.items():
                    builder = builder.config(key, value)
        for key, value in settings.config.items():
            if key in _REQUIRED and value.lower() != _REQUIRED[key].lower():
                raise ConfigError(
                    f"{key} cannot be {value!r}: reading and writing a lake needs {_REQUIRED[key]}."
                )
            builder = builder.config(key, value)
        # A failure is told once, by the exception: not by stacks of the JVM in the log too.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        if settings.remote is not None:
            return cls(builder.getOrCreate())
        with quiet_start():
            session = cls(builder.getOrCreate())
        session.spark.sparkContext.setLogLevel("OFF")
        return session

    @property
    def is_connect(self) -> bool:
        # One process can have both kinds, so what the process is says nothing.
        return type(self.spark).__module__.startswith("pyspark.sql.connect.")

    @property
    def scratch(self) -> Path:
        """A folder for small files that Spark's driver reads; gone when the session closes."""
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="ducklake-"))
        return self._scratch

    def close(self) -> None:
        """Remove what the session left behind; Spark itself goes on for others."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
