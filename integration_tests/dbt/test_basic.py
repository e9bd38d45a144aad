"""dbt's own tests of what every adapter must do."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from dbt.tests.adapter.aliases.fixtures import MACROS__CAST_SQL, MACROS__EXPECT_VALUE_SQL
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentDatabases,
    BaseSameAliasDifferentSchemas,
)
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.catalog_integrations.test_catalog_integration import (
    BaseCatalogIntegrationValidation,
)
from dbt.tests.adapter.column_types.test_column_types import BasePostgresColumnTypes
from dbt.tests.util import relation_from_name, run_dbt
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

# A macro of the suites whose default is written for PostgreSQL.
LITERAL = """
{% macro ducklake__string_literal(s) -%}
  cast('{{ s }}' as string)
{%- endmacro %}
"""

MACROS = {"cast.sql": MACROS__CAST_SQL + LITERAL, "expect_value.sql": MACROS__EXPECT_VALUE_SQL}

# Types of Spark, a value, and what dbt shall take a column of that type for.
_TYPES = [
    ("tinyint", "1", "integer, number, not string, not float, not numeric"),
    ("int", "1", "integer, number, not string, not float, not numeric"),
    ("bigint", "1", "integer, number, not string, not float, not numeric"),
    ("float", "1", "float, number, not string, not integer, not numeric"),
    ("double", "1", "float, number, not string, not integer, not numeric"),
    ("decimal", "1", "numeric, number, not string, not integer, not float"),
    ("string", "'x'", "string, not number, not integer, not float, not numeric"),
    ("boolean", "true", "not string, not number"),
    ("timestamp", "'2024-01-01'", "not string, not number"),
]


class TestAliases(BaseAliases):
    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return MACROS


class TestAliasErrors(BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(BaseSameAliasDifferentSchemas):
    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return MACROS


class WithAnotherLake:
    """A profile with a second lake, `other`."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(
        self, dbt_profile_target: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
    ) -> dict[str, Any]:
        catalog = tmp_path_factory.mktemp("other") / "catalog.sqlite"
        return dbt_profile_target | {
            "attach": [{"database": "other", "catalog": f"sqlite:{catalog}"}]
        }


class TestSameAliasDifferentDatabases(WithAnotherLake, BaseSameAliasDifferentDatabases):
    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return MACROS

    @pytest.fixture(scope="class")
    def project_config_update(self, unique_schema: str) -> dict[str, Any]:
        models = {"alias": "duped_alias", "model_b": {"database": "other"}}
        return {"models": {"test": models}}


class TestCatalogsYml(WithAnotherLake, BaseCatalogIntegrationValidation):
    """An entry of catalogs.yml is a lake, and a model that names it is built there."""

    @pytest.fixture(scope="class")
    def catalogs(self) -> dict[str, Any]:
        lake = {"catalog_type": "ducklake", "adapter_properties": {"catalog_database": "other"}}
        return {"catalogs": [{"name": "archive", "write_integrations": [{"name": "w", **lake}]}]}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "far.sql": "{{ config(materialized='table', catalog_name='archive') }} select 7 as id",
            "near.sql": "{{ config(materialized='table') }} select id from {{ ref('far') }}",
        }

    def test_a_model_is_built_in_the_lake_of_its_catalog(self, project: Any) -> None:
        for _ in range(2):
            far, near = run_dbt(["run"])
            assert far.node.relation_name.startswith("`other`.")
            assert near.node.relation_name.startswith("`lake`.")
        assert project.run_sql(f"select * from {near.node.relation_name}", fetch="all") == [(7,)]


class TestAdapterMethods(BaseAdapterMethod):
    pass


class TestRename:
    """A table stays in its schema, whatever relation it is to become."""

    def test_into_another_schema(self, project: Any) -> None:
        project.run_sql("create table {schema}.here as select 1 as id")
        here = relation_from_name(project.adapter, "here")
        there = here.incorporate(path={"schema": "there", "identifier": "moved"})
        with (
            project.adapter.connection_named("rename"),
            pytest.raises(DbtDatabaseError, match="a table stays in its schema"),
        ):
            project.adapter.rename_relation(here, there)


class TestALakeThatIsNone:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.sql": "{{ config(database='archive') }} select 1 as id"}

    def test_those_there_are_are_named(self, project: Any) -> None:
        with pytest.raises(
            DbtRuntimeError, match="no lake 'archive' in the profile, which has lake"
        ):
            run_dbt(["run"])


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


class TestColumnTypes(BasePostgresColumnTypes):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        columns = [f"cast({value} as {kind}) as {kind}_col" for kind, value, _ in _TYPES]
        checks = {f"{kind}_col": found.split(", ") for kind, _, found in _TYPES}
        tests = [{"is_type": {"arguments": {"column_map": checks}}}]
        models = [{"name": "model", "data_tests": tests}]
        return {
            "model.sql": "{{ config(materialized='table') }} select " + ", ".join(columns),
            "schema.yml": yaml.safe_dump({"version": 2, "models": models}),
        }


class TestEmpty(BaseEmpty):
    pass


class TestEphemeral(BaseEphemeral):
    pass


class TestGenericTests(BaseGenericTests):
    pass


class TestIncremental(BaseIncremental):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestSingularTests(BaseSingularTests):
    pass


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    pass


class TestTableMaterialization(BaseTableMaterialization):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass
