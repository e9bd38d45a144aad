"""Many threads on one lake, and runs that are stopped from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.tests.util import run_dbt

from support.lakes import file_lake
from support.sparks import settings

_TABLE = "select {n} as n, x from {{{{ ref('base') }}}}"
_MERGED = "{{{{ config(materialized='incremental', unique_key='x') }}}} " + _TABLE
_MODELS = 12


class _EightThreads:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        base = {"base.sql": "select id as x from range(20)"}
        texts = [_TABLE if n % 2 else _MERGED for n in range(_MODELS)]
        return base | {f"m{n}.sql": text.format(n=n) for n, text in enumerate(texts)}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+materialized": "table"}}

    def test_each_model_is_one_snapshot(self, project: Any) -> None:
        for _ in range(2):
            results = run_dbt(["run", "--threads", "8"])
            assert [result.status for result in results] == ["success"] * (_MODELS + 1)
            snapshots = {result.adapter_response["snapshot_id"] for result in results}
            assert len(snapshots) == _MODELS + 1
        for n in range(_MODELS):
            query = f"select count(*), min(n), max(n), sum(x) from {{schema}}.m{n}"
            assert project.run_sql(query, fetch="one") == (20, n, n, 190)
        query = "select commit_extra_info from lake.snapshots() where commit_message like '%.m3'"
        (first,), (second,) = project.run_sql(query, fetch="all")
        assert json.loads(first)["node_id"] == json.loads(second)["node_id"] == "model.test.m3"


class TestEightThreadsOnSqlite(_EightThreads):
    pass


class TestEightThreadsOnPostgres(_EightThreads):
    catalog = "postgres"


def test_an_interrupted_run_commits_nothing(tmp_path: Path) -> None:
    """Ctrl-C while Spark writes: the job stops, its files go, the lake is as it was."""
    lake = file_lake("sqlite", tmp_path)
    spark = settings()
    target = {
        "type": "ducklake", "catalog": lake.catalog, "data_path": lake.data_path, "threads": 2,
        "spark_master": spark.master, "spark_remote": spark.remote,
        "spark_config": dict(spark.config),
    }  # fmt: skip
    files = {
        "dbt_project.yml": {"name": "p", "profile": "p", "models": {"+materialized": "table"}},
        "profiles.yml": {"p": {"target": "t", "outputs": {"t": target}}},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(content))
    (tmp_path / "models").mkdir()
    for name in ("one", "two"):
        text = "select id, hash(id) as h from range(0, 1000000000000, 1, 2)"
        (tmp_path / "models" / f"{name}.sql").write_text(text)
    dbt = subprocess.Popen(
        [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "run"],
        cwd=tmp_path,
        env=os.environ | {"DBT_PROFILES_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    while dbt.poll() is None and len(list((tmp_path / "data").rglob("_temporary"))) < 2:
        time.sleep(0.2)
    dbt.send_signal(signal.SIGINT)
    said, _ = dbt.communicate(timeout=120)
    assert dbt.returncode != 0
    assert "CANCEL" in said, said
    with lake.open() as catalog:
        assert [table.name.name for table in catalog.at().tables("main")] == []
    assert list((tmp_path / "data").rglob("*.parquet")) == []
