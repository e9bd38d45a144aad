"""Reaches a Spark Connect server. Its own client would try for minutes to find one that is not."""

from __future__ import annotations

import threading

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ducklake_spark.config import without_token
from ducklake_spark.errors import ConfigError, MissingExtraError

_PATIENCE_S = 30
_HINT = "Write sc://host:15002 with the address of a server that runs."


def reach(remote: str) -> SparkSession:
    """A session of the server's, not one that the process has already."""
    try:
        import grpc  # type: ignore[import-untyped]
        from pyspark.sql.connect.client import DefaultChannelBuilder
    except ImportError as error:
        raise MissingExtraError("Spark Connect", "connect") from error
    shown = without_token(remote)
    try:
        channel = DefaultChannelBuilder(remote).toChannel()
    except (PySparkException, ValueError):
        # Without its cause: that may quote the token.
        raise ConfigError(f"{shown!r} is no Spark Connect server.", hint=_HINT) from None
    try:
        grpc.channel_ready_future(channel).result(timeout=_PATIENCE_S)
    except grpc.FutureTimeoutError as error:
        raise ConfigError(f"No Spark Connect server answers at {shown}.", hint=_HINT) from error
    finally:
        # Beside what follows: it waits for a watcher that looks up once in a fifth of a second.
        threading.Thread(target=channel.close, name="end of a look at Spark Connect").start()
    return SparkSession.builder.remote(remote).create()
