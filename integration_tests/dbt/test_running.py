"""dbt's own tests of how runs go: comments, show, empty, sample, caching, threads."""

from __future__ import annotations

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
)
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit,
    BaseShowLimit,
    BaseShowSqlHeader,
)
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    BaseTestEmptySeedFlag,
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
from dbt.tests.util import run_dbt, run_dbt_and_capture


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


@pytest.mark.skip("seeds have the flag --empty from dbt 1.12 on")
class TestEmptySeedFlag(BaseTestEmptySeedFlag):
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


@pytest.mark.skip("it compares the text of PostgreSQL's create view")
class TestEphemeralMulti(BaseEphemeralMulti):
    pass


@pytest.mark.skip("it compares the text of PostgreSQL's create view")
class TestEphemeralNested(BaseEphemeralNested):
    pass


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


@pytest.mark.skip("it asks PostgreSQL's information_schema")
class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    pass


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
