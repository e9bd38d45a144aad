"""A sound lake, made once, that tests copy to spoil it."""

from __future__ import annotations

import pytest

from support.lakes import LakeAddress, file_lake
from support.sound_lake import make_sound_lake


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> LakeAddress:
    lake = file_lake("sqlite", tmp_path_factory.mktemp("sound"))
    make_sound_lake(lake)
    return lake
