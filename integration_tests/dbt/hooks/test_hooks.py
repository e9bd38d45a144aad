"""dbt's own tests of hooks, in and outside the transaction."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.hooks.test_model_hooks import (
    MODEL_POST_HOOK,
    MODEL_PRE_HOOK,
    BaseDuplicateHooksInConfigs,
    BaseHookRefs,
    BaseHooksRefsOnSeeds,
    BasePrePostModelHooks,
    BasePrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount,
    BasePrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks, BasePrePostRunHooks
from dbt.tests.util import run_dbt

# The suites' hooks outside the transaction run VACUUM, which is PostgreSQL's.
_OUTSIDE = {"sql": "select count(*) from {{ this.schema }}.on_model_hook", "transaction": False}
_HOOKS = {
    "models": {
        "test": {
            "pre-hook": [MODEL_PRE_HOOK, _OUTSIDE],
            "post-hook": [_OUTSIDE, MODEL_POST_HOOK],
        }
    }
}


def check(seen: dict[str, Any], state: str, project: Any) -> None:
    """What a hook saw of its target: here the lake's, in dbt's own suites PostgreSQL's."""
    assert seen["test_state"] == state
    assert seen["target_name"] == "default"
    assert seen["target_schema"] == project.test_schema
    assert int(seen["target_threads"]) == 4
    assert seen["target_type"] == "ducklake"
    assert seen["run_started_at"]
    assert seen["invocation_id"]
    assert seen["thread_id"].startswith("Thread-") or seen["thread_id"] == "MainThread"


class _Models:
    def check_hooks(self, state: str, project: Any, host: Any, count: int = 1) -> None:
        for seen in self.get_ctx_vars(state, count=count, project=project):  # type: ignore[attr-defined]
            check(seen, state, project)


class _Runs:
    def check_hooks(self, state: str, project: Any, host: Any) -> None:
        check(self.get_ctx_vars(state, project), state, project)  # type: ignore[attr-defined]


class TestPrePostModelHooks(_Models, BasePrePostModelHooks):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return _HOOKS


class TestHookRefs(_Models, BaseHookRefs):
    pass


class TestPrePostModelHooksOnSeeds(BasePrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(BasePrePostModelHooksOnSeedsPlusPrefixed):
    pass


class TestHooksOnSeedsPlusPrefixedWhitespace(BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace):
    pass


class TestPrePostModelHooksOnSnapshots(BasePrePostModelHooksOnSnapshots):
    pass


class TestPrePostModelHooksInConfig(_Models, BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(_Models, BasePrePostModelHooksInConfigWithCount):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return _HOOKS


class TestPrePostModelHooksInConfigKwargs(_Models, BasePrePostModelHooksInConfigKwargs):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(BasePrePostSnapshotHooksInConfigKwargs):
    pass


class TestDuplicateHooksInConfigs(BaseDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(_Runs, BasePrePostRunHooks):
    pass


class TestAfterRunHooks(BaseAfterRunHooks):
    pass


class TestBareNames:
    """A name without a schema leads to the profile's, in hooks as in models."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "on-run-start": "create table if not exists journal (model string)",
            "models": {"+post-hook": "insert into journal select model from this_one"},
        }

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"this_one.sql": "select 'this_one' as model"}

    def test_they_lead_to_the_schema_of_the_profile(self, project: Any) -> None:
        run_dbt(["run"])
        run_dbt(["run"])
        found = project.run_sql(f"select * from {project.test_schema}.journal", fetch="all")
        assert found == [("this_one",)] * 2


class TestHooksThatAreQueries:
    """They are run, though nobody looks at their rows: a guard stops what it guards."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+materialized": "table"}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        few = "select assert_true(count(*) > 5, 'too few rows') from {{ this }}"
        return {
            "well.sql": "{{ config(post_hook='select 1; select 2') }} select 1 as id",
            "after.sql": f'{{{{ config(post_hook="{few}") }}}} select 3 as id',
            "before.sql": "{{ config(pre_hook=\"select raise_error('not now')\") }} select 3 as id",
            "between.sql": (
                "{% call statement('x') %}select 1 / 0; select 1{% endcall %} select 3 as id"
            ),
        }

    def test_guards(self, project: Any) -> None:
        results = {r.node.name: r for r in run_dbt(["run"], expect_pass=False)}
        failed = {name for name, result in results.items() if result.status != "success"}
        assert failed == {"after", "before", "between"}
        assert "too few rows" in results["after"].message
        assert "not now" in results["before"].message
        assert "DIVIDE_BY_ZERO" in results["between"].message
        tables = project.run_sql(f"show tables in {project.test_schema}", fetch="all")
        assert [row[1] for row in tables] == ["well"]
