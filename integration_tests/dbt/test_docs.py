"""dbt's own tests of documentation: comments, docs generate, the catalog."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic.expected_catalog import (
    base_expected_catalog,
    expected_references_catalog,
)
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import (
    BaseGetCatalogForSingleRelation,
)
from dbt.tests.adapter.catalog import files
from dbt.tests.adapter.catalog.relation_types import CatalogRelationTypes
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
    BasePersistDocsQuotedColumnCaseSensitive,
    BasePersistDocsQuotedDescriptionNotAppliedOnMismatch,
)
from dbt.tests.util import run_dbt


class TestPersistDocs(BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass


class TestPersistDocsCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatch(
    BasePersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestCatalogRelationTypes(CatalogRelationTypes):
    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> dict[str, str]:
        return {"my_table.sql": files.MY_TABLE, "my_view.sql": files.MY_VIEW}

    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [
            ("seed.test.my_seed", "table"),
            ("model.test.my_table", "table"),
            ("model.test.my_view", "view"),
        ],
    )
    def test_relation_types_populate_correctly(
        self, docs: Any, node_name: str, relation_type: str
    ) -> None:
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)


_TYPES = {
    "id_type": "bigint",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
}


class _TableStats:
    """Equal to the statistics of a table: their values differ from run to run."""

    def __eq__(self, found: object) -> bool:
        return isinstance(found, dict) and set(found) >= {"row_count", "bytes", "files"}

    __hash__ = None  # type: ignore[assignment]


class _NoStats(_TableStats):
    """Equal to the statistics of a view."""

    def __eq__(self, found: object) -> bool:
        return isinstance(found, dict) and "row_count" not in found

    __hash__ = None  # type: ignore[assignment]


class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> Any:
        return base_expected_catalog(
            project, role=None, model_stats=_NoStats(), seed_stats=_TableStats(), **_TYPES
        )


class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> Any:
        return expected_references_catalog(
            project,
            role=None,
            bigint_type="bigint",
            model_stats=_TableStats(),
            seed_stats=_TableStats(),
            view_summary_stats=_NoStats(),
            **_TYPES,
        )


class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project: Any) -> Any:
        return _SingleCatalog(project, "my_seed", "table")

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project: Any) -> Any:
        return _SingleCatalog(project, "my_view_model", "view")


class _SingleCatalog:
    """Equal to what the catalog says of one relation of the suite's columns."""

    def __init__(self, project: Any, name: str, kind: str) -> None:
        self.expected = (project.database, project.test_schema, name, kind)

    def __eq__(self, found: Any) -> bool:
        facts = found.metadata
        types = {name: column.type for name, column in found.columns.items()}
        assert (facts.database, facts.schema, facts.name, facts.type) == self.expected
        assert types == {
            "id": "bigint",
            "first_name": "string",
            "email": "string",
            "ip_address": "string",
            "updated_at": "timestamp",
        }
        return True

    __hash__ = None  # type: ignore[assignment]


class TestWhatIsGone:
    """A schema that is not there yet and a view of a table that is gone keep nothing else out."""

    sparks_own = ("broken",)

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "kept.sql": "{{ config(materialized='table') }} select 1 as id",
            "broken.sql": "select * from lake.{{ schema }}.lost",
            "sources.yml": "sources: [{name: far, schema: not_there, tables: [{name: t}]}]",
        }

    def test_the_others_are_there(self, project: Any) -> None:
        project.run_sql("create table {schema}.lost as select 1 as x")
        run_dbt(["run"])
        project.run_sql("drop table {schema}.lost")
        catalog = run_dbt(["docs", "generate"])
        assert catalog.errors is None
        assert {node.partition(".")[2] for node in catalog.nodes} >= {"test.kept"}


_SOURCES = """
sources:
  - name: far
    schema: "{{ target.schema }}"
    config: {freshness: {warn_after: {count: 1, period: day}}}
    tables: [{name: there}, {name: not_there}]
"""


class TestFreshnessOfWhatIsNotThere:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"sources.yml": _SOURCES}

    def test_it_is_an_error_and_not_stale(self, project: Any) -> None:
        project.run_sql("create table {schema}.there as select 1 as x")
        results = {r.node.name: r for r in run_dbt(["source", "freshness"], expect_pass=False)}
        assert results["there"].status == "pass"
        assert results["not_there"].status == "runtime error"
        assert "There is no table" in results["not_there"].message
