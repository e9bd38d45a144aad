"""One Spark per test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ducklake_spark.session import Session, SparkSettings


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    config = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    with Session.open(SparkSettings(master="local[2]", config=config)) as opened:
        yield opened
