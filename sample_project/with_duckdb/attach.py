"""The sample project's lake, opened by DuckDB: no Spark and no dbt takes part."""

from __future__ import annotations

import importlib
from pathlib import Path

import duckdb

# The lake keeps the relative data path of profiles.yml, so DuckDB runs in the same folder.
LAKE = Path("lake")


def attached(*, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """DuckDB with the lake attached as `lake`."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for extension in ("ducklake", "sqlite_scanner"):
        _load(connection, extension)
    options = " (READ_ONLY)" if read_only else ""
    connection.execute(f"ATTACH 'ducklake:sqlite:{LAKE}/catalog.sqlite' AS lake{options}")
    return connection


def _load(connection: duckdb.DuckDBPyConnection, extension: str) -> None:
    """Load an extension from its wheel if pip has installed one. Otherwise DuckDB downloads it."""
    try:
        wheel = importlib.import_module(f"duckdb_extension_{extension}")
    except ImportError:
        connection.execute(f"INSTALL {extension}; LOAD {extension}")
        return
    folder = Path(str(wheel.__file__)).parent / "extensions" / f"v{duckdb.__version__}"
    connection.execute(f"LOAD '{folder / extension}.duckdb_extension'")
