"""What macros of popular packages do, in small macros of our own."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

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


# dbt_utils, codegen and dbt_profiler ask the information schema, each in its own way.
_ASKED = """
{% macro asked() %}
  {% set found = [] %}
  {% set model = ref('m') %}
  {% for query in [
      "select table_name from " ~ target.database ~ ".information_schema.tables "
        ~ "where table_schema ilike '" ~ target.schema ~ "' and table_name ilike 'm%'",
      "select column_name from " ~ target.catalog ~ ".INFORMATION_SCHEMA.COLUMNS "
        ~ "where lower(table_name) = 'm'",
      "select column_name from " ~ model.information_schema('columns')
        ~ " where table_schema = '" ~ model.schema ~ "' and table_name = 'm'",
      "select distinct catalog_name from " ~ information_schema_name(target.database)
        ~ ".schemata"] %}
    {% do found.append(run_query(query).columns[0].values() | list) %}
  {% endfor %}
  {{ log('ASKED ' ~ found, info=true) }}
{% endmacro %}
"""


class TestInformationSchema:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.sql": "select 1 as a"}

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"asked.sql": _ASKED}

    def test_macros(self, project: Any) -> None:
        run_dbt(["run"])
        _, log = run_dbt_and_capture(["run-operation", "asked"])
        assert "ASKED [['m'], ['a'], ['a'], ['lake']]" in log
