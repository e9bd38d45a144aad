"""Where a test's lake is: one fresh lake on each kind of catalog database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from ducklake_spark.catalog import Catalog

KINDS = ("sqlite", "postgres", "duckdb")


@dataclass(frozen=True)
class LakeAddress:
    """A lake that need not exist yet."""

    kind: str
    catalog: str
    data_path: str
    metadata_schema: str | None = None
    # Where tests put the files that they add to tables.
    allow_paths: tuple[str, ...] = ()

    @property
    def data_folder(self) -> Path:
        """The data path of a lake on this machine."""
        return Path(self.data_path)

    def through(self, server: str, pooler: str) -> LakeAddress:
        """The same lake, with a pooler's connection string in place of its server's."""
        return replace(self, catalog=self.catalog.replace(server, pooler))

    def open(self, **options: Any) -> Catalog:
        """Our client on the lake."""
        settings = {
            "data_path": self.data_path,
            "metadata_schema": self.metadata_schema,
            "allow_paths": self.allow_paths,
        }
        return Catalog.open(self.catalog, **(settings | options))

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Ask, or change, the catalog database itself, past both clients."""
        with _database(self) as connection:
            cursor = connection.execute(query)
            rows = cursor.fetchall() if cursor.description else []
            if not isinstance(connection, duckdb.DuckDBPyConnection):
                connection.commit()
            return [tuple(row) for row in rows]

    def run(self, *statements: str) -> None:
        """Change the catalog database in one transaction."""
        with _database(self) as connection:
            if self.kind != "postgres":  # psycopg begins by itself
                connection.execute("BEGIN")
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    def tables(self) -> list[str]:
        """The catalog's tables."""
        query = (
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            if self.kind == "sqlite"
            else "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('information_schema', 'pg_catalog')"
        )
        return sorted(row[0] for row in self.sql(query) if row[0].startswith("ducklake_"))

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        """Every row of the catalog, by table, rows as dictionaries."""
        dumped = {}
        with _database(self) as connection:
            for table in self.tables() if self.kind != "duckdb" else _duckdb_tables(connection):
                cursor = connection.execute(f'SELECT * FROM "{table}"')
                names = [column[0] for column in cursor.description]
                rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
                dumped[table] = sorted(rows, key=repr)
        return dumped


def _duckdb_tables(connection: Any) -> list[str]:
    query = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'ducklake_%'"
    return sorted(row[0] for row in connection.execute(query).fetchall())


@contextmanager
def _database(address: LakeAddress) -> Iterator[Any]:
    if address.kind == "sqlite":
        connection: Any = sqlite3.connect(address.catalog.removeprefix("sqlite:"), timeout=30)
    elif address.kind == "postgres":
        connection = psycopg.connect(address.catalog.removeprefix("postgres:"))
        if address.metadata_schema:
            connection.execute(f'SET search_path TO "{address.metadata_schema}"')
    else:
        connection = duckdb.connect(address.catalog)
    try:
        yield connection
    finally:
        connection.close()


def file_lake(kind: str, folder: Path) -> LakeAddress:
    """A lake on SQLite or a DuckDB file, below a folder."""
    catalog = {"sqlite": f"sqlite:{folder}/catalog.sqlite", "duckdb": f"{folder}/lake.ducklake"}
    return LakeAddress(kind, catalog[kind], f"{folder}/data/", allow_paths=(str(folder),))
