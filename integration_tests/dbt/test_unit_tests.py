"""dbt's own tests of unit tests."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
    test_my_model_csv_fixtures_yml,
)
from dbt.tests.adapter.unit_testing.test_types import (
    BaseUnitTestingTypes,
    BaseUnitTestingVarcharFixtureNoTruncation,
)
from dbt.tests.util import run_dbt


class TestUnitTestCaseInsensivity(BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput):
    pass


class TestUnitTestQuotedReservedWordColumnNames(BaseUnitTestQuotedReservedWordColumnNames):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": "select * from {{ ref('my_upstream_model') }}",
            "my_upstream_model.sql": "select 1 as `GROUP`",
            "unit_tests.yml": test_my_model_csv_fixtures_yml,
        }


class TestUnitTestingVarcharFixtureNoTruncation(BaseUnitTestingVarcharFixtureNoTruncation):
    pass


class TestUnitTestingTypes(BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        # a value in SQL and in YAML
        return [
            ["1", "1"],
            ["'1'", "1"],
            ["true", "true"],
            ["date'2020-01-02'", "2020-01-02"],
            ["timestamp'2013-11-03 00:00:00'", "2013-11-03 00:00:00"],
            ["timestamp_ntz'2013-11-03 00:00:00'", "2013-11-03 00:00:00"],
            ["cast('1' as decimal(10, 2))", "1"],
            ["array('a', 'b')", "\"array('a', 'b')\""],
            ["named_struct('a', 1, 'b', 'x')", "\"named_struct('a', 1, 'b', 'x')\""],
        ]


_PATHS = r"""
unit_tests:
  - name: paths
    model: lengths
    given:
      - input: ref('paths')
        rows:
          - {n: 'C:\temp\new'}
          - {n: 'it''s here\'}
    expect:
      rows:
        - {n: 'C:\temp\new', chars: 11}
        - {n: 'it''s here\', chars: 10}
"""


class TestBackslashesInFixtures:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "paths.sql": "select 'a' as n",
            "lengths.sql": "select n, length(n) as chars from {{ ref('paths') }}",
            "unit_tests.yml": _PATHS,
        }

    def test_they_are_what_is_written(self, project: Any) -> None:
        run_dbt(["build"])
