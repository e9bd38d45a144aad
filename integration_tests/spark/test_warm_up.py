"""The archive of Java classes: made once, taken by the Sparks that come after, and quiet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(900)
def test_a_spark_starts_from_the_archive(tmp_path: Path) -> None:
    environ = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "caches")}

    def ducklake(*arguments: str) -> str:
        command = (sys.executable, "-m", "ducklake_spark.cli", *arguments)
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    said = ducklake("warm-up")
    (archive,) = (tmp_path / "caches" / "dbt-ducklake").iterdir()
    assert said.startswith(f"{archive} (")
    made = archive.stat()
    assert "fits this Java and this Spark" in ducklake("warm-up")
    assert archive.stat() == made

    lake = ("--catalog", f"sqlite:{tmp_path}/c.sqlite", "--data-path", f"{tmp_path}/data/")
    shown = ducklake("sql", "SET spark.driver.extraJavaOptions", *lake, "--output", "csv")
    assert f"-XX:SharedArchiveFile={archive}" in shown
    assert "warning" not in shown
