from __future__ import annotations

import pytest

from support.macros import Rendering


@pytest.fixture
def rendering() -> Rendering:
    return Rendering()
