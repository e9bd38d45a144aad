"""The same on Spark Connect, with workers in processes of their own, and on an older Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import large_merge, spark_smoke
from support.budget import FULL
from support.lakes import file_lake
from support.oracle import Oracle

_OLDEST = ("pyspark==4.0.*", "py4j==0.10.9.9")


@pytest.mark.parametrize("kind", ["connect", "cluster"])
def test_everything_works_on(kind: str, tmp_path: Path) -> None:
    """In a process of its own: a process has either a classic Spark or a Connect server."""
    _assert_all_works(kind, tmp_path, sys.path)


def test_everything_works_with_the_oldest_spark_we_support(tmp_path: Path) -> None:
    spark = tmp_path / "spark"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(spark)]
    subprocess.run([*pip, *_OLDEST], check=True, capture_output=True, timeout=240)
    _assert_all_works("classic", tmp_path, [str(spark), *sys.path])


_LEFT_ALONE = """
import sys
from ducklake_spark import Lake
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.session import SparkSettings, connect
from support.sparks import start_connect_server

connect._TRIES = 2
address, server = start_connect_server(sys.executable, ())
lake = Lake.open(sys.argv[1], sys.argv[2], SparkSettings(remote=address))
lake.sql("CREATE TABLE t AS SELECT 1 AS id")
server.kill()
for ask in (lambda: lake.sql("INSERT INTO t VALUES (2)"), lake.sibling):
    try:
        ask()
    except DuckLakeError as error:
        print(type(error).__name__, error)
lake.close()
print("closed")
"""


def test_a_server_that_goes_away_is_an_error_soon(tmp_path: Path) -> None:
    """Not after the ten minutes for which its client would try each call."""
    address = file_lake("sqlite", tmp_path)
    done = subprocess.run(
        (sys.executable, "-c", _LEFT_ALONE, address.catalog, address.data_path),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second, closed = done.stdout.splitlines()
    assert first.startswith("QueryError [DL402] The Spark Connect server does not answer any more.")
    assert second.startswith("ConfigError [DL101] The Spark Connect server does not answer any")
    assert closed == "closed"
    assert "RETRIES_EXCEEDED" not in done.stderr
    with Oracle(address) as duck:
        assert duck.rows("SELECT * FROM t") == [(1,)]


@pytest.mark.skipif(not FULL, reason="a long one, for DUCKLAKE_TEST_FULL")
@pytest.mark.timeout(900)
def test_five_million_matched_rows_need_no_large_driver(tmp_path: Path) -> None:
    _run(Path(large_merge.__file__), [str(tmp_path)], sys.path)
    with Oracle(file_lake("sqlite", tmp_path)) as duck:
        kept = "SELECT count(*), count(*) FILTER (x = id * 2) FROM t"
        assert duck.rows(kept) == [(3_500_000, 2_500_000)]


def _assert_all_works(kind: str, folder: Path, path: list[str]) -> None:
    _run(Path(spark_smoke.__file__), [kind, str(folder)], path)
    with Oracle(file_lake("sqlite", folder)) as duck:
        assert duck.rows("SELECT count(*), sum(id) FROM t WHERE isnan(f)") == [(0, None)]
        assert duck.value("SELECT count(*) FROM t") == 39


def _run(script: Path, arguments: list[str], path: list[str]) -> None:
    roots = os.pathsep.join(filter(None, [*path, str(script.parents[1])]))
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        env=os.environ | {"PYTHONPATH": roots},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert "all well" in done.stdout, done.stdout + done.stderr[-4000:]
