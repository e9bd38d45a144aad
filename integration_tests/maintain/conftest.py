"""Lakes for the tests of upkeep."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.lakes import LakeAddress, file_lake
from support.sound_lake import make_sound_lake


@pytest.fixture
def local(tmp_path: Path) -> LakeAddress:
    """A fresh lake on SQLite."""
    return file_lake("sqlite", tmp_path)


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> LakeAddress:
    """A sound lake, made once, that tests copy to spoil it."""
    lake = file_lake("sqlite", tmp_path_factory.mktemp("sound"))
    make_sound_lake(lake)
    return lake
