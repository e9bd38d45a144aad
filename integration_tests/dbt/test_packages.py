"""What macros of popular packages do, in small macros of our own."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

# elementary keeps its results in a table, filled from a temporary view without schema and database.
_COLLECT = """
{% macro collect() %}
  {% set target = api.Relation.create(
      database=target.database, schema=target.schema, identifier='results', type='table') %}
  {% set rows = target.incorporate(
      path={"schema": none, "identifier": "results__tmp"}, type='view') %}
  {% do run_query("create or replace temporary view " ~ rows ~ " as select 'a' as name, 1 as n") %}
  {% do run_query("create table if not exists " ~ target ~ " (name string, n int)") %}
  {% do run_query("insert into " ~ target ~ " select * from " ~ rows) %}
{% endmacro %}
"""


class TestTemporaryViewsOfHooks:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.sql": "select 1 as a"}

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"collect.sql": _COLLECT}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, list[str]]:
        return {"on-run-end": ["{{ collect() }}"]}

    def test_hook(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 2
        rows = project.run_sql("select name, n from {schema}.results", fetch="all")
        assert [tuple(row) for row in rows] == [("a", 1)]
        left = project.run_sql("show tables in lake.{schema}", fetch="all")
        assert sorted(row[1] for row in left) == ["m", "results"]
