"""Function resources: kept by the lake, called by Spark, and macros for DuckDB."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.functions.test_udfs import (
    CanFindScalarFunctionRelation,
    DeterministicUDF,
    ErrorForUnsupportedType,
    NonDeterministicUDF,
    PythonUDFEntryPointRequired,
    PythonUDFNotSupported,
    PythonUDFRuntimeVersionRequired,
    SqlUDFDefaultArgSupport,
    StableUDF,
    UDFsBasic,
)
from dbt.tests.util import run_dbt, run_dbt_and_capture

from support.far_duck import FarDuck
from support.lakes import LakeAddress


class TestUDFsBasic(UDFsBasic):
    pass


class TestDeterministicUDF(DeterministicUDF):
    def check_function_volatility(self, sql: str) -> None:
        assert "NOT" not in sql
        assert "DETERMINISTIC" in sql


class TestNonDeterministicUDF(NonDeterministicUDF):
    def check_function_volatility(self, sql: str) -> None:
        assert "NOT DETERMINISTIC" in sql


class TestStableUDF(StableUDF):
    """Spark has no such word: dbt warns, and leaves it out."""

    def check_function_volatility(self, sql: str) -> None:
        assert "STABLE" not in sql


class TestSqlUDFDefaultArgSupport(SqlUDFDefaultArgSupport):
    expect_default_arg_support = True


class TestCanFindScalarFunctionRelation(CanFindScalarFunctionRelation):
    pass


class TestErrorForUnsupportedType(ErrorForUnsupportedType):
    pass


class TestPythonUDFNotSupported(PythonUDFNotSupported):
    pass


class TestPythonUDFRuntimeVersionRequired(PythonUDFRuntimeVersionRequired):
    pass


class TestPythonUDFEntryPointRequired(PythonUDFEntryPointRequired):
    pass


class TestFunctionsInModels:
    """Tables and views that call them, one that calls another, and DuckDB, which reads all."""

    @pytest.fixture(scope="class")
    def functions(self) -> dict[str, str]:
        return {
            "doubled.sql": "n * 2",
            "quadrupled.sql": "{{ function('doubled') }}({{ function('doubled') }}(n))",
            "functions.yml": """
functions:
  - name: doubled
    arguments: [{name: n, data_type: bigint}]
    returns: {data_type: bigint}
  - name: quadrupled
    arguments: [{name: n, data_type: bigint}]
    returns: {data_type: bigint}
""",
        }

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = "select id, {{ function('quadrupled') }}(id) as much from range(3)"
        return {
            "made.sql": "{{ config(materialized='table') }} " + text,
            "seen.sql": "select id, {{ function('doubled') }}(much) as more from {{ ref('made') }}",
        }

    def test_rows(self, project: Any, lake_address: LakeAddress) -> None:
        run_dbt(["build"])
        run_dbt(["run"])  # in another run, which makes no function
        query = "select id, more from {schema}.seen order by id"
        expected = [(0, 0), (1, 8), (2, 16)]
        assert project.run_sql(query, fetch="all") == expected
        project.adapter.cleanup_connections()
        schema = f"lake.{project.test_schema}"
        with FarDuck(lake_address) as duck:
            assert duck.rows(f"SELECT {schema}.quadrupled(5)") == [(20,)]
            assert duck.rows(f"SELECT id, more FROM {schema}.seen ORDER BY id") == expected


class TestNamesOfMacrosAreFree:
    """A lake may have a macro and a table of one name: dbt means the table, once it is there."""

    NAMES = ("as_rows", "as_table", "as_view", "as_seed", "as_snapshot")

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        kinds = {"as_rows": "incremental", "as_table": "table", "as_view": "view"}
        return {
            f"{name}.sql": f"{{{{ config(materialized='{kind}') }}}} select 1 as id"
            for name, kind in kinds.items()
        }

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"as_seed.csv": "id\n1\n"}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {
            "as_snapshot.yml": """
snapshots:
  - name: as_snapshot
    relation: ref('as_seed')
    config: {strategy: check, check_cols: all, unique_key: id}
"""
        }

    def test_rows(self, project: Any) -> None:
        for name in self.NAMES:
            project.run_sql(f"create function lake.{{schema}}.{name}(n int) returns int return n")
        for rows in (1, 2):  # built, and gone on with
            run_dbt(["build"])
            query = "select count(*) from {schema}.as_rows"
            assert project.run_sql(query, fetch="one") == (rows,)
        for name in self.NAMES:
            query = f"select min(id), lake.{{schema}}.{name}(max(7)) from {{schema}}.{name}"
            assert project.run_sql(query, fetch="one") == (1, 7)


class TestAggregatesAreRefused:
    @pytest.fixture(scope="class")
    def functions(self) -> dict[str, str]:
        return {
            "total.sql": "sum(n)",
            "total.yml": """
functions:
  - name: total
    config: {type: aggregate}
    arguments: [{name: n, data_type: bigint}]
    returns: {data_type: bigint}
""",
        }

    def test_it_says_what_to_do(self, project: Any) -> None:
        _, log = run_dbt_and_capture(["build"], expect_pass=False)
        assert "Write it as a dbt macro" in log
