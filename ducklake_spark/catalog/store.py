"""An open catalog database: opened, created where there is none, and checked to be a lake."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ducklake_spark.catalog.dialects import CatalogDatabase, Failure
from ducklake_spark.catalog.indexes import create_indexes
from ducklake_spark.catalog.versions import read_format
from ducklake_spark.config import CommitSettings
from ducklake_spark.errors import (
    CatalogAccessError,
    CatalogDamagedError,
    CatalogError,
    CatalogNotFoundError,
    CatalogTimeoutError,
    CatalogUnavailableError,
    ConfigError,
    DataPathError,
    ReadOnlyError,
)
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import Change, ChangeKind, format_changes
from ducklake_spark.spec.file_names import mark_of
from ducklake_spark.spec.formats import WRITTEN, format_of
from ducklake_spark.spec.names import is_storable
from ducklake_spark.spec.paths import Area, as_directory, canonical, is_remote

_log = logging.getLogger(__name__)
_CREATED_BY = "dbt-ducklake"
_FIRST_SCHEMA_ID = 0
_s = tables.schema.c
_LAKE_ID = select(_s.schema_uuid).where(_s.schema_id == _FIRST_SCHEMA_ID).limit(1)


@dataclass(frozen=True, slots=True)
class LakeFacts:
    """What the catalog says of the lake as a whole. `data_path` is complete, for our own use.

    `lake_id` is the UUID of the schema that each lake begins with. It is None once DuckDB has
    dropped that schema and its snapshots have expired.
    """

    data_path: str
    encrypted: bool
    lake_id: uuid.UUID | None
    allow_paths: tuple[str, ...] = ()

    def mark_of(self, location: str) -> str:
        """Return the key that marks the files of a table (spec.file_names)."""
        if not location.startswith(self.data_path):
            return ""  # no file outside the data path is ever taken for an orphan
        return mark_of(self.lake_id, location.removeprefix(self.data_path))

    @property
    def area(self) -> Area:
        """Where files of the lake may be."""
        return Area(self.data_path, self.allow_paths)


class Store:
    """An open catalog database and the two kinds of transaction it is used in."""

    def __init__(
        self,
        database: CatalogDatabase,
        engine: Engine,
        settings: CommitSettings,
        *,
        read_only: bool,
    ) -> None:
        self.database = database
        self.engine = engine
        self.settings = settings
        self.read_only = read_only
        self._reporting = threading.Lock()
        self._is_away = False
        # The format that the newest transaction found: another client may migrate the catalog.
        self.format = WRITTEN
        self._writer = engine.execution_options(**database.write_options)

    def __repr__(self) -> str:
        return f"Store({self.database.describe()!r})"

    def check_writable(self) -> None:
        """Raise UnwritableVersionError if the lake's version was read only when last seen."""
        self.format.check_writable(self.database.describe())

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """A transaction that sees one consistent state of the catalog and changes nothing.

        It does not wait for a server that is away; `retries.ask` does. It has not read the version
        of the format.
        """
        try:
            with self.engine.connect() as connection:
                yield connection
        except (DBAPIError, PoolTimeout) as error:
            raise self.translated(error) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that commits at the end; a commit judges the driver's errors itself.

        It raises UnwritableVersionError if the lake is now of a version that is read only.
        """
        with self.creating() as connection:
            self.database.hold_version(connection)
            self.format = read_format(connection, self.database.describe())
            self.check_writable()
            yield connection

    @contextmanager
    def creating(self) -> Iterator[Connection]:
        """The same before there is a lake, so without a version."""
        if self.read_only:
            raise ReadOnlyError(
                f"The lake {self.database.describe()} is open read-only.",
                hint="Open it without read_only to change it.",
            )
        try:
            with self.database.writing(), self._writer.begin() as connection:
                yield connection
        except PoolTimeout as error:
            raise self.translated(error) from error

    def report_outage(self, error: DBAPIError, patience_s: float) -> None:
        """Log once per outage, however many threads wait for the server."""
        with self._reporting:
            if not self._is_away:
                _log.warning(
                    "The catalog %s does not answer: %s Waiting for it for up to %.0f s.",
                    self.database.describe(),
                    _reason(error),
                    patience_s,
                )
            self._is_away = True

    def report_answer(self) -> None:
        """Take note that the server answers, so that the next outage is logged again."""
        self._is_away = False

    def translated(self, error: DBAPIError | PoolTimeout) -> CatalogError:
        """The driver's error as one a user can act on."""
        name = self.database.describe()
        if isinstance(error, PoolTimeout):
            return CatalogUnavailableError(
                f"All connections to the catalog {name} stayed in use.",
                hint="Use fewer threads at once.",
            )
        reason = _reason(error)
        match self.database.classify(error):
            case Failure.CONTENTION:
                return CatalogUnavailableError(
                    f"The catalog {name} is held by another process.",
                    hint="Let that process finish or close it, then try again. "
                    "For many clients at once, keep the catalog in PostgreSQL.",
                )
            case Failure.LOST:
                return CatalogUnavailableError(
                    f"The catalog {name} did not answer: {reason}",
                    hint="Check that the database server runs and is not overloaded, "
                    "then try again.",
                )
            case Failure.TIMED_OUT:
                setting = self.database.exceeded_setting(error)
                return CatalogTimeoutError(
                    f"The server of the catalog {name} enforced its setting {setting}: {reason} "
                    "Nothing was changed.",
                    hint="Raise it for the role that connects, for example: "
                    f"ALTER ROLE … SET {setting} = '5min'. It may also be set for the database "
                    "or in the server's configuration.",
                )
            case Failure.DENIED:
                return CatalogAccessError(
                    f"The catalog {name} may not be used for that: {reason}",
                    hint="Check what the database user, or the file's permissions, allow. "
                    "A SQLite file that a crash left unfinished must be opened once for writing.",
                )
            case Failure.DAMAGED:
                return CatalogDamagedError(
                    f"The catalog {name} is not as a DuckLake catalog should be: {reason}",
                    hint="A table or column of it is missing or broken; restore it from a backup.",
                )
        return CatalogError(
            f"The catalog {name} refused a statement: {reason}",
            hint="The database's own message says why; nothing was changed.",
        )

    def close(self) -> None:
        self.engine.dispose()


