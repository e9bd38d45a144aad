"""A PostgreSQL server of a test's own, which it may stop, start and slow down."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest


class Server:
    """A running PostgreSQL server on a Unix socket, from the wheel."""

    def __init__(self) -> None:
        pgserver = pytest.importorskip("pgserver", reason="pgserver has no wheel for this Python")
        # Not below pytest's own folder, which the server's user cannot reach.
        self.folder = Path(tempfile.mkdtemp(prefix="ducklake-server-"))
        self._server = pgserver.get_server(self.folder, cleanup_mode="delete")
        self.conninfo = f"host={self.folder} user=postgres"

    def run(self, statement: str) -> None:
        """Run a statement as superuser."""
        with psycopg.connect(f"{self.conninfo} dbname=postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

    def stop(self) -> None:
        """Stop the server; its clients' sessions end, as in a restart."""
        from pgserver._commands import pg_ctl

        pg_ctl(["-w", "-m", "fast", "stop"], pgdata=self.folder, user=self._server.system_user)

    def start(self) -> None:
        """Start the server again."""
        self._server.ensure_postgres_running()

    @contextmanager
    def away_for(self, seconds: float) -> Iterator[None]:
        """Stop the server, and start it again after a while."""
        self.stop()
        starting = threading.Thread(target=lambda: (time.sleep(seconds), self.start()))
        starting.start()
        try:
            yield
        finally:
            starting.join()

    def close(self) -> None:
        """Stop the server and remove its files."""
        self._server.cleanup()
