"""dbt's own tests of contracts and constraints."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)


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


@pytest.mark.skip("its header is PostgreSQL's SET SESSION TIME ZONE")
class TestTableContractSqlHeader(BaseTableContractSqlHeader):
    pass


@pytest.mark.skip("its header is PostgreSQL's SET SESSION TIME ZONE")
class TestIncrementalContractSqlHeader(BaseIncrementalContractSqlHeader):
    pass


class TestModelConstraintsRuntimeEnforcement(BaseModelConstraintsRuntimeEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return _CREATED


@pytest.mark.skip("its model quotes as PostgreSQL does")
class TestConstraintQuotedColumn(BaseConstraintQuotedColumn):
    pass
