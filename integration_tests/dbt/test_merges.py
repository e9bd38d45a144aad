"""Merges as models configure them, by the names of dbt-duckdb and dbt-databricks."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

# The first run makes rows 1 to 3; the second changes 2, brings 4, and leaves 1 and 3 out.
_MODEL = """
{{{{ config(materialized='incremental', unique_key='id', {configs}) }}}}
{{% if is_incremental() %}}
select 2 as id, 'new' as v, 20 as n union all select 4, 'four', 40
{{% else %}}
select * from values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3) as t(id, v, n)
{{% endif %}}
"""
_MODELS = {
    "plain": ("", "1a1 2new20 3c3 4four40"),
    "some_columns": ("merge_update_columns=['v']", "1a1 2new2 3c3 4four40"),
    "conditions": (
        "merge_update_condition='DBT_INTERNAL_DEST.n > 5', merge_insert_condition='id > 4'",
        "1a1 2b2 3c3",
    ),
    "expressions": (
        "merge_exclude_columns=['id'], merge_on_using_columns=['id'], "
        "merge_update_set_expressions={'n': 'DBT_INTERNAL_DEST.n + 100'}",
        "1a1 2new102 3c3 4four40",
    ),
    "by_source": (
        "target_alias='t', source_alias='s', matched_condition='t.n < s.n', "
        "not_matched_by_source_action='delete', not_matched_by_source_condition='t.id = 3', "
        "skip_not_matched_step=true",
        "1a1 2new20",
    ),
    "several": (
        "merge_clauses={'when_matched': [{'action': 'do_nothing', 'condition': "
        "'DBT_INTERNAL_DEST.n > 100'}, {'action': 'delete'}], "
        "'when_not_matched': [{'action': 'insert', 'insert': "
        "{'columns': ['id', 'v'], 'values': ['DBT_INTERNAL_SOURCE.id', \"'own'\"]}}, "
        "{'action': 'update', 'by': 'source', 'set_expressions': {'v': \"'gone'\"}}]}",
        "1gone1 3gone3 4ownNone",
    ),
}


class TestMergeConfigs:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        models = {f"{name}.sql": _MODEL.format(configs=c) for name, (c, _) in _MODELS.items()}
        evolving = _MODEL.format(configs="merge_with_schema_evolution=true")
        return models | {"evolving.sql": evolving.replace("40\n", "40, true as more\n").replace(
            "20 as n union", "20 as n, false as more union")}  # fmt: skip

    def test_rows(self, project: Any) -> None:
        for _ in range(2):
            results = run_dbt(["run"])
            assert all(result.status == "success" for result in results)
        by_name = {result.node.name: result.adapter_response for result in results}
        response = by_name["plain"]
        assert (response["rows_updated"], response["rows_inserted"]) == (1, 1)
        assert response["snapshot_id"] not in {
            other.get("snapshot_id") for name, other in by_name.items() if name != "plain"
        }
        assert response["_message"].endswith(f" in snapshot {response['snapshot_id']}")
        assert by_name["conditions"]["_message"] == "MERGE (0 rows), no new snapshot"
        for name, (_, expected) in _MODELS.items():
            assert found(project, name) == expected, name
        assert found(project, "evolving") == "1a1None 2new20False 3c3None 4four40True"


def found(project: Any, name: str) -> str:
    rows = project.run_sql(f"select * from {{schema}}.{name} order by id", fetch="all")
    return " ".join("".join(map(str, row)) for row in rows)


class TestWrongMergeConfigs:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        wrong = "merge_updte_columns=['v'], skip_matched_step='maybe', pre_hook='drop table x'"
        return {"wrong.sql": _MODEL.format(configs=wrong)}

    def test_all_is_told_before_anything_runs(self, project: Any) -> None:
        _, log = run_dbt_and_capture(["run"], expect_pass=False)
        assert "is merge_update_columns meant?" in log
        assert "skip_matched_step must be true or false" in log
        assert "drop table" not in log


class TestMisspeltExcludedColumn:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"kept.sql": _MODEL.format(configs="merge_exclude_columns=['nn']")}

    def test_it_is_not_overwritten(self, project: Any) -> None:
        run_dbt(["run"])
        (result,) = run_dbt(["run"], expect_pass=False)
        assert "merge_exclude_columns names nn, which is no column of" in result.message
        assert found(project, "kept") == "1a1 2b2 3c3"
