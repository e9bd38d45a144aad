"""The core of dbt's suites on Spark Connect, in a process of its own with a server beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_CORE = {
    "test_basic.py": ("TestSimpleMaterializations",),
    "test_functions.py": ("TestFunctionsInModels",),
    "test_incremental.py": ("TestMergeExcludeColumns",),
    "test_many_writers.py": ("TestConcurrentBatchesOnSqlite",),
    "test_python_models.py": ("TestPythonModelTests",),
}


@pytest.mark.timeout(900)
def test_core() -> None:
    here = Path(__file__).parent
    tests = [f"{here / file}::{name}" for file, names in _CORE.items() for name in names]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=here.parents[1],
        env=os.environ | {"DUCKLAKE_SPARK": "connect"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
