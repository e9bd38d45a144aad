"""dbt's own tests of contracts and constraints."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.constraints.fixtures import model_contract_header_schema_yml
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)
from dbt.tests.util import run_dbt


class _Types:
    """The suites' types by Spark's names."""

    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        # a value, the type the contract has, the type the message names
        return [
            ["1", "int", "int"],
            ["'1'", "string", "string"],
            ["true", "boolean", "boolean"],
            ["cast('2013-11-03 00:00:00-07' as timestamp)", "timestamp", "timestamp"],
            ["date'2013-11-03'", "date", "date"],
            ["array('a', 'b', 'c')", "array<string>", "array<string>"],
            ["array(1, 2, 3)", "array<int>", "array<int>"],
            ["cast('1' as decimal(10, 2))", "decimal(10,2)", "decimal(10,2)"],
        ]


# NOT NULL is all that DuckLake keeps of the suites' constraints; dbt warns of the others.
_CREATED = """
create or replace table <model_identifier> (
    id int not null,
    color string,
    date_day string
)
as
select id, color, date_day from (
    -- depends_on: <foreign_key_model_identifier>
    select
        'blue' as color,
        1 as id,
        '2019-01-01' as date_day
) as model_subq
"""

_QUOTED = """
create or replace table <model_identifier> (
    id int not null,
    `from` string not null,
    date_day string
)
as
select id, `from`, date_day from (
    select
        'blue' as `from`,
        1 as id,
        '2019-01-01' as date_day
) as model_subq
"""

_WITH_HEADER = """
{{ config(materialized='%s', on_schema_change='append_new_columns') }}
{%% call set_sql_header(config) %%}
set time zone 'Asia/Kolkata';
{%%- endcall %%}
select current_timezone() as column_name
"""


class TestTableConstraintsColumnsEqual(_Types, BaseTableConstraintsColumnsEqual):
    pass


class TestViewConstraintsColumnsEqual(_Types, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalConstraintsColumnsEqual(_Types, BaseIncrementalConstraintsColumnsEqual):
    pass


class TestConstraintsRollback(BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["Column 'id'", "is NOT NULL"]


class TestIncrementalConstraintsRollback(BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["Column 'id'", "is NOT NULL"]


class TestConstraintsRuntimeDdlEnforcement(BaseConstraintsRuntimeDdlEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return _CREATED


class TestIncrementalConstraintsRuntimeDdlEnforcement(
    BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return _CREATED


class _Header:
    """The suites' header in Spark's words."""

    materialized = "table"

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_contract_sql_header.sql": _WITH_HEADER % self.materialized,
            "constraints_schema.yml": model_contract_header_schema_yml.replace("text", "string"),
        }

    def test_the_header_came_first(self, project: Any) -> None:
        run_dbt(["run"])
        query = "select column_name from {schema}.my_model_contract_sql_header"
        assert set(project.run_sql(query, fetch="all")) == {("Asia/Kolkata",)}


class TestTableContractSqlHeader(_Header, BaseTableContractSqlHeader):
    pass


class TestIncrementalContractSqlHeader(_Header, BaseIncrementalContractSqlHeader):
    materialized = "incremental"


class TestModelConstraintsRuntimeEnforcement(BaseModelConstraintsRuntimeEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return _CREATED


class TestConstraintQuotedColumn(BaseConstraintQuotedColumn):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return _QUOTED


class TestIncrementalForeignKeyConstraint(BaseIncrementalForeignKeyConstraint):
    """The key is declared, and dbt warns that nobody looks after it."""


_WATCHED = """
models:
  - name: watched
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: int}
      - {name: v, data_type: string}
"""


class TestContractOfLaterRuns:
    """New rows are held to the contract too, before the table gets a column or a row."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "watched.sql": (
                "{{ config(materialized='incremental', on_schema_change='append_new_columns') }} "
                "select {% if is_incremental() %} 2 as id, true as other "
                "{% else %} 1 as id, 'a' as v {% endif %}"
            ),
            "watched.yml": _WATCHED,
        }

    def test_it_is_enforced(self, project: Any) -> None:
        run_dbt(["run"])
        (result,) = run_dbt(["run"], expect_pass=False)
        assert "This model has an enforced contract that failed" in result.message
        assert project.run_sql("select * from {schema}.watched", fetch="all") == [(1, "a")]
