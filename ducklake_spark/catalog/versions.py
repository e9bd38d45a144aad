"""The version of the DuckLake format, as each transaction on the catalog finds it.

Another client may migrate a catalog while it is open here, so every transaction reads the version.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from ducklake_spark.spec import tables
from ducklake_spark.spec.formats import Format, format_of

_FORMAT = "ducklake_format"
_m = tables.metadata_table.c
VERSION = (
    select(func.max(_m.value))
    .where(_m.key == "version", _m.scope.is_(None))
    .scalar_subquery()
    .label("version")
)
_READ = select(VERSION)


def read_format(connection: Connection, lake: str) -> Format:
    """Read the version, which all that follows in this transaction relies on."""
    return note_format(connection, connection.execute(_READ).scalar_one(), lake)


def note_format(connection: Connection, version: str | None, lake: str) -> Format:
    """Let this transaction rely on the version that it has read."""
    found = format_of(version, lake)
    connection.execution_options(**{_FORMAT: found})
    return found


def current_format(connection: Connection) -> Format:
    """Return the format that this transaction has read."""
    found: Format = connection.get_execution_options()[_FORMAT]
    return found
