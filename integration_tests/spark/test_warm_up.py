"""The archive of Java classes: made once, taken by the Sparks that come after, and quiet."""

from __future__ import annotations

import json
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

    lake = {"catalog": f"sqlite:{tmp_path}/c.sqlite", "data_path": f"{tmp_path}/data/"}
    own = "-XX:Tier4BackEdgeThreshold=7 -Dx=y"
    output = {"type": "ducklake", **lake, "spark_config": {"spark.driver.extraJavaOptions": own}}
    profile = {"p": {"outputs": {"default": output}}}
    (tmp_path / "profiles.yml").write_text(json.dumps(profile))  # JSON is YAML
    options = "SET spark.driver.extraJavaOptions"
    property_of_java = "SELECT java_method('java.lang.System', 'getProperty', 'x')"
    where = ("--profile", "p", "--profiles-dir", str(tmp_path), "--format", "csv")
    shown = ducklake("sql", f"{options}; {property_of_java}", *where)
    assert f"-XX:SharedArchiveFile={archive}" in shown
    assert shown.endswith("\ny\n")
    # Of two values Java takes the later one: the user's.
    assert shown.index(own) > shown.index("-XX:Tier4BackEdgeThreshold=400000")
    assert "warning" not in shown
