"""A catalog in a DuckDB file is shared by installations that have DuckDB 1.5 and DuckDB 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle

pytestmark = pytest.mark.xdist_group("duckdb-2")

_CREATE_TABLE = """
import sys
import duckdb
from ducklake_spark.catalog import Catalog, Field
catalog, data_path, name = sys.argv[1:]
assert duckdb.__version__.startswith("2."), duckdb.__version__
with Catalog.open(catalog, data_path=data_path) as lake, lake.transaction() as tx:
    tx.create_table(name, [Field("id", "int32")])
"""
_MANY_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from ducklake_spark.catalog import Catalog
with Catalog.open(sys.argv[1], data_path=sys.argv[2]) as lake:
    def create(thread):
        for at in range(15):
            with lake.transaction() as tx:
                tx.create_schema(f"s{thread}_{at}")
            lake.at().schemas()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, range(4)))
"""
# What dbt does with the engine: load it, use it, and end.
_END_LIKE_DBT = """
import sys
from dbt.adapters.ducklake.loading import load_engine
load_engine()
from ducklake_spark.catalog import Catalog
Catalog.open(sys.argv[1], data_path=sys.argv[2]).close()
"""


@pytest.fixture(scope="module")
def duckdb_2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with DuckDB 2, for the PYTHONPATH of another process."""
    folder = tmp_path_factory.mktemp("duckdb-2")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--target", str(folder), "duckdb==2.0.0"], check=True)
    return folder


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("duckdb", tmp_path)


def _run(duckdb_2: Path, script: str, lake: LakeAddress, *arguments: str) -> str:
    """Run a script with DuckDB 2; returns what it printed to stderr."""
    checkout = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(duckdb_2), checkout])}
    command = [sys.executable, "-c", script, lake.catalog, lake.data_path, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_both_versions_open_a_catalog_that_either_created(
    duckdb_2: Path, lake: LakeAddress
) -> None:
    _run(duckdb_2, _CREATE_TABLE, lake, "made_by_2")
    with Oracle(lake) as duck:
        duck.run("INSERT INTO made_by_2 VALUES (1)", "CREATE TABLE made_by_1 AS SELECT 2 AS id")
    _run(duckdb_2, _CREATE_TABLE, lake, "made_by_2_again")
    with Oracle(lake) as duck:
        tables = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake' ORDER BY ALL"
        assert duck.rows(tables) == [("made_by_1",), ("made_by_2",), ("made_by_2_again",)]
        assert duck.rows("FROM made_by_2") == [(1,)]


def test_threads_wait_for_each_other(duckdb_2: Path, lake: LakeAddress) -> None:
    _run(duckdb_2, _MANY_THREADS, lake)
    with lake.open() as catalog:
        assert len(catalog.at().schemas()) == 61


def test_the_process_ends_without_a_word(duckdb_2: Path, lake: LakeAddress) -> None:
    assert _run(duckdb_2, _END_LIKE_DBT, lake) == ""
