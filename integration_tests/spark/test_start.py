"""A Spark that does not start says why in a line or two, without the JVM's stack."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_SCRIPT = """
import json, sys
from ducklake_spark.errors import ConfigError
from ducklake_spark.session import Session, SparkSettings
try:
    Session.open(SparkSettings(**json.loads(sys.argv[1])))
except ConfigError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("settings", "environment", "cause", "advice"),
    [
        ('{"master": "locl"}', {}, "Master must", "Check Spark's master"),
        ('{"config": {"spark.driver.memory": "much"}}', {}, "-Xmxmuch", "Check Spark's master"),
        ("{}", {"JAVA_HOME": "/nowhere"}, "/nowhere/bin/java", "needs Java 17 or newer"),
    ],
)
def test_what_keeps_spark_from_starting(
    settings: str, environment: dict[str, str], cause: str, advice: str
) -> None:
    done = subprocess.run(
        (sys.executable, "-c", _SCRIPT, settings),
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("[DL101] Spark did not start.")
    assert cause in done.stdout
    assert advice in done.stdout
    assert "\tat " not in done.stdout
    assert done.stderr == ""
