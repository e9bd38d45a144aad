"""dbt's own tests of hooks, in and outside the transaction."""

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.hooks.test_model_hooks import (
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


class _Checked:
    """What a hook saw of its target: here the lake's, in dbt's own suites PostgreSQL's."""

    def check_hooks(self, state: str, project: Any, host: Any, **options: Any) -> None:
        found = self.get_ctx_vars(state=state, project=project, **options)  # type: ignore[attr-defined]
        for seen in found if isinstance(found, list) else [found]:
            assert seen["test_state"] == state
            assert seen["target_name"] == "default"
            assert seen["target_schema"] == project.test_schema
            assert seen["target_threads"] == 4
            assert seen["target_type"] == "ducklake"
            assert seen["run_started_at"]
            assert seen["invocation_id"]
            assert seen["thread_id"].startswith("Thread-") or seen["thread_id"] == "MainThread"


class TestPrePostModelHooks(_Checked, BasePrePostModelHooks):
    pass


class TestHookRefs(_Checked, BaseHookRefs):
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


class TestPrePostModelHooksInConfig(_Checked, BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(_Checked, BasePrePostModelHooksInConfigWithCount):
    pass


class TestPrePostModelHooksInConfigKwargs(_Checked, BasePrePostModelHooksInConfigKwargs):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(BasePrePostSnapshotHooksInConfigKwargs):
    pass


class TestDuplicateHooksInConfigs(BaseDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(_Checked, BasePrePostRunHooks):
    pass


class TestAfterRunHooks(BaseAfterRunHooks):
    pass
