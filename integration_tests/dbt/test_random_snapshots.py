"""Snapshots of random histories hold the same versions as with dbt-duckdb."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

from support.budget import seeds
from support.lakes import LakeAddress
from support.oracle import connect
from support.snapshot_cases import STEPS, SnapshotCase, cases, versions

_CASES = cases(seeds(4, 40))
_PROJECT = "name: second\nprofile: second\nversion: '1.0'\n"
_SECOND_DBT = Path(__file__).parent.parent / "support" / "second_dbt.py"


@pytest.mark.skipif(
    importlib.util.find_spec("dbt.adapters.duckdb") is None, reason="dbt-duckdb is not installed"
)
class TestRandomSnapshots:
    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {f"{case.name}.sql": case.text() for case in _CASES}

    @pytest.fixture(scope="class")
    def lake_target(self, lake_target: dict[str, Any]) -> dict[str, Any]:
        config = {**lake_target["spark_config"], "spark.sql.session.timeZone": "UTC"}
        return {**lake_target, "spark_config": config}

    @pytest.fixture(scope="class")
    def second_opinion(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """The DuckDB file with the tables that dbt-duckdb makes."""
        folder = tmp_path_factory.mktemp("second")
        target = {
            "type": "duckdb",
            "path": str(folder / "second.db"),
            "settings": {"TimeZone": "UTC"},
        }
        profile = {"second": {"target": "duckdb", "outputs": {"duckdb": target}}}
        (folder / "profiles.yml").write_text(json.dumps(profile))
        (folder / "dbt_project.yml").write_text(_PROJECT)
        (folder / "snapshots").mkdir()
        for case in _CASES:
            (folder / "snapshots" / f"{case.name}.sql").write_text(case.text())
        command = [sys.executable, str(_SECOND_DBT), str(folder), str(STEPS)]
        path = os.pathsep.join(entry for entry in sys.path if entry)
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return folder / "second.db"

    def test_versions(self, project: Any, lake_address: LakeAddress, second_opinion: Path) -> None:
        for step in range(STEPS):
            run_dbt(["snapshot", "--vars", json.dumps({"step": step})])
        duck = connect()
        duck.execute(
            f"ATTACH 'ducklake:{lake_address.catalog}' AS lake "
            f"(DATA_PATH '{lake_address.data_path}')"
        )
        duck.execute(f"ATTACH '{second_opinion}' AS second (READ_ONLY)")
        for case in _CASES:
            ours = versions(duck, f"lake.{project.test_schema}.{case.name}", case)
            assert ours == versions(duck, f"second.main.{case.name}", case), _told(case)


def _told(case: SnapshotCase) -> str:
    return f"DUCKLAKE_TEST_FIRST_SEED={case.seed} DUCKLAKE_TEST_SEEDS=1\n{case}"
