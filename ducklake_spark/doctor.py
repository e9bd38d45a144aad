"""Whether all that a lake needs is there: Java, Spark, the catalog, the data path from both sides.

Looks at one thing after the other, so that the first red line names the cause; creates no lake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from ducklake_spark.catalog import Catalog
from ducklake_spark.config import Attached, parse_catalog
from ducklake_spark.errors import CatalogNotFoundError, DuckLakeError, StorageError
from ducklake_spark.session import Session, SparkSettings, runs_in_one_process
from ducklake_spark.spec.names import uuid7
from ducklake_spark.spec.paths import as_directory, is_relative
from ducklake_spark.sql import SPARK_ERRORS, query_error
from ducklake_spark.storage.filesystem import list_files, locate, make_parent, remove_tree
from ducklake_spark.storage.hadoop import hadoop_path
from ducklake_spark.write import mark_from_workers

_VERSIONS = "SELECT version(), java_method('java.lang.System', 'getProperty', 'java.version')"
_HADOOP = "SELECT java_method('org.apache.hadoop.util.VersionInfo', 'getVersion') AS version"
# What Hadoop says when it lacks a client -> the artifact that has it.
_CLIENTS = {
    "S3AFileSystem not found": "hadoop-aws",
    'No FileSystem for scheme "s3': "hadoop-aws",
    "AzureBlobFileSystem not found": "hadoop-azure",
    'No FileSystem for scheme "abfs': "hadoop-azure",
}
_STORES = "See the documentation's page on cloud stores for what each side needs."


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was found, and what to do if that is not well."""

    subject: str
    found: str
    advice: str | None = None
    works: bool = False  # in spite of the advice

    @property
    def is_well(self) -> bool:
        return self.advice is None or self.works

    def __str__(self) -> str:
        if self.advice is None:
            return f"{self.subject}: [OK] {self.found}"
        return (
            f"{self.subject}: [{'WARNING' if self.works else 'ERROR'}] {self.found} {self.advice}"
        )


def examine(
    catalog: str,
    data_path: str | None = None,
    spark: SparkSettings | None = None,
    *,
    metadata_schema: str | None = None,
    attached: Iterable[Attached] = (),
) -> Iterator[Finding]:
    """Look at everything that the settings of a lake, and of those beside it, name."""
    spark = spark or SparkSettings()
    try:
        session = Session.open(spark)
        yield from _versions(session, spark)
    except (DuckLakeError, *SPARK_ERRORS) as error:
        session = None
        yield _failed("Spark", error, "Check spark_master or spark_remote, and spark_config.")
    yield from _look_at_lake(Attached("", catalog, data_path, metadata_schema), session)
    for other in attached:
        for finding in _look_at_lake(other, session):
            yield replace(finding, subject=f"{other.name}: {finding.subject}")
    if session is not None:
        session.close()


def _versions(session: Session, settings: SparkSettings) -> Iterator[Finding]:
    spark, java = session.spark.sql(_VERSIONS).toArrow().to_pylist()[0].values()
    yield Finding("Java", java)
    yield Finding("Spark", f"{spark.partition(' ')[0]} at {settings.address}")


def _look_at_lake(lake: Attached, session: Session | None) -> Iterator[Finding]:
    try:
        found, path, is_writable = _look_at_catalog(lake)
        yield found
    except DuckLakeError as error:
        yield _failed("catalog", error, "Check catalog and metadata_schema.")
        return
    if (
        lake.data_path
        and is_relative(lake.data_path)
        and parse_catalog(lake.catalog).kind == "postgres"
    ):
        yield Finding(
            "data path",
            f"{lake.data_path!r} is relative, and each client of the catalog's server looks for it "
            "in the folder where it runs.",
            "Set data_path to a complete path.",
            works=True,
        )
    if is_writable and not lake.read_only:
        yield from _look_at_data_path(path, session)


