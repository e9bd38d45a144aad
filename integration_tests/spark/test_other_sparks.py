"""The same on Spark Connect and with workers in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import spark_smoke
from support.lakes import file_lake
from support.oracle import Oracle


@pytest.mark.parametrize("kind", ["connect", "cluster"])
def test_everything_works_on(kind: str, tmp_path: Path) -> None:
    """In a process of its own: a process has either a classic Spark or a Connect server."""
    here = Path(spark_smoke.__file__)
    roots = os.pathsep.join([str(here.parents[1]), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, str(here), kind, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": roots},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "all well" in done.stdout, done.stdout + done.stderr[-4000:]
    with Oracle(file_lake("sqlite", tmp_path)) as duck:
        assert duck.rows("SELECT count(*), sum(id) FROM t WHERE isnan(f)") == [(0, None)]
        assert duck.value("SELECT count(*) FROM t") == 39
