"""One Spark per test process, as for the tests in `spark`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ducklake_spark.session import Session
from support.sparks import settings


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    with Session.open(settings()) as opened:
        yield opened
        if opened.is_connect:
            opened.spark.stop()  # with the server, which would keep the process alive


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these in one test process, for a Spark is slow to start."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