def _look_at_catalog(lake: Attached) -> tuple[Finding, str, bool]:
    """The finding, the lake's complete data path, and whether its version can be written.

    The data path of a new lake is where it would be.
    """
    try:
        with Catalog.open(
            lake.catalog,
            data_path=lake.data_path,
            metadata_schema=lake.metadata_schema,
            create=False,
        ) as opened:
            newest = opened.snapshot().id
            known = opened.format
            version = known.version if known.is_writable else f"{known.version} (read only)"
            found = Finding("catalog", f"DuckLake {version}, at snapshot {newest}")
            return found, opened.data_path, known.is_writable
    except CatalogNotFoundError:
        if lake.read_only:
            raise  # nobody will create it
        path = Catalog.planned_data_path(lake.catalog, lake.data_path)
        return Finding("catalog", "not there yet: the first run creates it"), path, True


def _look_at_data_path(path: str, session: Session | None) -> Iterator[Finding]:
    folder = f"{as_directory(path)}ducklake-doctor-{uuid7()}/"
    try:
        yield _write_from_here(path, folder)
        if session is not None:
            yield _write_by_spark(session, path, folder)
            if not runs_in_one_process(session.spark):
                yield _write_by_workers(session, path, folder)
    finally:
        with suppress(StorageError):  # what could not be written need not be removed
            remove_tree(folder)


def _write_from_here(path: str, folder: str) -> Finding:
    subject = "data path, from here"
    try:
        file_system, inner = locate(f"{folder}probe")
        make_parent(file_system, inner)
        with file_system.open_output_stream(inner) as file:
            file.write(b"x")
    except (StorageError, OSError, ValueError) as error:
        reason = f"it {error.problem}" if isinstance(error, StorageError) else error
        return Finding(subject, f"{path} cannot be written to: {reason}.", _rights(path))
    return Finding(subject, f"{path} is writable")


def _write_by_spark(session: Session, path: str, folder: str) -> Finding:
    subject = "data path, from Spark"
    try:
        session.spark.range(1).write.parquet(hadoop_path(f"{folder}spark/"))
    except SPARK_ERRORS as error:
        problem = str(query_error(error)).rstrip(".")
        advice = _missing_jar(session, problem) or _rights(path)
        return Finding(subject, f"{path} cannot be written to: {problem}.", advice)
    try:
        is_seen = any(name.endswith(".parquet") for name in list_files(f"{folder}spark/"))
    except StorageError as error:
        return Finding(subject, error.message, error.hint)
    if not is_seen:
        return Finding(
            subject,
            f"what Spark writes to {path} cannot be seen from here.",
            "Use a path that is the same place for Spark's machines and for this one.",
        )
    return Finding(subject, f"{path} is writable, and seen from here")


def _write_by_workers(session: Session, path: str, folder: str) -> Finding:
    subject = "data path, from every Spark worker"
    try:
        workers = mark_from_workers(session, folder)
    except SPARK_ERRORS as error:
        advice = "Install Python and this package on every Spark worker: UPDATE and MERGE need it."
        return Finding(subject, f"cannot run Python tasks: {query_error(error)}", advice)
    except StorageError as error:
        return Finding(subject, error.message, error.hint)
    if workers.failed:
        listed = "; ".join(f"{worker}: {problem}" for worker, problem in workers.failed)
        return Finding(subject, f"{path} cannot be written to by {listed}.", _rights(path))
    if workers.unseen:
        return Finding(
            subject,
            f"what these executors write to {path} cannot be seen from here: "
            f"{'; '.join(workers.unseen)}.",
            "Mount the same shared disk on every Spark worker and on this machine, or use an "
            "object store.",
        )
    count = len(workers.seen)
    return Finding(subject, f"{path} is writable, and seen from here: {count} executors")


def _missing_jar(session: Session, problem: str) -> str | None:
    """Return what to add to Spark if it lacks the client of an object store."""
    artifact = next((name for marker, name in _CLIENTS.items() if marker in problem), None)
    if artifact is None:
        return None
    (row,) = session.spark.sql(_HADOOP).toArrow().to_pylist()
    jar = f"org.apache.hadoop:{artifact}:{row['version']}"
    return f'Set spark.jars.packages: "{jar}" in spark_config, and start Spark again.'


def _rights(path: str) -> str:
    return _STORES if "://" in path else "Create the folder, or ask for the right to write there."


def _failed(subject: str, error: Exception, advice: str) -> Finding:
    known = error if isinstance(error, DuckLakeError) else query_error(error)
    return Finding(subject, f"[{known.code}] {known.message}", known.hint or advice)
