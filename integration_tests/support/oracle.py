"""DuckDB with its own ducklake extension: the oracle that everything is measured against."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import duckdb

from support.lakes import LakeAddress

EXTENSIONS = ("ducklake", "sqlite_scanner", "postgres_scanner")


def extension_file(name: str) -> Path:
    """Where the wheel of an extension keeps it; the wheels hold a file and nothing else."""
    module = importlib.import_module(f"duckdb_extension_{name}")
    folder = Path(str(module.__file__)).parent / "extensions" / f"v{duckdb.__version__}"
    return folder / f"{name}.duckdb_extension"


def connect(*extensions: str) -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory with the ducklake extension and what it needs for every catalog."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in (*EXTENSIONS, *extensions):
        connection.execute(f"LOAD '{extension_file(name)}'")
    return connection


def duck_runs(address: LakeAddress, *statements: str) -> None:
    """Run statements on a lake with DuckDB, which is gone afterwards."""
    with Oracle(address) as duck:
        duck.run(*statements)


class Oracle:
    """A lake as DuckDB sees it. Closed between uses where the catalog serves one process only."""

    def __init__(self, address: LakeAddress, name: str = "lake", **options: Any) -> None:
        self.address = address
        self.name = name
        self.connection = connect()
        settings = {"DATA_PATH": f"'{address.data_path}'"}
        if address.metadata_schema:
            settings["METADATA_SCHEMA"] = f"'{address.metadata_schema}'"
        settings |= {key.upper(): value for key, value in options.items()}
        listed = ", ".join(f"{key} {value}" for key, value in settings.items())
        self.connection.execute(f"ATTACH 'ducklake:{address.catalog}' AS {name} ({listed})")
        self.connection.execute(f"USE {name}")

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement)

    def run_despite_fault(self, *statements: str) -> None:
        """As `run`, passing over a rewrite that DuckDB 1.5.5 cannot do.

        It fails, and changes nothing, where rows in the catalog are older than a column.
        """
        for statement in statements:
            try:
                self.run(statement)
            except duckdb.TransactionException as error:
                if "inlined-data aggregates" not in str(error):
                    raise

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()

    def value(self, query: str) -> Any:
        (row,) = self.rows(query)
        return row[0]

    def snapshots(self) -> list[int]:
        return [row[0] for row in self.rows(f"SELECT snapshot_id FROM {self.name}.snapshots()")]
