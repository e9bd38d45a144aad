"""dbt's own tests of incremental models."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChange,
)
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.util import run_dbt, run_dbt_and_capture


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestMicrobatch(BaseMicrobatch):
    pass


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


class TestIncrementalPredicates(BaseIncrementalPredicates):
    pass


class TestPredicatesDeleteInsert(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+predicates": "id != 2", "+incremental_strategy": "delete+insert"}}


class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    pass


_BEFORE = """1 as id, cast(1 as int) as n, cast(1.5 as decimal(4, 1)) as d,
named_struct('a', cast(1 as int), 'gone', 'x') as s,
array(named_struct('a', cast(1 as int))) as xs, map('k', named_struct('a', 1)) as m"""
_AFTER = """2 as id, cast(5000000000 as bigint) as n, cast(123456.5 as decimal(8, 1)) as d,
named_struct('b', named_struct('c', 'new'), 'a', cast(5000000000 as bigint)) as s,
array(named_struct('a', cast(2 as int), 'b', 2)) as xs,
map('k', named_struct('a', 2, 'b', true)) as m"""


class TestNestedSchemaChange:
    """Fields inside structs, lists and maps come and go, and types grow, at any depth."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = (
            "{{{{ config(materialized='incremental', on_schema_change='{mode}') }}}} "
            "select {{% if is_incremental() %}} {after} {{% else %}} {before} {{% endif %}}"
        )
        modes = {
            "append": "append_new_columns",
            "sync": "sync_all_columns",
            "fail": "fail",
            "ignore": "ignore",
        }
        models = {
            f"{name}.sql": text.format(mode=mode, before=_BEFORE, after=_AFTER)
            for name, mode in modes.items()
        }
        before, after = "cast(1 as bigint) as n", "cast(2 as int) as n"
        narrow = text.format(mode="sync_all_columns", before=before, after=after)
        before, after = "1 as n", "'x' as n"
        other = text.format(mode="sync_all_columns", before=before, after=after)
        before, after = "1 as n", "5000000000 as n"
        wider = text.format(mode="fail", before=before, after=after)
        before, after = "timestamp'2024-01-01 00:00:00Z' as n", "timestamp_ntz'2024-01-01' as n"
        zone = text.format(mode="sync_all_columns", before=before, after=after)
        return models | {
            "narrower.sql": narrow,
            "other.sql": other,
            "fail_wider.sql": wider,
            "zone.sql": zone,
        }

    def test_rows(self, project: Any) -> None:
        run_dbt(["run"])
        results = {r.node.name: r for r in run_dbt(["run"], expect_pass=False)}
        failed = {name for name, result in results.items() if result.status != "success"}
        assert failed == {"fail", "fail_wider", "ignore", "other", "zone"}
        assert "New column types: [{'column_name': 'n'" in results["fail_wider"].message
        assert "'s.b'" in results["ignore"].message
        assert "Only widening promotions are possible" in results["other"].message
        query = "select n, d, s.a, s.b.c, xs[0].b, m['k'].b from {schema}.%s order by id"
        for name in ("append", "sync"):
            first, second = project.run_sql(query % name, fetch="all")
            assert first == (1, Decimal("1.5"), 1, None, None, None)
            assert second == (5000000000, Decimal("123456.5"), 5000000000, "new", 2, True)
        fields = "select to_json(s) from {schema}.%s where id = 1"
        assert project.run_sql(fields % "append", fetch="one") == ('{"a":1,"gone":"x"}',)
        assert project.run_sql(fields % "sync", fetch="one") == ('{"a":1}',)
        rows = project.run_sql("select n from {schema}.narrower order by n", fetch="all")
        assert rows == [(1,), (2,)]


