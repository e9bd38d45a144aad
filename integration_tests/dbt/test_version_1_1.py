"""A lake of DuckLake 1.1 beside the target: dbt reads its tables as sources and cannot write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

from support.lakes import LakeAddress, file_lake
from support.migration import migrate
from support.oracle import duck_runs

_SOURCES = """
sources:
  - name: other
    database: other
    schema: main
    tables:
      - name: t
        columns: [{name: k, data_tests: [not_null, unique]}]
"""


class TestLakeOfVersion11:
    @pytest.fixture(scope="class")
    def other(self, tmp_path_factory: pytest.TempPathFactory) -> LakeAddress:
        lake = file_lake("sqlite", tmp_path_factory.mktemp("other"))
        duck_runs(
            lake, "CREATE TABLE t AS SELECT range AS k FROM range(5)", "INSERT INTO t VALUES (9)"
        )
        migrate(lake)
        return lake

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, lake_target: dict[str, Any], other: LakeAddress) -> dict[str, Any]:
        return lake_target | {"attach": [{"database": "other", "catalog": other.catalog}]}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": _SOURCES,
            "reads.sql": "{{ config(materialized='table') }} "
            "select k from {{ source('other', 't') }}",
            "writes.sql": "{{ config(materialized='table', database='other', schema='main') }} "
            "select 1 as k",
        }

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        named = "{% macro generate_schema_name(custom, node) %}"
        return {"names.sql": named + "{{ custom or target.schema }}{% endmacro %}"}

    def test_sources_are_read_and_models_are_rejected(
        self, project: Any, other: LakeAddress
    ) -> None:
        dumped, files = other.dump(), sorted(Path(other.data_path).rglob("*"))
        results = run_dbt(["build"], expect_pass=False)
        found = {result.node.name: (str(result.status), result.message) for result in results}
        assert found.pop("writes")[1].count("[DL704]") == 1
        assert {status for status, _ in found.values()} == {"pass", "success"}
        assert project.run_sql("select count(*) from reads", fetch="one")[0] == 6
        assert other.dump() == dumped
        assert sorted(Path(other.data_path).rglob("*")) == files
