"""Lakes that statements are run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake


@pytest.fixture
def on(session: Session, tmp_path: Path) -> Iterator[SqlLake]:
    """A fresh lake named `lake`, on a session of its own."""
    with sql_lake(session, tmp_path) as opened:
        yield opened
