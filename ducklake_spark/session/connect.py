"""Reaches a Spark Connect server. Its own client would try for many minutes to find one that is not
there, or not any more."""

from __future__ import annotations

import threading
import warnings

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ducklake_spark.config import SparkSettings, without_token
from ducklake_spark.errors import ConfigError, MissingExtraError
from ducklake_spark.session.address import check_answers

_PATIENCE_S = 8
# Waits of 50 ms and four times longer each time, up to ten seconds: half a minute.
_TRIES, _LONGEST_WAIT_MS = 7, 10_000
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
        check_answers(SparkSettings(remote=remote))
        grpc.channel_ready_future(channel).result(timeout=_PATIENCE_S)
    except grpc.FutureTimeoutError as error:
        raise ConfigError(f"No Spark Connect server answers at {shown}.", hint=_HINT) from error
    finally:
        # Beside what follows: it waits for a watcher that looks up once in a fifth of a second.
        threading.Thread(target=channel.close, name="end of a look at Spark Connect").start()
    spark: SparkSession = SparkSession.builder.remote(remote).create()
    limit_patience(spark)
    return spark


def limit_patience(spark: SparkSession) -> None:
    """Have a session of a server's that goes away fail in half a minute."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # Said of every call, beside the error that tells it.
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
    spark.client.set_retry_policies(
        [DefaultPolicy(max_retries=_TRIES, max_backoff=_LONGEST_WAIT_MS)]
    )


def say_goodbye(spark: SparkSession) -> None:
    """Let the server forget a session, if it is still there."""
    spark.client.set_retry_policies([])
    try:
        spark.client.release_session()
    except PySparkException as error:
        if not is_gone(error):
            raise
    spark.client.close()


def is_gone(error: Exception) -> bool:
    """Whether what failed is the way to a server."""
    status = getattr(error, "getGrpcStatusCode", None)
    return status is not None and status().name == "UNAVAILABLE"


def gone() -> ConfigError:
    """The error of a server that was there."""
    return ConfigError(
        "The Spark Connect server does not answer any more.",
        hint="See whether it runs, and what its log says. Nothing was committed since.",
    )