def _reason(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0].rstrip(".") + "."


def open_store(
    database: CatalogDatabase,
    settings: CommitSettings,
    *,
    data_path: str | None = None,
    override_data_path: bool = False,
    allow_paths: Sequence[str] = (),
    read_only: bool = False,
    create: bool = True,
) -> tuple[Store, LakeFacts]:
    """Open the lake in a database, creating it first where that is wanted and needed."""
    create = create and not read_only
    if not database.exists():
        if not create:
            raise _no_lake(database)
        database.make_room()
    engine = database.create_engine(read_only=read_only)
    store = Store(database, engine, settings, read_only=read_only)
    try:
        with store.connected() as connection:
            present = database.table_exists(connection, tables.metadata_table.name)
        if not present:
            if not create:
                raise _no_lake(database)
            _create_lake(store, path_of_new_lake(database, data_path))
        facts = _read_facts(store, data_path, override_data_path)
        return store, replace(facts, allow_paths=tuple(map(_allowed_path, allow_paths)))
    except BaseException:
        store.close()
        raise


def _no_lake(database: CatalogDatabase) -> CatalogNotFoundError:
    return CatalogNotFoundError(
        f"There is no DuckLake catalog at {database.describe()}.",
        hint="Check the path and schema, or open it once without read_only to create it.",
    )


