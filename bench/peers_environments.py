"""What each peer needs: its packages in an environment of its own, and its profile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DBT = "dbt-core>=1.11,<1.12"
SPARK = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ansi.enabled": "true",
}


@dataclass(frozen=True)
class Peer:
    """An adapter and how it is set up in a folder of its own."""

    title: str
    packages: tuple[str, ...]
    profile: Callable[[Path], dict[str, Any]]
    environment: str


# What a session may set on a server that runs.
_OF_SESSIONS = {
    key: SPARK[key] for key in ("spark.sql.shuffle.partitions", "spark.sql.ansi.enabled")
}


def _ours(catalog: str, config: dict[str, str] = SPARK) -> Callable[[Path], dict[str, Any]]:
    def profile(folder: Path) -> dict[str, Any]:
        return {
            "type": "ducklake",
            "catalog": catalog.format(folder=folder),
            "data_path": f"{folder}/data/",
            "spark_config": config,
        }

    return profile


def _spark(folder: Path) -> dict[str, Any]:
    places = {
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder}/metastore;create=true"
        ),
    }
    return {
        "type": "spark",
        "method": "session",
        "host": "unused",
        "server_side_parameters": SPARK | places,
    }


def _duckdb(folder: Path) -> dict[str, Any]:
    return {
        "type": "duckdb",
        "path": ":memory:",
        "database": "lake",
        "extensions": ["ducklake", "sqlite_scanner"],
        "config_options": {"extension_directory": str(folder / "extensions")},
        "attach": [
            {
                "path": f"ducklake:sqlite:{folder}/catalog.sqlite",
                "alias": "lake",
                "options": {"data_path": f"{folder}/data/"},
            }
        ],
    }


_MINE = (DBT, f"{ROOT}[postgres,connect]")
PEERS = {
    "ducklake": Peer(
        "dbt-ducklake, SQLite", _MINE, _ours("sqlite:{folder}/catalog.sqlite"), "ducklake"
    ),
    "postgres": Peer("dbt-ducklake, PostgreSQL", _MINE, _ours(""), "ducklake"),
    "connect": Peer(
        "dbt-ducklake, Connect",
        _MINE,
        _ours("sqlite:{folder}/catalog.sqlite", _OF_SESSIONS),
        "ducklake",
    ),
    "script": Peer("PySpark script", _MINE, _ours("sqlite:{folder}/catalog.sqlite"), "ducklake"),
    "spark": Peer(
        "dbt-spark, session",
        (DBT, "dbt-spark[session]>=1.10,<2", "pyspark>=4.3,<5"),
        _spark,
        "spark",
    ),
    "duckdb": Peer(
        "dbt-duckdb, DuckLake",
        (
            DBT,
            "dbt-duckdb>=1.10,<2",
            "duckdb==1.5.5",
            "duckdb-extension-ducklake==1.5.5",
            "duckdb-extension-sqlite-scanner==1.5.5",
        ),
        _duckdb,
        "duckdb",
    ),
}


def environment(peer: Peer, folder: Path) -> Path:
    """The folder of programs of the peer's environment, which is made if it is not there."""
    place = folder / "environments" / peer.environment
    # Isolated (-I), or a PYTHONPATH of the caller's would be part of it.
    pip = (place / "bin" / "python", "-I", "-m", "pip", "install", "--quiet")
    if not (place / "done").exists():
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=True)
        subprocess.run((*pip, *peer.packages), check=True)
        (place / "done").touch()
    elif peer.packages == _MINE:  # as it is now
        subprocess.run((*pip, "--no-deps", "--force-reinstall", str(ROOT)), check=True)
    programs = place / "bin"
    if peer.packages == _MINE and not cache(programs).exists():
        environ = os.environ | {"XDG_CACHE_HOME": str(cache(programs))}
        subprocess.run((programs / "ducklake", "warm-up"), env=environ, check=True)
    return programs


def cache(programs: Path) -> Path:
    """Where what the programs of an environment keep stays within it."""
    return programs.parent / "cache"


def prepare(key: str, programs: Path, folder: Path) -> None:
    """What a peer finds in its folder: DuckDB the extensions that its environment has as wheels."""
    if key != "duckdb":
        return
    script = (
        "import duckdb, importlib, pathlib, shutil, sys\n"
        "platform = duckdb.sql('PRAGMA platform').fetchone()[0]\n"
        "target = pathlib.Path(sys.argv[1], f'v{duckdb.__version__}', platform)\n"
        "target.mkdir(parents=True)\n"
        "for name in ('ducklake', 'sqlite_scanner'):\n"
        "    module = importlib.import_module(f'duckdb_extension_{name}')\n"
        "    for file in pathlib.Path(module.__file__).parent.rglob('*.duckdb_extension'):\n"
        "        shutil.copy(file, target)\n"
    )
    command = (programs / "python", "-I", "-c", script, folder / "extensions")
    subprocess.run(command, check=True)


@contextmanager
def postgres(folder: Path) -> Iterator[str | None]:
    """The connection string of a PostgreSQL from a pip wheel, if this Python has it."""
    try:
        import pgserver
    except ImportError:
        print("no pgserver here: PostgreSQL is left out", file=sys.stderr)
        yield None
        return
    server = pgserver.get_server(folder / "postgres", cleanup_mode="delete")
    try:
        server.psql("CREATE DATABASE lake")
        yield f"host={folder / 'postgres'} user=postgres dbname=lake"
    finally:
        server.cleanup()
