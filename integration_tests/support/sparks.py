"""The Sparks that tests run on: DUCKLAKE_SPARK is classic (the default), connect or cluster."""

from __future__ import annotations

import atexit
import functools
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyspark

from ducklake_spark.session import SparkSettings

_CONFIG = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "2g",
    # Many short queries: to compile them thoroughly takes longer than to run them. For this
    # compiler alone Java would reserve so little room that it throws compiled code away all along.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
}


def settings(kind: str | None = None) -> SparkSettings:
    """A Spark in this process, a Connect server beside it, or one with worker processes."""
    match kind or os.environ.get("DUCKLAKE_SPARK", "classic"):
        case "connect":
            return SparkSettings(remote=connect_server())
        case "cluster":
            # The pip package has all that workers need, but does not look like a build of Spark.
            os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
            os.environ.setdefault("SPARK_SCALA_VERSION", "2.13")
            return SparkSettings(master="local-cluster[2,1,1024]", config=_CONFIG)
        case "classic":
            return SparkSettings(master="local[2]", config=_CONFIG)
        case other:
            raise ValueError(f"DUCKLAKE_SPARK is {other!r}, not classic, connect or cluster")


@functools.cache
def connect_server(
    python: str = sys.executable, settings: tuple[tuple[str, str], ...] = tuple(_CONFIG.items())
) -> str:
    """The address of a Connect server, started once and gone with this process."""
    return start_connect_server(python, settings)[0]


def start_connect_server(
    python: str, settings: tuple[tuple[str, str], ...]
) -> tuple[str, subprocess.Popen[bytes]]:
    """A Connect server of its own: its address, and its process, which ends with this one.

    The wheel of that Python's PySpark has all that it needs: no package is asked for.
    """
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    own = {"spark.connect.grpc.binding.port": str(port), "spark.ui.enabled": "false"}
    config = dict(settings) | own
    find = (python, "-I", "-c", "import pyspark; print(pyspark.__path__[0])")
    home = Path(subprocess.check_output(find, text=True).strip())
    log = tempfile.TemporaryFile()  # noqa: SIM115 - the server's for as long as it runs
    server = subprocess.Popen(
        [
            str(home / "bin" / "spark-submit"),
            "--class=org.apache.spark.sql.connect.service.SparkConnectServer",
            "--master=local[2]",
            *(f"--conf={key}={value}" for key, value in config.items()),
            "spark-internal",
        ],
        # Its workers are to run this Python, with its packages.
        env=os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": python},
        stdout=log,
        stderr=log,
    )
    atexit.register(server.wait)
    atexit.register(server.terminate)
    for _ in range(240):
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", port)) == 0:
                return f"sc://localhost:{port}", server
        if server.poll() is not None:
            break
        time.sleep(0.5)
    log.seek(0)
    raise RuntimeError("Spark Connect did not start:\n" + log.read().decode()[-3000:])
