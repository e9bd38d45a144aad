"""The sample project, as `make demo` runs it: a build, a delivery by DuckDB, a build."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from dbt.cli.main import dbtRunner

from support.far_duck import FarDuck
from support.lakes import LakeAddress, file_lake

SAMPLE = Path(__file__).parents[2] / "sample_project"
MINE = shutil.ignore_patterns("lake", "target", "logs", "__pycache__")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
    folder = tmp_path / "shop"
    shutil.copytree(SAMPLE, folder, ignore=MINE)
    monkeypatch.chdir(folder)
    return folder


def deliver() -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "with_duckdb/deliver.py")
    return subprocess.run(command, check=False, capture_output=True, text=True)


def dbt(*arguments: str) -> None:
    done = dbtRunner().invoke(["--quiet", *arguments])
    assert done.success, done.exception or [r.message for r in done.result if r.message]  # type: ignore[union-attr]


def lake_of(project: Path) -> LakeAddress:
    return replace(file_lake("sqlite", project / "lake"), data_path="lake/data/")


def test_two_builds_tell_the_shops_story(project: Path) -> None:
    assert "Run `dbt build` in sample_project" in deliver().stderr
    dbt("build")
    assert deliver().returncode == 0
    assert "in the lake already" in deliver().stderr
    dbt("build")
    with FarDuck(lake_of(project)) as duck:
        orders = "SELECT count(*), count(DISTINCT order_id), count_if(status = 'placed') FROM {}"
        assert duck.rows(orders.format("fct_orders")) == [(40_500, 40_500, 500)]
        assert duck.rows("SELECT count(*), count(DISTINCT view_id) FROM fct_page_views") == [
            (60_000, 60_000)
        ]
        moved = "SELECT count(*) FROM customers_history WHERE dbt_valid_to IS NOT NULL"
        assert duck.rows(moved) == [(25,)]
        assert duck.rows("SELECT count(*) FROM dim_customers") == [(2_040,)]
        assert duck.rows(
            "SELECT comment FROM duckdb_tables() WHERE table_name = 'daily_revenue'"
        ) == [("Orders and money of a day, by store.",)]
        messages = {row[0] for row in duck.rows("SELECT commit_message FROM lake.snapshots()")}
        assert "dbt: model.shop.fct_orders" in messages
