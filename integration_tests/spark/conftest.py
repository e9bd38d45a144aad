"""One Spark per test process; DUCKLAKE_SPARK says which (support.sparks)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ducklake_spark.session import Session
from support.sparks import settings
from support.sql_lakes import SqlLake, sql_lake


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    with Session.open(settings()) as opened:
        yield opened


@pytest.fixture
def on(session: Session, tmp_path: Path) -> Iterator[SqlLake]:
    """A fresh lake named `lake`, on a session of its own."""
    with sql_lake(session, tmp_path) as opened:
        yield opened


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these in one test process, for a Spark is slow to start."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
