"""Spark starts while dbt reads its project, for the commands that use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import sys, threading
from dbt.cli.main import dbtRunner

dbtRunner().invoke(sys.argv[1:])
heavy = {"pandas", "pyarrow", "pyspark", "sqlalchemy", "sqlglot"}
print("Imported:", ", ".join(sorted(heavy & sys.modules.keys())))
for thread in threading.enumerate():
    if thread.name == "start of Spark":
        thread.join()
from pyspark import SparkContext
print("Spark runs:", SparkContext._active_spark_context is not None)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    (folder / "models").mkdir()
    (folder / "models" / "one.sql").write_text("select 1 as id\n")
    (folder / "dbt_project.yml").write_text("name: start\nprofile: start\n")
    (folder / "profiles.yml").write_text("start: {target: dev, outputs: {dev: {type: ducklake}}}\n")
    return folder


def dbt(project: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run dbt in a process of its own, and see whether Spark starts in it."""
    return subprocess.run(
        (sys.executable, "-c", _SCRIPT, *command),
        cwd=project,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize(
    ("command", "started"), [(("list",), False), (("run", "--select", "nothing"), True)]
)
def test_who_starts_spark(project: Path, command: tuple[str, ...], started: bool) -> None:
    done = dbt(project, *command)
    assert f"Spark runs: {started}" in done.stdout
    assert "WARN" not in done.stderr


@pytest.mark.parametrize("command", ["list", "parse"])
def test_what_only_reads_the_project_imports_no_engine(project: Path, command: str) -> None:
    assert "Imported: \n" in dbt(project, command, "--no-partial-parse").stdout


def test_a_spark_that_does_not_start_is_told_by_the_model(project: Path) -> None:
    done = dbt(project, "run", JAVA_HOME="/nowhere")
    assert "JAVA_HOME is /nowhere, and there is no bin/java in it." in done.stdout
    assert "Done. PASS=0 WARN=0 ERROR=1" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
