"""dbt's own tests of how runs go: comments, show, empty, sample, caching, threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseClone,
    BaseCloneNotPossible,
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit,
    BaseShowLimit,
    BaseShowSqlHeader,
)
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    MetadataWithEmptyFlag,
)
from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)
from dbt.tests.adapter.query_comment.test_query_comment import (
    BaseEmptyQueryComments,
    BaseMacroArgsQueryComments,
    BaseMacroInvalidQueryComments,
    BaseMacroQueryComments,
    BaseNullQueryComments,
    BaseQueryComments,
)
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest
from dbt.tests.adapter.simple_copy.test_copy_uppercase import BaseSimpleCopyUppercase
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase, SimpleCopyBase
from dbt.tests.adapter.store_test_failures_tests.basic import (
    StoreTestFailuresAsExceptions,
    StoreTestFailuresAsGeneric,
    StoreTestFailuresAsInteractions,
    StoreTestFailuresAsProjectLevelEphemeral,
    StoreTestFailuresAsProjectLevelOff,
    StoreTestFailuresAsProjectLevelView,
)
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures,
    BaseStoreTestFailuresLimit,
)
from dbt.tests.util import check_relations_equal, run_dbt, run_dbt_and_capture
from dbt_common.exceptions import DbtRuntimeError


class TestQueryComments(BaseQueryComments):
    pass


class TestMacroQueryComments(BaseMacroQueryComments):
    pass


class TestMacroArgsQueryComments(BaseMacroArgsQueryComments):
    pass


class TestMacroInvalidQueryComments(BaseMacroInvalidQueryComments):
    pass


class TestNullQueryComments(BaseNullQueryComments):
    pass


class TestEmptyQueryComments(BaseEmptyQueryComments):
    pass


class TestShowLimit(BaseShowLimit):
    pass


class TestShowSqlHeader(BaseShowSqlHeader):
    pass


class TestShowDoesNotHandleDoubleLimit(BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "Syntax error at or near 'limit'"


class TestEmpty(BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestMetadataWithEmptyFlag(MetadataWithEmptyFlag):
    pass


class TestSampleModeTest(BaseSampleModeTest):
    pass


class TestCachingLowercaseModel(BaseCachingLowercaseModel):
    pass


class TestCachingUppercaseModel(BaseCachingUppercaseModel):
    pass


class TestCachingSelectedSchemaOnly(BaseCachingSelectedSchemaOnly):
    pass


class TestNoPopulateCache(BaseNoPopulateCache):
    pass


class TestConcurrency(BaseConcurrency):
    pass


class TestEphemeralMulti(BaseEphemeralMulti):
    def test_ephemeral_multi(self, project: Any) -> None:
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        dependents = ["dependent", "double_dependent", "super_dependent"]
        for name in dependents:
            check_relations_equal(project.adapter, ["seed", name])
        # Each model that is only text comes once, however many refer to it.
        written = view_text("double_dependent")
        assert written.count("__dbt__cte__base as (") == 1
        assert written.startswith("create or replace view `lake`.")


class TestEphemeralNested(BaseEphemeralNested):
    def test_ephemeral_nested(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 2
        written = view_text("root_view")
        first, second = "__dbt__cte__ephemeral_level_two as (", "__dbt__cte__ephemeral as ("
        assert written.index(first) < written.index(second)
        assert project.run_sql("select * from {schema}.root_view", fetch="all") == project.run_sql(
            "select * from {schema}.source_table", fetch="all"
        )


def view_text(model: str) -> str:
    """What a model was made by, on one line."""
    return " ".join(Path(f"target/run/test/models/{model}.sql").read_text().split())


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass


class TestChangeRelationTypeValidator(BaseChangeRelationTypeValidator):
    pass


class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass


class TestStoreTestFailures(BaseStoreTestFailures):
    pass


class TestStoreTestFailuresLimit(BaseStoreTestFailuresLimit):
    pass


class TestStoreTestFailuresAsInteractions(StoreTestFailuresAsInteractions):
    pass


class TestStoreTestFailuresAsProjectLevelOff(StoreTestFailuresAsProjectLevelOff):
    pass


class TestStoreTestFailuresAsProjectLevelView(StoreTestFailuresAsProjectLevelView):
    pass


class TestStoreTestFailuresAsGeneric(StoreTestFailuresAsGeneric):
    pass


class TestStoreTestFailuresAsProjectLevelEphemeral(StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestStoreTestFailuresAsExceptions(StoreTestFailuresAsExceptions):
    pass


class TestCloneNotPossible(BaseCloneNotPossible):
    pass


class TestCloneSameSourceAndTarget(BaseCloneSameSourceAndTarget):
    pass


@pytest.mark.skip("it wants a failure where all is there already, and the clone ends well")
class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass


class TestClonePossible(BaseClonePossible):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        copied = {"+clone_as": "table"}
        seeds = {"test": {"quote_columns": False}} | copied
        return {"models": copied, "seeds": seeds, "snapshots": copied}


class TestCloneIsPinned(BaseClone):
    """By default a clone shows the table as it was, and `clone_as: view` as it goes on."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = "{{{{ config(materialized='table'{}) }}}} select 1 as id"
        return {"pinned.sql": text.format(""), "live.sql": text.format(", clone_as='view'")}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {}

    def test_rows(self, project: Any, other_schema: str) -> None:
        project.create_test_schema(other_schema)
        run_dbt(["run"])
        self.copy_state(project.project_root)
        run_dbt(["clone", "--state", "state", "--target", "otherschema"])
        for name, rows in (("pinned", 1), ("live", 2)):
            project.run_sql(f"insert into lake.{project.test_schema}.{name} values (2)")
            count = f"select count(*) from lake.{other_schema}.{name}"
            assert project.run_sql(count, fetch="one") == (rows,)


