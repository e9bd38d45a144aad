"""Asks whether anything listens where Spark should be, before Spark tries for a minute or more."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlsplit

from ducklake_spark.config import SparkSettings, without_token
from ducklake_spark.errors import ConfigError

_PATIENCE_S = 6.0
_MASTER_PORT, _CONNECT_PORT = 7077, 15002
# gRPC reaches a server through these, so that its address need not be known here.
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def check_answers(settings: SparkSettings) -> None:
    """Raise ConfigError if no Spark master or Connect server listens at the address.

    Other kinds of masters, such as YARN, are found in ways that only Spark knows.
    """
    if settings.remote is not None:
        if not settings.remote.startswith("sc://") or _has_proxy():
            return
        # The parameters behind the path may hold a token.
        address, name = without_token(settings.remote), "Spark Connect server"
        hint = "Write sc://host:15002 with the address of a server that runs."
        places = [_place(address, _CONNECT_PORT)]
    elif settings.master.startswith("spark://"):
        address, name = settings.master, "Spark master"
        hint = "Start the master, or write spark://host:7077 with the address of one that runs."
        hosts = address.removeprefix("spark://").split(",")
        places = [_place(f"spark://{host}", _MASTER_PORT) for host in hosts]
    else:
        return
    problems = [problem for place in places if (problem := _problem(place, len(places)))]
    if len(problems) == len(places):
        raise ConfigError(f"No {name} answers at {address}: {'; '.join(problems)}.", hint=hint)


def _place(address: str, default_port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(address)
        return parts.hostname or "", parts.port or default_port
    except ValueError as error:
        raise ConfigError(
            f"{address!r} is not the address of a Spark.",
            hint="Write a host name and a port from 1 to 65535.",
        ) from error


def _has_proxy() -> bool:
    return any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES)


def _problem(place: tuple[str, int], count: int) -> str | None:
    """Return why a connection fails; None if one can be made."""
    try:
        socket.create_connection(place, timeout=_PATIENCE_S / count).close()
    except OSError as error:
        return f"{place[0]}:{place[1]} {error.strerror or error}"
    return None
