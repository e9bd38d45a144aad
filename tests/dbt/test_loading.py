"""What is imported for the first lake leaves the garbage collector as it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SCRIPT = """
import gc, sys
from dbt.adapters.ducklake.loading import load_engine

if sys.argv[1] == "off":
    gc.disable()
load_engine()
print("sqlglot" in sys.modules, gc.isenabled(), gc.get_freeze_count())

class Cyclic:
    def __init__(self):
        self.me = self

    def __del__(self):
        print("gone")

Cyclic()
"""


@pytest.mark.parametrize(("before", "enabled"), [("on", True), ("off", False)])
def test_the_collector_goes_on_as_before(before: str, enabled: bool) -> None:
    done = subprocess.run(
        (sys.executable, "-c", _SCRIPT, before), capture_output=True, text=True, check=True
    )
    assert done.stdout == f"True {enabled} 0\ngone\n"
