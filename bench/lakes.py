"""Fresh lakes to measure, on every kind of catalog database."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from support.lakes import LakeAddress, file_lake


@contextmanager
def working_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ducklake-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def lakes(kind: str, folder: Path, names: Sequence[str]) -> Iterator[tuple[LakeAddress, ...]]:
    """Addresses of lakes that do not exist yet."""
    below = [folder / f"{kind}-{name}" for name in names]
    for path in below:
        path.mkdir()
    if kind != "postgres":
        yield tuple(file_lake(kind, path) for path in below)
        return
    with _postgres(folder / "server") as server:
        databases = [f"ducklake_bench_{os.getpid()}_{name}" for name in names]
        with psycopg.connect(f"{server} dbname=postgres", autocommit=True) as connection:
            for database in databases:
                connection.execute(f'CREATE DATABASE "{database}"')
            try:
                yield tuple(
                    LakeAddress(kind, f"postgres:{server} dbname={database}", f"{path}/data/")
                    for database, path in zip(databases, below, strict=True)
                )
            finally:
                for database in databases:
                    connection.execute(f'DROP DATABASE "{database}" WITH (FORCE)')


@contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    """A server's connection string: DUCKLAKE_TEST_POSTGRES, or our own on a Unix socket."""
    given = os.environ.get("DUCKLAKE_TEST_POSTGRES")
    if given:
        yield given
        return
    import pgserver

    folder.mkdir()
    server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield f"host={folder} user=postgres"
    finally:
        server.cleanup()
