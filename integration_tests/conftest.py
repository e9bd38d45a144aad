"""Fixtures for tests against real services. PostgreSQL is a server from a pip wheel."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ducklake_spark.session import Session
from support.lakes import KINDS, LakeAddress, file_lake
from support.pooler import Pooler, find_pgbouncer
from support.sparks import settings


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    """One Spark per test process; DUCKLAKE_SPARK says which (support.sparks)."""
    with Session.open(settings()) as opened:
        yield opened
        if opened.is_connect:
            opened.spark.stop()  # with the server, which would keep the process alive


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a Spark stays together, file by file: its lakes are made for all of a file."""
    for item in items:
        if "session" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.name}"))


@pytest.fixture(scope="session")
def postgres_conninfo() -> Iterator[str]:
    """A server's connection string without a database: DUCKLAKE_TEST_POSTGRES, or our own."""
    given = os.environ.get("DUCKLAKE_TEST_POSTGRES")
    if given:
        yield given
        return
    pgserver = pytest.importorskip("pgserver", reason="pgserver has no wheel for this Python")
    # Not below pytest's own folder: every session that starts makes that private, and for root the
    # server runs as somebody else, who then cannot reach its files.
    folder = Path(tempfile.mkdtemp(prefix="ducklake-postgres-"))
    server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        conninfo = f"host={folder} user=postgres"
        with psycopg.connect(f"{conninfo} dbname=postgres", autocommit=True) as connection:
            for setting in ("fsync", "full_page_writes"):  # no test cuts the power
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
        yield conninfo
    finally:
        server.cleanup()


@pytest.fixture(scope="session")
def new_database(postgres_conninfo: str) -> Callable[[], str]:
    """Makes fresh databases; returns their connection strings."""

    def make() -> str:
        name = f"lake_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(f"{postgres_conninfo} dbname=postgres", autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return f"{postgres_conninfo} dbname={name}"

    return make


@pytest.fixture(scope="session", params=["transaction", "session"])
def pooler(request: pytest.FixtureRequest, postgres_conninfo: str) -> Iterator[Pooler]:
    """A PgBouncer in front of the server, in each pool mode that a lake supports."""
    if find_pgbouncer() is None:
        pytest.skip("pgbouncer is not installed; Debian has it as the package pgbouncer")
    if not postgres_conninfo.startswith("host=/"):
        pytest.skip("PgBouncer needs a server on a Unix socket, and the server given is elsewhere")
    server = postgres_conninfo.split()[0].removeprefix("host=")
    running = Pooler(server, request.param)
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def make_lake(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], LakeAddress]:
    """Makes the address of a fresh lake of a kind; nothing is created yet."""

    def make(kind: str) -> LakeAddress:
        folder = tmp_path / f"{kind}-{uuid.uuid4().hex[:6]}"
        folder.mkdir()
        if kind != "postgres":
            return replace(file_lake(kind, folder), allow_paths=(str(tmp_path),))
        database = request.getfixturevalue("new_database")()
        data_path = f"{folder}/data/"
        allowed = (str(tmp_path),)
        return LakeAddress("postgres", f"postgres:{database}", data_path, allow_paths=allowed)

    return make


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, make_lake: Callable[[str], LakeAddress]) -> LakeAddress:
    """A fresh lake on each kind of catalog database."""
    return make_lake(request.param)


@pytest.fixture(params=["sqlite", "postgres"])
def shared_lake(
    request: pytest.FixtureRequest, make_lake: Callable[[str], LakeAddress]
) -> LakeAddress:
    """A fresh lake that several processes can use at once."""
    return make_lake(request.param)


@pytest.fixture
def pooled_lake(
    make_lake: Callable[[str], LakeAddress], pooler: Pooler, postgres_conninfo: str
) -> LakeAddress:
    """A fresh lake that is reached through PgBouncer."""
    return make_lake("postgres").through(postgres_conninfo, pooler.conninfo)
