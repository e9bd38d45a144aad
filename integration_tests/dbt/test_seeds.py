"""dbt's own tests of seeds."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedSpecificFormats,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride
from dbt.tests.util import run_dbt, write_file


class TestBasicSeedTests(BaseBasicSeedTests):
    def test_simple_seed_full_refresh_flag(self, project: Any) -> None:
        # Replacing a table leaves the views on it alone; PostgreSQL drops them with it.
        self._build_relations_for_test(project)
        self._check_relation_end_state(
            run_result=run_dbt(["seed", "--full-refresh"]), project=project, exists=True
        )


class TestSeedConfigFullRefreshOn(BaseSeedConfigFullRefreshOn):
    def test_simple_seed_full_refresh_config(self, project: Any) -> None:
        self._build_relations_for_test(project)
        self._check_relation_end_state(run_result=run_dbt(["seed"]), project=project, exists=True)


class TestSeedConfigFullRefreshOff(BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        # The suite looks for its file beside the test; it comes with the suite.
        project.run_sql(seeds.seeds__expected_sql)
        file = Path(seeds.__file__).parent / "seed_bom.csv"
        shutil.copy(file, Path(project.project_root) / "seeds")


class TestSeedSpecificFormats(BaseSeedSpecificFormats):
    pass


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = fixtures.properties__schema_yml
        for theirs, ours in (
            ("timestamp without time zone", "timestamp"),
            ("type: text", "type: string"),
            ("type: integer", "type: bigint"),
        ):
            text = text.replace(theirs, ours)
        return {"schema.yml": text}

    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        return dict.fromkeys(("seed_id_str", "looks_like_a_bool", "looks_like_a_date"), "string")


class TestSeedThatChanges:
    """What is new in a file comes out whole, without a full refresh."""

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"grown.csv": "id,share\n1,1\n"}

    def test_rows(self, project: Any) -> None:
        run_dbt(["seed"])
        write_file("id,share,note\n1,1.5,x\n", project.project_root, "seeds", "grown.csv")
        run_dbt(["seed"])
        assert project.run_sql("select * from {schema}.grown", fetch="all") == [(1, 1.5, "x")]


class TestNumbersInOddSpellings:
    """A seed holds the number that its file spells out, or dbt raises an error."""

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        numbers = "whole,typed,large,mixed\n1e3,1e3,9223372036854775808,NaN\n"
        numbers += '1.0, 7 ,1E+30,1\n"1,000",-0,1,inf\n'
        return {"numbers.csv": numbers}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"seeds": {"+column_types": {"typed": "int"}}}

    def test_rows(self, project: Any) -> None:
        for _ in range(2):
            run_dbt(["seed"])
            query = "select *, typeof(typed) from {schema}.numbers order by large desc"
            rows = project.run_sql(query, fetch="all")
            assert [row[:3] for row in rows] == [
                (1, 7, 10**30),
                (1000, 1000, 2**63),
                (1000, 0, 1),
            ]
            assert [str(row[3]) for row in rows] == ["1.0", "nan", "inf"]
            assert {row[4] for row in rows} == {"int"}
