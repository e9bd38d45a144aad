"""DuckDB in a process of its own, which reads all of a lake and says what it could not read."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

from support.lakes import LakeAddress
from support.shared_duck import SharedDuck


class FarReader:
    """One process for many lakes, one after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        self._pipe, far_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(far_end,), daemon=True)
        self._process.start()

    def unreadable(self, lake: LakeAddress) -> dict[str, str]:
        """What DuckDB says of each relation that it cannot read."""
        self._pipe.send(lake)
        answer = self._pipe.recv()
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, str] = answer
        return found

    def close(self) -> None:
        self._pipe.send(None)
        self._process.join()


def _serve(pipe: Connection) -> None:
    while (lake := pipe.recv()) is not None:
        try:
            pipe.send(_unreadable(lake))
        except Exception as error:  # noqa: BLE001 - it is raised over there
            pipe.send(error)


def _unreadable(lake: LakeAddress) -> dict[str, str]:
    failed = {}
    with SharedDuck(lake) as duck:
        relations = duck.rows(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake' "
            "UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
            "WHERE database_name = 'lake' AND NOT internal"
        )
        for schema, name in relations:
            try:
                duck.rows(f'SELECT * FROM lake."{schema}"."{name}"')
            except Exception as error:  # noqa: BLE001 - a relation's, and the next may be fine
                failed[f"{schema}.{name}"] = str(error).partition("\n")[0]
    return failed