class TestSimpleCopy(SimpleCopyBase):
    @pytest.mark.skip("DuckLake has no materialized views")
    def test_simple_copy_with_materialized_views(self) -> None: ...


class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    @pytest.fixture(autouse=True)
    def shown_tables(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """The tables by SHOW TABLES and not from PostgreSQL's information_schema."""

        def tables_in_schema() -> dict[str, str]:
            shown = project.run_sql("show tables in {schema}", fetch="all")
            return {str(row[1]): "table" for row in shown}

        monkeypatch.setattr(project, "get_tables_in_schema", tables_in_schema)


class TestSimpleCopyUppercase(BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, lake_target: dict[str, Any]) -> dict[str, Any]:
        return lake_target | {"database": "dbtMixedCase"}


class TestGrants:
    """DuckLake has no grants: the run goes on, and the user is told."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.sql": "{{ config(grants={'select': ['someone']}) }} select 1 as id"}

    def test_it_warns(self, project: Any) -> None:
        results, log = run_dbt_and_capture(["run"])
        assert results[0].status == "success"
        assert "DuckLake has no grants" in log


class TestRetry:
    """What failed runs again, and what it kept from running."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "good.sql": "select 1 as id",
            "bad.sql": "select {{ var('column', 'nothing') }} as id from {{ ref('good') }}",
            "after.sql": "select * from {{ ref('bad') }}",
        }

    def test_retry(self, project: Any) -> None:
        run_dbt(["run"], expect_pass=False)
        results = run_dbt(["retry", "--vars", "column: id"])
        assert sorted(result.node.name for result in results) == ["after", "bad"]


class TestNamesThatDifferInCase:
    """They would be one table of the lake, which each model replaces."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = "{{{{ config(materialized='table', alias='{}') }}}} select 1 as id"
        return {"one.sql": text.format("same"), "two.sql": text.format("SAME")}

    def test_both_are_named(self, project: Any) -> None:
        with pytest.raises(DbtRuntimeError) as caught:
            run_dbt(["run"])
        assert "model.test.one and model.test.two are built as one relation" in str(caught.value)
