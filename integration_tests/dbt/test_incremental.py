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
from dbt.tests.util import run_dbt


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
        return models | {"narrower.sql": narrow, "other.sql": other, "fail_wider.sql": wider}

    def test_rows(self, project: Any) -> None:
        run_dbt(["run"])
        results = {r.node.name: r for r in run_dbt(["run"], expect_pass=False)}
        failed = {name for name, result in results.items() if result.status != "success"}
        assert failed == {"fail", "fail_wider", "ignore", "other"}
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
