"""Importing the engine keeps the garbage collector on, and explains packages that do not fit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize(
    ("module", "text", "message"),
    [
        ("pyspark", "__version__ = '3.5.2'", "PySpark 4.0 or newer is required, found 3.5.2 in "),
        ("sqlglot", "raise ImportError('no such file')", "needs: no such file. Run `pip check`"),
    ],
)
def test_packages_that_do_not_fit_are_one_sentence(
    tmp_path: Path, module: str, text: str, message: str
) -> None:
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text(text)
    done = _load_with(tmp_path)
    assert message in done
    assert "Traceback" not in done


def test_the_package_that_replaces_pyspark_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("__version__ = '3.5.2'")
    metadata = tmp_path / "databricks_connect-16.1.7.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: databricks-connect\nVersion: 16.1.7\n")
    assert "databricks-connect replaces the files of pyspark" in _load_with(tmp_path)


_LOAD = """
from dbt.adapters.ducklake.loading import load_engine
from dbt_common.exceptions import DbtRuntimeError
try:
    load_engine()
except DbtRuntimeError as error:
    print(error)
"""


def _load_with(folder: Path) -> str:
    """Load the engine with the packages in a folder; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", _LOAD],
        env=os.environ | {"PYTHONPATH": str(folder)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
