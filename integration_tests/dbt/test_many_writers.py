"""Many writers of one table: batches side by side, and others that come in between."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dbt.adapters.ducklake.engine import Handle
from dbt.tests.util import run_dbt, run_dbt_and_capture

from ducklake_spark.sql import change
from ducklake_spark.write import StagedFiles, stage
from support.far_duck import FarDuck
from support.lakes import LakeAddress

_EVENTS = """
{{ config(materialized='table', event_time='at') }}
select id, timestampadd(hour, cast(id * 6 as int), timestamp'2024-01-01 00:00:00Z') as at
from range(24)
"""
_BATCHES = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at',
          batch_size='day', begin='2024-01-01') }}
select id, at, '{{ var("told", "first") }}' as told from {{ ref('events') }}
"""
_PYTHON_BATCHES = """
def model(dbt, session):
    dbt.config(materialized='incremental', incremental_strategy='microbatch', event_time='at',
               batch_size='day', begin='2024-01-01')
    return dbt.ref('events')
"""
_DAYS = ["--event-time-start", "2024-01-01", "--event-time-end", "2024-01-07"]
_BETWEEN = 4  # the first and the last of six batches run alone


class _ConcurrentBatches:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"events.sql": _EVENTS, "batches.sql": _BATCHES, "coded.py": _PYTHON_BATCHES}

    @pytest.fixture
    def side_by_side(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A batch that writes waits until another one writes too."""
        both, turn = threading.Barrier(2), itertools.count()

        def stage_together(*arguments: Any) -> StagedFiles:
            if 0 < next(turn) <= _BETWEEN:  # the first batch runs alone
                both.wait(timeout=120)
            return stage(*arguments)

        monkeypatch.setattr(change, "stage", stage_together)

    def test_all_land_and_replace_their_own_time_alone(
        self, project: Any, side_by_side: None
    ) -> None:
        results = run_dbt(["run", "--select", "events", "batches", *_DAYS, "--threads", "4"])
        assert [len(r.batch_results.successful) for r in results if r.batch_results] == [6]
        assert self.found(project) == [(n, "first") for n in range(24)]
        query = "select count(*) from lake.snapshots() where commit_message like '%.batches'"
        assert project.run_sql(query, fetch="one") == (6,)
        days = ["--event-time-start", "2024-01-02", "--event-time-end", "2024-01-06"]
        told = ["--vars", "told: again", "--threads", "4"]
        run_dbt(["run", "--select", "batches", *days, *told])
        expected = [(n, "again" if 4 <= n < 20 else "first") for n in range(24)]
        assert self.found(project) == expected

    def test_python_models_are_refused(self, project: Any) -> None:
        """They would get all rows for every batch, and nobody would see it."""
        _, log = run_dbt_and_capture(["run", "--select", "coded", *_DAYS], expect_pass=False)
        assert "cannot be built in batches" in log

    def found(self, project: Any) -> list[tuple[Any, ...]]:
        query = "select id, told from {schema}.batches order by id"
        found: list[tuple[Any, ...]] = project.run_sql(query, fetch="all")
        return found


class TestConcurrentBatchesOnSqlite(_ConcurrentBatches):
    pass


class TestConcurrentBatchesOnPostgres(_ConcurrentBatches):
    catalog = "postgres"


class TestAnotherWriter:
    """DuckDB commits to the table of a model when that is about to."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = "{{{{ config(materialized='incremental'{}) }}}} select 1 as id"
        return {
            "added.sql": text.format(""),
            "merged.sql": text.format(", unique_key='id'"),
            "replaced.sql": "{{ config(materialized='table') }} select 1 as id",
        }

    @pytest.fixture
    def meanwhile(
        self, project: Any, lake_address: LakeAddress, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Callable[[str, str], None]]:
        """Has DuckDB run a statement just before the commit of a model."""
        waiting: dict[str, str] = {}
        commit = Handle.commit

        def commit_second(handle: Handle) -> int | None:
            model = (handle._note().message or "").rpartition(".")[2]
            if (statement := waiting.pop(model, None)) is not None:
                duck.run(statement)
            return commit(handle)

        run_dbt(["run"])
        project.adapter.cleanup_connections()
        monkeypatch.setattr(Handle, "commit", commit_second)
        with FarDuck(lake_address) as duck:
            yield waiting.__setitem__

    def test_who_is_merely_faster_goes_unnoticed_and_who_is_in_the_way_is_named(
        self, project: Any, meanwhile: Callable[[str, str], None]
    ) -> None:
        schema = f"lake.{project.test_schema}"
        meanwhile("added", f"INSERT INTO {schema}.added VALUES (2)")
        meanwhile("merged", f"INSERT INTO {schema}.merged VALUES (1)")
        meanwhile("replaced", f"DROP TABLE {schema}.replaced")
        # One at a time: DuckDB does not wait for another model that commits to a SQLite file.
        results = run_dbt(["run", "--threads", "1"], expect_pass=False)
        status = {result.node.name: result.status for result in results}
        assert status == {"added": "success", "merged": "error", "replaced": "error"}
        rows = project.run_sql("select id from {schema}.added order by id", fetch="all")
        assert rows == [(1,), (1,), (2,)]
        for name in ("merged", "replaced"):
            (told,) = (result.message for result in results if result.node.name == name)
            assert f"in model {name}" in told
            assert "conflicts with snapshot" in told
            assert f"{project.test_schema}.{name}" in told
            assert "dbt retry" in told
        assert [r.status for r in run_dbt(["retry"])] == ["success"] * 2
