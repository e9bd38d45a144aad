"""The core of dbt's suites on Spark Connect, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_core_on_spark_connect() -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
            str(Path(__file__).with_name("test_catalogs.py")), "-k", "OnDuckDB",
        ],
        env=os.environ | {"DUCKLAKE_SPARK": "connect"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
