"""What Java gets from us comes before what a user gives it, wherever that is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_options_of_spark_defaults_are_kept(tmp_path: Path) -> None:
    own = "spark.driver.extraJavaOptions -Dx=kept\n"
    (tmp_path / "spark-defaults.conf").write_text(own)
    environ = os.environ | {"SPARK_CONF_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    asked = "SELECT java_method('java.lang.System', 'getProperty', 'x') AS x"
    lake = ("--catalog", f"sqlite:{tmp_path}/c.sqlite", "--data-path", f"{tmp_path}/data/")
    command = (sys.executable, "-m", "ducklake_spark.cli", "sql", asked, *lake, "--output", "csv")
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["x", "kept"]
