"""Warnings in dbt: for configs without effect, and from the engine."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

_MODELS = {
    "delta.sql": "{{ config(file_format='delta', location_root='/x', clustered_by=['a'], buckets=2,"
    " tblproperties={'a': 'b'}, liquid_clustered_by='a') }} select 1 as a",
    "parquet.sql": "{{ config(file_format='parquet') }} select 1 as a",
    "keyless.sql": "{{ config(materialized='incremental', incremental_strategy='merge') }}"
    " select 1 as a",
    "of_spark_alone.sql": "{{ config(materialized='view') }} select soundex('a') as s",
}


class TestWarnings:
    sparks_own = ("of_spark_alone",)

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _MODELS

    def test_configs(self, project: Any) -> None:
        _, log = run_dbt_and_capture(["run"])
        log = " ".join(log.split())
        assert "model.test.delta: The config file_format has no effect" in log
        assert "location_root has no effect. Files are below data_path" in log
        assert "clustered_by has no effect. Write partitioned_by=['bucket(16, column)']" in log
        assert "tblproperties has no effect. Options of a table are in table_options" in log
        assert "liquid_clustered_by has no effect" in log
        assert "model.test.parquet" not in log
        assert "model.test.keyless: The strategy merge has no unique_key" in log
        assert "DuckDB will not be able to use the view" in log


class TestMaterializedViews:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.sql": "{{ config(materialized='materialized_view') }} select 1 as a"}

    def test_materialized_view(self, project: Any) -> None:
        (result,) = run_dbt(["run"], expect_pass=False)
        assert "model.test.m cannot be a materialized view" in result.message


class TestCommandsOfDelta:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        hook = "optimize {{ this }} zorder by (a)"
        return {"m.sql": f'{{{{ config(post_hook="{hook}") }}}} select 1 as a'}

    def test_optimize(self, project: Any) -> None:
        (result,) = run_dbt(["run"], expect_pass=False)
        assert "CALL lake.merge_adjacent_files()" in result.message
        assert "sorted_by" in result.message
