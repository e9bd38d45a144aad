"""One isolated Spark session with the settings that reading and writing a lake rely on.

Public DataFrame API only, so that classic Spark and Spark Connect are the same to all callers.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from types import TracebackType

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ducklake_spark.config import SparkSettings, refuse_duckdb_settings
from ducklake_spark.errors import ConfigError
from ducklake_spark.session.address import check_answers
from ducklake_spark.session.archive import JAVA_OPTIONS, archive_path, with_archive
from ducklake_spark.session.connect import gone, is_gone, limit_patience, reach, say_goodbye
from ducklake_spark.session.jvm import (
    gateway_of,
    has_ended,
    is_ending,
    is_in_one_process,
    silence_py4j,
)
from ducklake_spark.session.launch import launch
from ducklake_spark.session.memory import driver_memory
from ducklake_spark.session.scratch import Scratch

_log = logging.getLogger(__name__)
_WRITES_FIELD_IDS = "spark.sql.parquet.fieldId.write.enabled"
# What must hold whatever the user configures: files are read by field id and written the way
# DuckDB reads them, and no calendar or time zone of this machine leaks into data.
_REQUIRED = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    # Where a query asks for parts of a struct, Spark reads these alone and forgets the field id of
    # the column, which it then does not find: all its values would be NULL.
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    # A column read from a lake carries its id there into the frame: in another table it is another
    # column's. What Spark writes is found by name, through the table's mapping.
    _WRITES_FIELD_IDS: "false",
    # Spark's other reader shows NULL for the default of a column that a file lacks.
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.parquet.enableNestedColumnVectorizedReader": "true",
    # Lists as Hive of old had them stop DuckDB with an internal error.
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.ansi.enabled": "true",
    # The lake keeps the texts of views and defaults. They must mean the same in every session.
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    # Spark would read every name in backticks as a regular expression.
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # A scan's list of files is in Spark's metadata log; without the log Spark finds no files.
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": "false",
    # Without parquet in this list, which is Spark's default, Spark ignores the metadata log.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,kafka,orc,parquet,text",
    # Spark's Parquet filters would miss 1582-10-05 to 1582-10-14, days that java.sql.Date lacks.
    "spark.sql.datetime.java8API.enabled": "true",
    # A file that is lost or damaged would be read as if it had no rows.
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}
FIXED_SETTINGS = tuple(_REQUIRED)
# Quiet and quick on one machine; a user's spark_config wins over these.
_LOCAL_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    # Noting where each expression was made costs more calls of the JVM than making it, and would
    # name lines of ours.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Ten times Java's own: while Spark starts and runs short queries, Java's second compiler takes
    # their processors to no avail. Queries that run for long pass these marks too. Spark puts them
    # before spark.driver.extraJavaOptions, wherever those are set, and Java takes the later value.
    "spark.driver.defaultJavaOptions": (
        "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
        "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
    ),
}


class Session:
    """A Spark session of its own settings and temp views, beside others on the same Spark."""

    def __init__(self, spark: SparkSession, config: Mapping[str, str] | None = None) -> None:
        # An exception says what failed. PySpark logs it too, as JSON with stacks of the JVM.
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        silence_py4j()
        self.spark = spark.newSession()
        self._gateway = gateway_of(self.spark)
        self._config = dict(config or {})
        # What Spark was started with, if it was started here and can be again.
        self._launched_with: dict[str, str] | None = None
        self._opened_here: SparkSession | None = None
        self.scratch = Scratch()
        try:
            if self.is_connect:
                limit_patience(self.spark)
                # A new session there has the server's settings, not those of the one it came from.
                self._configure()
            for key, value in _REQUIRED.items():
                self.spark.conf.set(key, value)
        except PySparkException as error:
            if is_gone(error):
                raise gone() from error
            raise

    def _configure(self) -> None:
        for key, value in self._config.items():
            try:
                self.spark.conf.set(key, value)
            except PySparkException as error:
                if is_gone(error):
                    raise
                raise ConfigError(
                    f"{key} cannot be set on a Spark Connect server that runs.",
                    hint="Give it to the server when it starts, and leave it out here.",
                ) from error

    @classmethod
    def open(cls, settings: SparkSettings | None = None) -> Session:
        """Start Spark or reach the one that runs, and take a session on it."""
        settings = settings or SparkSettings()
        refuse_duckdb_settings(settings.config)
        for key, value in settings.config.items():
            if key in _REQUIRED and value.lower() != _REQUIRED[key].lower():
                raise ConfigError(
                    f"Cannot set {key} to {value!r}: DuckLake tables require {_REQUIRED[key]!r}.",
                    hint=f"Remove {key} from the Spark settings.",
                )
        return cls._reached(settings) if settings.remote else cls._started(settings)

    @classmethod
    def _reached(cls, settings: SparkSettings) -> Session:
        spark = reach(settings.remote or "")
        try:
            session = cls(spark, settings.config)
        except BaseException:
            spark.stop()
            raise
        session._opened_here = spark
        return session

    @classmethod
    def _started(cls, settings: SparkSettings) -> Session:
        check_answers(settings)
        config = {"spark.app.name": "dbt-ducklake", "spark.master": settings.master}
        if settings.master.startswith("local"):
            # Workers on this machine run the Python that we run, with its packages.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            config |= _LOCAL_DEFAULTS
        config |= settings.config
        config |= driver_memory(config)
        if settings.master.startswith("local") and (archive := archive_path()).exists():
            config[JAVA_OPTIONS] = with_archive(config.get(JAVA_OPTIONS, ""), archive)
        session = cls(_launched(config))
        session._launched_with = config
        return session

    def _revive(self) -> None:
        """Start Spark again if it has ended since."""
        if self._launched_with is None or not is_ending(self._gateway):
            return
        self.spark = _launched(self._launched_with).newSession()
        self._gateway = gateway_of(self.spark)
        for key, value in _REQUIRED.items():
            self.spark.conf.set(key, value)
        _log.warning("Spark has started again: temporary views and changed settings are gone.")

    @property
    def has_ended(self) -> bool:
        """Whether Spark has ended, as it does when it runs out of memory."""
        return has_ended(self._gateway)

    def sibling(self, *, writes_field_ids: bool = False) -> Session:
        """Another session on the same Spark, with the same settings.

        `writes_field_ids`: for those who say themselves which id each column of a file gets.
        """
        self._revive()
        other = Session(self.spark, self._config)
        other._launched_with = self._launched_with
        if writes_field_ids:
            other.spark.conf.set(_WRITES_FIELD_IDS, "true")
        return other

    def keep_settings(self) -> list[str]:
        """Set again what must hold and was changed since; the keys of that.

        A Spark that was started here and has ended since is started again.
        """
        self._revive()
        now = self.settings(*_REQUIRED)
        changed = [k for k, value in _REQUIRED.items() if (now[k] or "").lower() != value.lower()]
        for key in changed:
            self.spark.conf.set(key, _REQUIRED[key])
        return changed

    def settings(self, *keys: str) -> dict[str, str | None]:
        """Return the values of some settings; None for one that is not set."""
        if self.is_connect:  # where each setting by itself is a round trip
            now = self.spark.conf.getAll
            return {key: now.get(key) for key in keys}
        return {key: self.spark.conf.get(key, None) for key in keys}

    @property
    def is_connect(self) -> bool:
        # One process can have both kinds, so what the process is says nothing.
        return type(self.spark).__module__.startswith("pyspark.sql.connect.")

    def close(self) -> None:
        """Remove what the session left behind; Spark itself goes on for others."""
        self.scratch.close()
        if self.is_connect and not self.spark.client.is_closed:
            # A client still open when Python ends tries for minutes to do so.
            say_goodbye(self.spark)
        if self._opened_here is not None:
            say_goodbye(self._opened_here)
            self._opened_here.stop()
            self._opened_here = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _launched(config: Mapping[str, str]) -> SparkSession:
    spark = launch(config)
    spark.sparkContext.setLogLevel("OFF")
    return spark


def runs_in_one_process(spark: SparkSession) -> bool:
    """Return whether Spark runs its tasks in the driver's own process, without executors."""
    return is_in_one_process(spark.conf.get("spark.master", "") or "")
