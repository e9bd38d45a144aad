"""Every commit of a run says which node made it, in a lake that asks for that too."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt.tests.util import run_dbt

_MODEL = """
{{ config(
    materialized='table',
    post_hook=[{'sql': 'create or replace table {{ schema }}.after as select 1 as x',
                'transaction': false}]
) }}
select 1 as id
"""
_TEST = "models: [{name: one, columns: [{name: id, data_tests: [not_null]}]}]"


class TestLineage:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"one.sql": _MODEL, "one.yml": _TEST}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        audit = "create or replace table {{ target.schema }}.audit as select 1 as x"
        return {
            "on-run-start": ["call lake.set_option('require_commit_message', true)"],
            "on-run-end": [audit, "call lake.set_option('require_commit_message', false)"],
            "data_tests": {"+store_failures": True},
        }

    def test_all_commits_have_a_message(self, project: Any) -> None:
        for _ in range(2):
            run_dbt(["build"])
        said = project.run_sql(
            "select changes, commit_message, commit_extra_info from lake.snapshots() "
            "where commit_message is not null",
            fetch="all",
        )
        by_message: dict[str, list[Any]] = {}
        for _, message, extra in said:
            by_message.setdefault(message, []).append(json.loads(extra))
        # The model and its hook, twice.
        assert len(by_message["dbt: model.test.one"]) == 4
        for facts in by_message["dbt: model.test.one"]:
            assert facts["node_id"] == "model.test.one"
            assert json.loads(facts["query_comment"])["node_id"] == "model.test.one"
        written = ["tables_created", "tables_inserted_into"]
        unnamed = project.run_sql(
            "select changes from lake.snapshots() where commit_message is null", fetch="all"
        )
        assert [changes for (changes,) in unnamed if any(key in changes for key in written)] == []
