"""The reference engine: DuckDB, alone and with a lake whose catalog is an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_ducklake  # type: ignore[import-untyped]
import duckdb_extension_sqlite_scanner  # type: ignore[import-untyped]
import pytest


@dataclass
class ReferenceLake:
    """A lake that DuckDB writes, with a look at the rows it leaves in its catalog."""

    duckdb: duckdb.DuckDBPyConnection
    catalog_file: Path

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            rows = self.duckdb.execute(statement).fetchall()
        return rows

    def catalog(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.catalog_file)) as connection, connection:
            return connection.execute(query, parameters).fetchall()

    def table_id(self, name: str) -> int:
        query = "SELECT MAX(table_id) FROM ducklake_table WHERE table_name = ?"
        table_id: int = self.catalog(query, name)[0][0]
        return table_id

    def inlined(self, name: str, column: str = "x") -> list[Any]:
        """What the catalog holds of a column's inlined values, in order of the rows."""
        query = "SELECT MAX(table_name) FROM ducklake_inlined_data_tables WHERE table_id = ?"
        table = self.catalog(query, self.table_id(name))[0][0]
        return [row[0] for row in self.catalog(f'SELECT {column} FROM "{table}" ORDER BY row_id')]


def _load(connection: duckdb.DuckDBPyConnection, package: Any, name: str) -> None:
    found = Path(package.__file__).parent.glob(f"extensions/*/{name}.duckdb_extension")
    connection.execute(f"LOAD '{next(found)}'")


@pytest.fixture(scope="session")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


@pytest.fixture(scope="session")
def open_lake(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], ReferenceLake]:
    """Opens a new lake; small inserts up to a number of rows stay in the catalog."""

    def open_(inlined_rows: int) -> ReferenceLake:
        directory = tmp_path_factory.mktemp("lake")
        file = directory / "catalog.sqlite"
        connection = duckdb.connect(config={"threads": 1})
        _load(connection, duckdb_extension_ducklake, "ducklake")
        _load(connection, duckdb_extension_sqlite_scanner, "sqlite_scanner")
        connection.execute(
            f"ATTACH 'ducklake:sqlite:{file}' AS lake "
            f"(DATA_PATH '{directory}/data/', DATA_INLINING_ROW_LIMIT {inlined_rows})"
        )
        connection.execute("USE lake")
        connection.execute("SET TimeZone = 'UTC'")
        return ReferenceLake(connection, file)

    return open_


@pytest.fixture(scope="module")
def file_lake(open_lake: Callable[[int], ReferenceLake]) -> ReferenceLake:
    """A lake whose every insert becomes a data file."""
    return open_lake(0)


@pytest.fixture(scope="module")
def inlined_lake(open_lake: Callable[[int], ReferenceLake]) -> ReferenceLake:
    """A lake that keeps inserts of up to ten rows in its catalog."""
    return open_lake(10)
