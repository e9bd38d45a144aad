"""A Spark that does not start says why in a line or two, without the JVM's stack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ducklake_spark import Lake
from ducklake_spark.errors import ConfigError, MissingExtraError
from ducklake_spark.session import Session, SparkSettings

_SCRIPT = """
import json, sys
from ducklake_spark.errors import ConfigError
from ducklake_spark.session import Session, SparkSettings
try:
    Session.open(SparkSettings(**json.loads(sys.argv[1])))
except ConfigError as error:
    print(error)
"""


def start(settings: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Start a Spark in a process of its own."""
    return subprocess.run(
        (sys.executable, "-c", _SCRIPT, settings),
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize(
    ("settings", "environment", "cause", "advice"),
    [
        ('{"master": "locl"}', {}, "Master must", "Check Spark's master"),
        ('{"config": {"spark.driver.memory": "much"}}', {}, "-Xmxmuch", "Check Spark's master"),
        ('{"master": "sparky://x"}', {}, "Could not parse Master URL", "Check Spark's master"),
        ("{}", {"JAVA_HOME": "/nowhere"}, "JAVA_HOME is /nowhere,", "needs Java 17 or newer"),
    ],
)
def test_what_keeps_spark_from_starting(
    settings: str, environment: dict[str, str], cause: str, advice: str
) -> None:
    done = start(settings, environment)
    assert done.stdout.startswith("[DL101] Spark did not start.")
    assert cause in done.stdout
    assert advice in done.stdout
    assert "\tat " not in done.stdout
    assert done.stderr == ""


def test_a_java_that_is_too_old(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/bin/sh\n"
        'echo \'Exception in thread "main" java.lang.UnsupportedClassVersionError: '
        "org/apache/spark/launcher/Main (class file version 61.0)' >&2\nexit 1\n"
    )
    java.chmod(0o755)
    done = start("{}", {"JAVA_HOME": str(tmp_path)})
    assert f"The Java of {tmp_path} is too old." in done.stdout
    assert "needs Java 17 or newer" in done.stdout


def test_what_others_say_while_spark_starts_is_heard() -> None:
    script = """
import sys, threading
from ducklake_spark.session import Session

start = threading.Thread(target=Session.open)
start.start()
while start.is_alive():
    print("mine", file=sys.stderr, flush=True)
    print("mine")
    start.join(0.1)
"""
    done = subprocess.run(
        (sys.executable, "-c", script), capture_output=True, text=True, check=True
    )
    assert "mine" in done.stdout
    assert done.stderr == done.stdout


def test_a_lake_that_gets_no_spark_is_let_go(tmp_path: Path) -> None:
    catalog = str(tmp_path / "catalog.duckdb")
    with pytest.raises(ConfigError, match="ansi"):
        Lake.open(catalog, spark=SparkSettings(config={"spark.sql.ansi.enabled": "false"}))
    script = "import duckdb, sys; duckdb.connect(sys.argv[1])"  # a file has one process at a time
    subprocess.run((sys.executable, "-c", script, catalog), check=True)


@pytest.mark.parametrize("remote", ["localhost:15002", "sc://h:x;token=hunter2"])
def test_what_is_no_server_is_told_without_its_token(remote: str) -> None:
    with pytest.raises(ConfigError, match="is no Spark Connect server") as caught:
        Session.open(SparkSettings(remote=remote))
    assert "hunter2" not in str(caught.value)


def test_a_server_that_does_not_answer() -> None:
    with pytest.raises(ConfigError, match=r"answers at sc://localhost:1: ") as caught:
        Session.open(SparkSettings(remote="sc://localhost:1/;token=hunter2"))
    assert "hunter2" not in str(caught.value)


def test_an_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(MissingExtraError, match=r"dbt-ducklake\[connect\]"):
        Session.open(SparkSettings(remote="sc://localhost:1"))
