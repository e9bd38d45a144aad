"""An address at which no Spark listens is an error at once."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from ducklake_spark.config import SparkSettings
from ducklake_spark.errors import ConfigError
from ducklake_spark.session.address import check_answers


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def port() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number: int = server.getsockname()[1]
    return number


def test_an_address_that_answers(port: int, free_port: int) -> None:
    check_answers(SparkSettings(remote=f"sc://127.0.0.1:{port}/;token=hunter2"))
    check_answers(SparkSettings(master=f"spark://127.0.0.1:{port}"))
    check_answers(SparkSettings(master=f"spark://127.0.0.1:{free_port},127.0.0.1:{port}"))


@pytest.mark.parametrize("master", ["local[*]", "yarn", "k8s://https://nowhere.invalid"])
def test_other_masters_are_left_to_spark(master: str) -> None:
    check_answers(SparkSettings(master=master))


def test_a_connect_server_that_does_not_run(free_port: int) -> None:
    remote = f"sc://127.0.0.1:{free_port}/;token=hunter2"
    with pytest.raises(ConfigError, match="No Spark Connect server answers at") as raised:
        check_answers(SparkSettings(remote=remote))
    assert f"sc://127.0.0.1:{free_port}: " in str(raised.value)
    assert "Connection refused" in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_masters_that_do_not_run(free_port: int) -> None:
    master = f"spark://127.0.0.1:{free_port},nowhere.invalid"
    with pytest.raises(ConfigError, match="No Spark master answers at") as raised:
        check_answers(SparkSettings(master=master))
    assert "nowhere.invalid:7077" in str(raised.value)


def test_an_address_that_is_none() -> None:
    with pytest.raises(ConfigError, match="is not the address of a Spark"):
        check_answers(SparkSettings(master="spark://host:99999"))


def test_a_proxy_may_know_the_server(free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("grpc_proxy", "http://proxy.invalid:3128")
    check_answers(SparkSettings(remote=f"sc://127.0.0.1:{free_port}"))
