"""The command line: SQL on a lake, its snapshots and its tables."""

from ducklake_spark.cli.main import main

__all__ = ["main"]
