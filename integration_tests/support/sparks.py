"""The Sparks that tests run on: DUCKLAKE_SPARK is classic (the default), connect or cluster."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark

from ducklake_spark.session import SparkSettings

_CONFIG = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}


def settings(kind: str | None = None) -> SparkSettings:
    """A Spark in this process, one with a Connect server in it, or one with worker processes."""
    match kind or os.environ.get("DUCKLAKE_SPARK", "classic"):
        case "connect":
            shuffles = {"spark.sql.shuffle.partitions": "2"}  # a session cannot set the memory
            return SparkSettings(remote="local[2]", config=shuffles)
        case "cluster":
            # The pip package has all that workers need, but does not look like a build of Spark.
            os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
            os.environ.setdefault("SPARK_SCALA_VERSION", "2.13")
            return SparkSettings(master="local-cluster[2,1,1024]", config=_CONFIG)
        case "classic":
            return SparkSettings(master="local[2]", config=_CONFIG)
        case other:
            raise ValueError(f"DUCKLAKE_SPARK is {other!r}, not classic, connect or cluster")
