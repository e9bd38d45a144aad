"""dbt's own suites, on a lake of its own for each class. One Spark serves them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from dbt.adapters.ducklake import DuckLakeAdapter
from dbt.context.providers import RuntimeDatabaseWrapper
from dbt.tests.fixtures.project import *  # noqa: F403 - dbt's fixtures

from support.macros import BORROWED


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("lake")
    return {
        "type": "ducklake",
        "catalog": f"sqlite:{folder / 'catalog.sqlite'}",
        "data_path": f"{folder / 'data'}/",
        "database": "lake",
        "threads": 4,
        "spark_master": "local[2]",
        "spark_config": {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"},
    }


@pytest.fixture(scope="class", autouse=True)
def postgres_set_up() -> Iterator[None]:
    """The suites prepare and check their tables in the SQL of PostgreSQL."""
    run = DuckLakeAdapter.run_sql_for_tests

    def translated(self: DuckLakeAdapter, sql: str, fetch: str, conn: Any) -> Any:
        if '"' in sql or "::" in sql:
            written = sql.replace("`", '"')
            sql = ";\n".join(sqlglot.transpile(written, read="postgres", write="spark"))
        return run(self, sql, fetch, conn)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckLakeAdapter, "run_sql_for_tests", translated)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_more_of_dbt_spark() -> Iterator[None]:
    """Whatever a suite asks dbt to do, of dbt-spark only the macros that we borrow are reached."""
    find = RuntimeDatabaseWrapper.dispatch

    def checked(self: RuntimeDatabaseWrapper, *arguments: Any, **named: Any) -> Any:
        found = find(self, *arguments, **named)
        name = found.macro.name
        if name.startswith("spark__") and name not in BORROWED:
            raise AssertionError(f"the macro {name} of dbt-spark was reached")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RuntimeDatabaseWrapper, "dispatch", checked)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("dbt"))
