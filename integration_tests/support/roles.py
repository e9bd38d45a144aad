"""Users of a PostgreSQL server who must give a password, whatever the server asks of others."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo


@contextmanager
def user_with_password(conninfo: str, password: str) -> Iterator[str]:
    """The name of a new user with all rights, who has this password and needs it."""
    name = f"locked_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(f"{conninfo} dbname=postgres", autocommit=True) as connection:
        row = connection.execute("SHOW hba_file").fetchone()
        rules = Path(row[0]) if row else Path()
        if not rules.is_file():
            pytest.skip("the server is on another machine, with rules of its own")
        before = rules.read_text()
        create = sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}")
        connection.execute(create.format(sql.Identifier(name), sql.Literal(password)))
        lines = (f"local all {name} scram-sha-256", f"host all {name} all scram-sha-256", before)
        rules.write_text("\n".join(lines))
        connection.execute("SELECT pg_reload_conf()")
        try:
            _wait_until_locked(make_conninfo(conninfo, user=name, password="wrong"))
            yield name
        finally:
            rules.write_text(before)
            connection.execute("SELECT pg_reload_conf()")
            # It cannot be dropped while databases are there in which it owns something.
            connection.execute(f"ALTER ROLE {name} NOLOGIN")


def _wait_until_locked(with_wrong_password: str) -> None:
    for _ in range(100):
        try:
            psycopg.connect(with_wrong_password).close()
        except psycopg.OperationalError:
            return
        time.sleep(0.05)
    raise AssertionError("the server took no notice of the new rules")
