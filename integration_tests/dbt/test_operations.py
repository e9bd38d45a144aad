"""Operations on the lake as run-operations and as hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

_MODEL = """
{{ config(materialized='table', post_hook="{{ ducklake_create_indexes() }}") }}
select 1 as id
"""


class TestOperations:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"one.sql": _MODEL}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"on-run-end": ["{{ ducklake_set_option('target_file_size', '10MB') }}"]}

    @pytest.fixture(scope="class", autouse=True)
    def built(self, project: Any) -> None:
        run_dbt(["run"])

    def test_hooks_are_statements(self, project: Any) -> None:
        _, out = run_dbt_and_capture(["run-operation", "ducklake_options"])
        assert "│ target_file_size │ 10000000 │" in out

    def test_the_report_is_a_page_with_the_models_that_made_the_snapshots(
        self, project: Any
    ) -> None:
        path = Path(project.project_root, "pages", "lake.html")
        _, out = run_dbt_and_capture(
            ["run-operation", "ducklake_report", "--args", f"{{path: {path}}}"]
        )
        assert f"ducklake_report: {path}" in out
        assert "model.test.one" in path.read_text()

    def test_a_lake_that_was_built_has_no_fault(self, project: Any) -> None:
        _, out = run_dbt_and_capture(["run-operation", "ducklake_verify"])
        assert "verify: 0 rows" in out

    def test_what_is_printed(self, project: Any) -> None:
        _, out = run_dbt_and_capture(
            ["run-operation", "ducklake_table_info", "--args", "{table_name: one}"]
        )
        assert "table_info: 1 row" in out
