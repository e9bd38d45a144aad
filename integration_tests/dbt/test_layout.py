"""Partitioning, sort order and options of tables that exist, changed with the config."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

_GROWN = """
{{ config(
    materialized='incremental', on_schema_change='sync_all_columns',
    partitioned_by=['new'] if var('later', false) else ['old'],
    sorted_by=['new'] if var('later', false) else []
) }}
select 1 as id {{ ", 'x' as new" if var('later', false) else ", 'x' as old" }}
"""
_SNAPSHOT = """
{% snapshot kept %}
{{ config(
    unique_key='id', strategy='check', check_cols='all',
    partitioned_by=['id'] if var('later', false) else []
) }}
select 1 as id
{% endsnapshot %}
"""
_BATCHES = """
{{ config(
    materialized='incremental', incremental_strategy='microbatch', event_time='at',
    batch_size='day', lookback=3, begin=modules.datetime.datetime(2026, 1, 1),
    table_options={'target_file_size': '10MB'}
) }}
select * from {{ ref('moments') }}
"""
_MOMENTS = """
{{ config(materialized='table', event_time='at') }}
select id, timestamp'2026-01-01 12:00:00' + make_interval(0, 0, 0, cast(id as int)) as at
from range(6)
"""


class TestLayout:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"grown.sql": _GROWN, "moments.sql": _MOMENTS, "batches.sql": _BATCHES}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"kept.sql": _SNAPSHOT}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"fruit.csv": "id,name\n1,apple\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "seeds": {
                "+partitioned_by": "{{ ['name'] if var('later', false) else [] }}",
                "+column_types": {"name": "varchar(20)"},
            }
        }

    def test_changed_configs(self, project: Any) -> None:
        nodes = ["--exclude", "batches"]
        run_dbt(["build", *nodes])
        run_dbt(["build", *nodes, "--vars", "later: true"])
        for name, clause in {
            "grown": "PARTITIONED BY (`new`)\nSORTED BY",
            "kept": "PARTITIONED BY (`id`)",
            "fruit": "PARTITIONED BY (`name`)",
        }.items():
            (text,) = project.run_sql(f"show create table {{schema}}.{name}", fetch="one")
            assert clause in text, name

    def test_a_seed_that_is_the_same_is_not_replaced(self, project: Any) -> None:
        run_dbt(["seed"])
        query = "select table_id from lake.table_info() where table_name = 'fruit'"
        before = project.run_sql(query, fetch="one")
        run_dbt(["seed"])
        assert project.run_sql(query, fetch="one") == before

    def test_batches_with_options_run_side_by_side(self, project: Any) -> None:
        end = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-07"]
        run_dbt(["run", "--select", "moments"])
        for _ in range(2):
            results = run_dbt(["run", "--select", "batches", "--threads", "4", *end])
            assert [result.status for result in results] == ["success"]
        assert project.run_sql("select count(*) from {schema}.batches", fetch="one") == (6,)
