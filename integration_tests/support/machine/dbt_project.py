"""A dbt project of one incremental model, whose table and query are given for each run."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
from pathlib import Path

import yaml
from dbt.adapters.factory import reset_adapters
from dbt.cli.main import dbtRunner

from support.lakes import LakeAddress
from support.sparks import settings

_MODEL = """{{ config(materialized='incremental', unique_key='k', alias=var('table'),
    incremental_strategy=var('strategy')) }}
{{ var('query') }}
"""


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ducklake-machine-dbt-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "models").mkdir()
    (folder / "models" / "by_key.sql").write_text(_MODEL)
    project = {"name": "machine", "profile": "machine"}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(project))
    return folder


def run_model(address: LakeAddress, table: str, strategy: str, query: str) -> None:
    """Run the model with dbt, in this process."""
    folder, spark = _folder(), settings()
    target = {
        "type": "ducklake",
        "catalog": address.catalog,
        "data_path": address.data_path,
        "database": "lake",
        "threads": 1,
        "spark_master": spark.master,
        "spark_remote": spark.remote,
        "spark_config": dict(spark.config),
    }
    profiles = {"machine": {"target": "lake", "outputs": {"lake": target}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profiles))
    variables = json.dumps({"table": table, "strategy": strategy, "query": query})
    folders = [f"--project-dir={folder}", f"--profiles-dir={folder}"]
    quietly = ["--quiet", "--log-level-file=none"]
    reset_adapters()
    result = dbtRunner().invoke([*quietly, "run", *folders, f"--vars={variables}"])
    reset_adapters()
    rows = getattr(result.result, "results", ())
    failed = [row.message for row in rows if row.status != "success"]
    if result.exception is not None or failed or not result.success:
        raise AssertionError(f"dbt: {failed}") from result.exception