class TestBatchesInOtherTimeZones:
    """dbt counts batches in UTC, whatever the session's zone and the type of the event's time."""

    types = ("date", "timestamp_ntz", "timestamp")

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        hour = "timestampadd(hour, id, timestamp_ntz'2024-03-01 00:00:00')"
        moment = "timestampadd(hour, id, timestamp'2024-03-01 00:00:00Z')"
        values = {"date": f"cast({hour} as date)", "timestamp_ntz": hour, "timestamp": moment}
        models = {}
        for name in self.types:
            models[f"{name}_events.sql"] = (
                "{{ config(materialized='table', event_time='at') }} "
                f"select cast(id as int) as id, {values[name]} as at from range(240)"
            )
            models[f"{name}_days.sql"] = (
                "{{ config(materialized='incremental', incremental_strategy='microbatch', "
                "event_time='at', batch_size='day', begin='2024-03-01', concurrent_batches=false, "
                "pre_hook=\"set time zone 'America/New_York'\") }} "
                f"select * from {{{{ ref('{name}_events') }}}}"
            )
        return models

    def test_days(self, project: Any) -> None:
        run_dbt(["run", "--select", "*_events"])
        span = ["--event-time-start", "2024-03-02", "--event-time-end", "2024-03-05"]
        for _ in range(2):
            run_dbt(["run", "--select", "*_days", *span])
            for name in self.types:
                query = f"select count(*), min(id), max(id) from {{schema}}.{name}_days"
                assert project.run_sql(query, fetch="one") == (72, 24, 95), name


class TestBatchesOfUnfilteredInputs:
    """A batch writes its own rows only, also where its inputs have no event_time."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "events.sql": (
                "{{ config(materialized='table') }} select cast(id as int) as id, "
                "if(id = 4, null, timestampadd(hour, 24 * id + 1, timestamp'2024-03-01 00:00:00Z'))"
                " as at from range(5)"
            ),
            "days.sql": (
                "{{ config(materialized='incremental', incremental_strategy='microbatch', "
                "event_time='at', batch_size='day', begin='2024-03-01', "
                "pre_hook=\"set time zone 'America/New_York'\") }} "
                "select * from {{ ref('events') }} -- which has no event_time"
            ),
        }

    def test_days(self, project: Any) -> None:
        run_dbt(["run", "--select", "events"])
        span = ["--event-time-start", "2024-03-01", "--event-time-end", "2024-03-05"]
        for flags in ([], [], ["--full-refresh"]):
            _, log = run_dbt_and_capture(["run", "--select", "days", *span, *flags])
            assert log.count("left out rows whose at is NULL or not within the batch") == 1
            rows = project.run_sql("select id from {schema}.days order by id", fetch="all")
            assert rows == [(0,), (1,), (2,), (3,)]


class TestColumnsInAnotherCase:
    """They are the columns that there are."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        head = "{{{{ config(materialized='incremental', on_schema_change='{}') }}}}"
        return {
            f"{mode}.sql": head.format(mode)
            + " select {{ '2 as ID, 3 as Amount' if is_incremental() else '1 as id, 2 as amount' }}"
            for mode in ("append_new_columns", "sync_all_columns", "fail", "ignore")
        }

    def test_rows(self, project: Any) -> None:
        run_dbt(["run"])
        run_dbt(["run"])
        for mode in ("append_new_columns", "sync_all_columns", "fail", "ignore"):
            rows = project.run_sql(f"select * from {{schema}}.{mode} order by id", fetch="all")
            assert rows == [(1, 2), (2, 3)]


class TestNewColumnOfNothing:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        head = "{{ config(materialized='incremental', on_schema_change='append_new_columns') }} "
        return {"noted.sql": head + "select 1 as id {{ ', null as note' if is_incremental() }}"}

    def test_it_has_the_type_that_a_new_table_gives_it(self, project: Any) -> None:
        run_dbt(["run"])
        run_dbt(["run"])
        query = "select id, note, typeof(note) from {schema}.noted"
        assert project.run_sql(query, fetch="all") == [(1, None, "int")] * 2
