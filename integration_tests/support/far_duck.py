"""DuckDB in a process of its own, for when both clients have a SQLite file open for longer.

Python and DuckDB's extension bring a copy of SQLite each, and two copies in one process do not see
each other's locks: they damage the file.
"""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection
from typing import Any

from support.lakes import LakeAddress
from support.oracle import Oracle


class FarDuck:
    """A lake as DuckDB in another process sees it."""

    def __init__(self, lake: LakeAddress) -> None:
        context = multiprocessing.get_context("forkserver")
        self._pipe, far_end = context.Pipe()
        self._turn = threading.Lock()  # threads that share a pipe read each other's answers
        self._process = context.Process(target=_serve, args=(lake, far_end), daemon=True)
        self._process.start()

    def __enter__(self) -> FarDuck:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.send(None)
        self._process.join()

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.rows(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self._turn:
            self._pipe.send(query)
            answer = self._pipe.recv()
        if isinstance(answer, Exception):
            raise answer
        rows: list[tuple[Any, ...]] = answer
        return rows


def _serve(lake: LakeAddress, pipe: Connection) -> None:
    with Oracle(lake) as duck:
        while (query := pipe.recv()) is not None:
            try:
                pipe.send(duck.rows(query))
            except Exception as error:  # noqa: BLE001 - it is raised over there
                pipe.send(error)