def path_of_new_lake(database: CatalogDatabase, data_path: str | None) -> str:
    """Where a lake that is yet to be created keeps its files, as its catalog will say."""
    path = data_path if data_path is not None else database.default_data_path()
    if path is None:
        raise DataPathError(
            f"The new lake {database.describe()} needs a data path.",
            hint="Set data_path to the folder or object store prefix that shall hold its files.",
        )
    if not path or not is_storable(path):
        raise DataPathError(
            f"{path!r} cannot be the data path of the new lake {database.describe()}.",
            hint="It is a folder or an object store prefix, without NUL characters.",
        )
    return as_directory(path)


def _create_lake(store: Store, data_path: str) -> None:
    try:
        with store.creating() as connection:
            if store.database.table_exists(connection, tables.metadata_table.name):
                return
            store.database.prepare_new(connection)
            tables.metadata.create_all(connection, checkfirst=False)
            if store.database.wants_indexes:
                create_indexes(connection, store.database)
            _insert_first_rows(store, connection, data_path)
    except DBAPIError as error:
        # Somebody else created the same lake in the same moment.
        with store.connected() as connection:
            if store.database.table_exists(connection, tables.metadata_table.name):
                return
        raise store.translated(error) from error


def _insert_first_rows(store: Store, connection: Connection, data_path: str) -> None:
    """The rows of snapshot 0 (FORMAT 1.2)."""
    now = store.database.now(connection)
    changes = format_changes([Change(ChangeKind.CREATED_SCHEMA, "main")])
    settings = {
        "version": WRITTEN.version,
        "created_by": _CREATED_BY,
        "data_path": data_path,
        "encrypted": "false",
    }
    connection.execute(
        insert(tables.snapshot).values(
            snapshot_id=0,
            snapshot_time=now,
            schema_version=0,
            next_catalog_id=1,
            next_file_id=0,
        )
    )
    connection.execute(
        insert(tables.metadata_table), [{"key": k, "value": v} for k, v in settings.items()]
    )
    connection.execute(
        insert(tables.schema).values(
            schema_id=_FIRST_SCHEMA_ID,
            schema_uuid=uuid.uuid4(),
            begin_snapshot=0,
            schema_name="main",
            path="main/",
            path_is_relative=True,
        )
    )
    connection.execute(insert(tables.snapshot_changes).values(snapshot_id=0, changes_made=changes))


def _read_facts(store: Store, given: str | None, override: bool) -> LakeFacts:
    m = tables.metadata_table.c
    with store.connected() as connection:
        rows = connection.execute(select(m.key, m.value).where(m.scope.is_(None))).all()
        lake_id = connection.execute(_LAKE_ID).scalar()
    settings = {row.key: row.value for row in rows}
    store.format = format_of(settings.get("version"), store.database.describe())
    stored = settings.get("data_path")
    if stored is None:
        raise CatalogDamagedError(
            f"The catalog {store.database.describe()} has no data path.",
            hint="Its table ducklake_metadata lost a row; restore it from a backup.",
        )
    if (
        given is not None
        and not override
        and complete_data_path(given) != complete_data_path(stored)
    ):
        raise DataPathError(
            f"The data path {given!r} is not the one of the lake {store.database.describe()}, "
            f"{stored!r}.",
            hint="Leave data_path out to use the stored one. If the files have moved, set the "
            "value of data_path in the catalog's table ducklake_metadata.",
        )
    path = given if given is not None and override else stored
    return LakeFacts(complete_data_path(path), settings.get("encrypted") == "true", lake_id)


def _allowed_path(path: str) -> str:
    """A path of the setting allow_paths: a folder, or a single file."""
    if not isinstance(path, str) or not path.strip():
        raise ConfigError(
            f"allow_paths contains {path!r}, which is not a path.",
            hint="List the folders outside the data path whose files may be read.",
        )
    return complete_data_path(path)


def complete_data_path(data_path: str) -> str:
    """A data path as users write it, from the root on: seen from here, whoever reads it next."""
    if is_remote(data_path):
        return as_directory(data_path)
    local = os.path.expanduser(canonical(data_path))  # noqa: PTH111 - as DuckDB does
    return as_directory(os.path.abspath(local))  # noqa: PTH100 - keeps links
