"""DuckDB for tests that attach many lakes: loading its extensions takes longer than they do."""

from __future__ import annotations

import functools

import duckdb

from support.lakes import LakeAddress
from support.oracle import Oracle, connect


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    connection = connect()
    connection.execute("SET threads = 1")  # so little data is not worth waking others
    return connection


class SharedDuck(Oracle):
    """An oracle on the process's one connection; at a version, the lake is read-only."""

    def __init__(self, address: LakeAddress, version: int | None = None) -> None:
        self.address = address
        self.name = "lake"
        self.connection = _connection()
        at = "" if version is None else f", SNAPSHOT_VERSION {version}"
        source = f"'ducklake:{address.catalog}'"
        self.run(f"ATTACH {source} AS lake (DATA_PATH '{address.data_path}'{at})", "USE lake")

    def __exit__(self, kind: object = None, *_: object) -> None:
        if kind is None:
            self.close()
        else:  # whatever state it is in, the next test shall not see it
            _connection.cache_clear()
            self.connection.close()

    def close(self) -> None:
        self.run("USE memory", "DETACH lake")
