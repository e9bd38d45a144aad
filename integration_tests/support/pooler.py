"""A real PgBouncer in front of a PostgreSQL server on a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import psycopg

_PORT = 6432
_START_TIMEOUT_S = 15.0


def find_pgbouncer() -> str | None:
    """Return the path of the program; Debian installs it where only root looks."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


class Pooler:
    """A running PgBouncer. `conninfo` reaches the same databases as the server's own."""

    def __init__(self, server: str, mode: str, *, users: Iterable[str] = ("postgres",)) -> None:
        """Start PgBouncer for the server whose socket is in the folder `server`."""
        self.mode = mode
        # A socket's path is limited to about 100 characters, so it is not below a test's folder.
        self.folder = Path(tempfile.mkdtemp(prefix="ducklake-pgbouncer-"))
        self.conninfo = f"host={self.folder} port={_PORT} user=postgres"
        self._log: IO[bytes] = (self.folder / "log").open("wb")
        self._write_settings(server, users)
        self._process = self._run(server)
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.close()
            raise

    def log(self) -> str:
        """Return what PgBouncer has logged so far."""
        return (self.folder / "log").read_text()

    def close(self) -> None:
        """Stop PgBouncer and remove its folder."""
        self._process.kill()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self.folder)

    def _write_settings(self, server: str, users: Iterable[str]) -> None:
        (self.folder / "users").write_text("".join(f'"{user}" ""\n' for user in users))
        (self.folder / "settings").write_text(
            "[databases]\n"
            f"* = host={server}\n"
            "[pgbouncer]\n"
            "listen_addr =\n"
            f"listen_port = {_PORT}\n"
            f"unix_socket_dir = {self.folder}\n"
            "auth_type = trust\n"
            f"auth_file = {self.folder}/users\n"
            f"pool_mode = {self.mode}\n"
            # Fewer server sessions than writers, so that clients share them in transaction mode.
            f"default_pool_size = {4 if self.mode == 'transaction' else 40}\n"
            "max_client_conn = 200\n"
            "server_login_retry = 1\n"
        )

    def _run(self, server: str) -> subprocess.Popen[bytes]:
        program = find_pgbouncer()
        assert program is not None, "pgbouncer is not installed"
        # PgBouncer refuses to run as root. The server's own user can reach the server's socket.
        owner = pwd.getpwuid(Path(server).stat().st_uid) if os.getuid() == 0 else None
        if owner is not None:
            for path in (self.folder, *self.folder.iterdir()):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        return subprocess.Popen(
            [program, str(self.folder / "settings")],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            user=owner.pw_uid if owner else None,
            group=owner.pw_gid if owner else None,
            extra_groups=[] if owner else None,
        )

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                psycopg.connect(f"{self.conninfo} dbname=postgres connect_timeout=5").close()
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"PgBouncer does not answer: {self.log()}") from error
            else:
                return
            time.sleep(0.05)
