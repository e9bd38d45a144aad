"""dbt's own suites, on a lake of its own for each class. One Spark serves them all.

A class says with `catalog` which kind of database its catalog is in; SQLite if it says nothing.
DuckDB reads what each class leaves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from dbt.adapters.ducklake import DuckLakeAdapter
from dbt.adapters.factory import reset_adapters
from dbt.context.providers import RuntimeDatabaseWrapper
from dbt.tests.fixtures.project import *  # noqa: F403 - dbt's fixtures
from dbt_common.behavior_flags import BehaviorFlagRendered

from support.far_reads import FarReader
from support.lakes import LakeAddress, file_lake
from support.macros import BORROWED
from support.sparks import settings


@pytest.fixture(scope="class")
def lake_address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> LakeAddress:
    """A fresh lake of the kind that the class wants."""
    folder = tmp_path_factory.mktemp("lake")
    kind = getattr(request.cls, "catalog", "sqlite")
    if kind != "postgres":
        return file_lake(kind, folder)
    database = request.getfixturevalue("new_database")()
    return LakeAddress("postgres", f"postgres:{database}", f"{folder}/data/")


@pytest.fixture(scope="class")
def dbt_profile_target(lake_target: dict[str, Any]) -> dict[str, Any]:
    return lake_target


@pytest.fixture(scope="class")
def lake_target(lake_address: LakeAddress) -> dict[str, Any]:
    spark = settings()
    return {
        "type": "ducklake",
        "catalog": lake_address.catalog,
        "data_path": lake_address.data_path,
        "database": "lake",
        "threads": 4,
        "spark_master": spark.master,
        "spark_remote": spark.remote,
        "spark_config": dict(spark.config),
    }


@pytest.fixture(scope="session")
def far_reader() -> Iterator[FarReader]:
    reader = FarReader()
    yield reader
    reader.close()


@pytest.fixture(scope="class", autouse=True)
def duckdb_reads_it_all(
    request: pytest.FixtureRequest, lake_address: LakeAddress, far_reader: FarReader
) -> Iterator[None]:
    """After a class's tests, DuckDB reads every relation but those the class names `sparks_own`."""
    if request.cls is None:  # a test that has a project of its own
        yield
        return
    reset_adapters()  # `dbt debug` leaves one behind that knows no project
    adapter = request.getfixturevalue("project").adapter
    yield
    adapter.cleanup_connections()  # a DuckDB file serves one process at a time
    if not Path(lake_address.catalog.partition(":")[2] or lake_address.catalog).exists() and (
        lake_address.kind != "postgres"
    ):
        return  # dbt failed, as it was to, before it opened the lake
    own = getattr(request.cls, "sparks_own", ())
    failed = far_reader.unreadable(lake_address)
    assert {name.partition(".")[2] for name in failed} == set(own), failed


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


@pytest.fixture(scope="session", autouse=True)
def dbt_without_its_slow_parts() -> Iterator[None]:
    """A third of the time of a small run goes to what no test is about."""

    def dump(value: Any, file: Any, **options: Any) -> None:
        file.write(json.dumps(value, **options))  # in C, where json.dump does it in Python

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json, "dump", dump)
        # It looks through the stack, and for each frame through all modules.
        patch.setattr(BehaviorFlagRendered, "_default_source", staticmethod(lambda: "a test"))
        yield


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a class have one project."""
    here = Path(__file__).parent
    for item in items:
        parent = item.getparent(pytest.Class)
        if here in item.path.parents and parent is not None:
            item.add_marker(pytest.mark.xdist_group(parent.nodeid))
