"""dbt 1.12: the core of dbt's suites, and what dbt 1.11 does not have.

The development environment has dbt 1.11. One test installs dbt 1.12 into a folder, and runs this
file and the core of the suites there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.empty.test_empty import BaseTestEmptySeedFlag
from dbt.tests.util import get_manifest, run_dbt, run_dbt_and_capture, write_file
from dbt.version import __version__

from support.budget import FULL
from support.far_duck import FarDuck
from support.lakes import LakeAddress

_IS_1_12 = __version__.startswith("1.12.")
only_on_1_12 = pytest.mark.skipif(not _IS_1_12, reason="a feature of dbt 1.12")

# dbt-core-experimental-parser is left out: it is optional, and downloads a binary when it is built.
_DBT_1_12 = ("dbt-core==1.12.*", "metricflow>=0.213,<1", "python-dotenv", "rapidfuzz", "tabulate")
_CORE = (
    "test_basic.py::TestIncremental",
    "test_basic.py::TestCatalogsYml",
    "test_docs.py::TestDocsGenerate",
    "test_functions.py::TestFunctionsInModels",
    "test_functions.py::TestSqlUDFDefaultArgSupport",
    "test_snapshots.py::TestSnapshotColumnNames",
    "test_unit_tests.py::TestUnitTestingTypes",
)
_ALL = (
    "test_basic.py",
    "test_docs.py",
    "test_functions.py",
    "test_incremental.py",
    "test_operations.py",
    "test_running.py",
    "test_seeds.py",
    "test_snapshots.py",
    "test_unit_tests.py",
)


@pytest.mark.skipif(_IS_1_12, reason="this is dbt 1.12")
@pytest.mark.timeout(3600 if FULL else 300)
def test_the_suites_pass_on_dbt_1_12(tmp_path: Path) -> None:
    folder = tmp_path / "dbt-1.12"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, *_DBT_1_12], check=True, capture_output=True, timeout=240)
    here = Path(__file__).parent
    chosen = [Path(__file__).name, *(_ALL if FULL else _CORE)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + [str(here / name) for name in chosen],
        cwd=here.parents[1],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@only_on_1_12
class TestEmptySeeds(BaseTestEmptySeedFlag):
    pass


@only_on_1_12
class TestLatestVersionPointer:
    """A view with the name of the model shows its latest version."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"cities.sql": "{{ config(materialized='table') }} select 1 as id"}

    def test_the_view_replaces_the_table_of_before(
        self, project: Any, lake_address: LakeAddress
    ) -> None:
        run_dbt(["run"])  # as a table without versions
        models = Path(project.project_root) / "models"
        (models / "cities.sql").rename(models / "cities_v1.sql")
        write_file(_PARTITIONED, models, "cities_v2.sql")
        write_file(_VERSIONS % "cities", models, "cities.yml")
        for _ in range(2):
            run_dbt(["run"])
            assert project.run_sql("select * from {schema}.cities", fetch="all") == [(2,)]
            assert project.run_sql("select * from {schema}.cities_v1", fetch="all") == [(1,)]
        project.adapter.cleanup_connections()
        with FarDuck(lake_address) as duck:
            assert duck.rows(f"SELECT * FROM lake.{project.test_schema}.cities") == [(2,)]

    def test_a_python_model_has_one_too(self, project: Any) -> None:
        models = Path(project.project_root) / "models"
        write_file("select 1 as id", models, "facts_v1.sql")
        write_file(_PYTHON, models, "facts_v2.py")
        write_file(_VERSIONS % "facts", models, "facts.yml")
        run_dbt(["run", "--select", "facts"])
        assert project.run_sql("select * from {schema}.facts", fetch="all") == [(2,)]


_PARTITIONED = """
{{ config(
    materialized='incremental', unique_key='id', partitioned_by=['id'], sorted_by=['id']
) }}
select 2 as id
"""
_PYTHON = """
def model(dbt, session):
    return session.sql("select 2 as id")
"""
_VERSIONS = """
models:
  - name: %s
    latest_version: 2
    config: {latest_version_pointer: {enabled: true}}
    versions: [{v: 1}, {v: 2}]
"""


@only_on_1_12
class TestHeadersOfTests:
    """`sql_header` in front of a data test and a unit test, with and without stored failures."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"flags": {"require_sql_header_in_test_configs": True}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.sql": "select 'Asia/Kolkata' as zone", "m.yml": _TESTS_WITH_HEADERS}

    @pytest.fixture(scope="class")
    def tests(self) -> dict[str, str]:
        query = "select * from {{ ref('m') }} where zone != current_timezone()"
        header = "sql_header=\"set time zone 'Asia/Kolkata';\""
        return {
            "plain.sql": f"{{{{ config({header}) }}}} {query}",
            "stored.sql": f"{{{{ config({header}, store_failures=true) }}}} {query}",
            "without.sql": "select 1 where current_timezone() = 'Asia/Kolkata'",
        }

    def test_a_header_holds_for_its_test_alone(self, project: Any) -> None:
        results = run_dbt(["build"])
        assert len(results) == 5


_TESTS_WITH_HEADERS = """
models:
  - name: m
    columns:
      - name: zone
        data_tests:
          - accepted_values:
              arguments: {values: [Asia/Kolkata]}
              config: {sql_header: "set spark.sql.shuffle.partitions = 3;"}
"""


@only_on_1_12
class TestSqlAsOperation:
    """`dbt run-operation --sql` commits what it changes, as one snapshot, or nothing."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"m.sql": "{{ config(materialized='table') }} select 1 as id"}

    def test_rows(self, project: Any) -> None:
        run_dbt(["run"])
        table = f"{project.test_schema}.m"
        before = _snapshots(project)
        many = f"insert into {table} values (2); insert into {table} values (3)"
        done = run_dbt(["run-operation", "--sql", many])
        assert "in snapshot" in done.results[0].adapter_response["_message"]
        assert _snapshots(project) == before + 1
        run_dbt(["run-operation", "--sql", "delete from {{ ref('m') }} where id = 1"])
        half = f"insert into {table} values (4); insert into nowhere values (5)"
        run_dbt(["run-operation", "--sql", half], expect_pass=False)
        rows = project.run_sql(f"select id from {table} order by id", fetch="all")
        assert rows == [(2,), (3,)]

    def test_maintenance(self, project: Any) -> None:
        for table in ("a", "b"):
            project.run_sql(f"create table {{schema}}.{table} as select 1 as id")
            project.run_sql(f"insert into {{schema}}.{table} values (2)")
        run_dbt(["run-operation", "--sql", "call lake.merge_adjacent_files()"])
        for table in ("a", "b"):
            files = f"select * from lake.list_files('{project.test_schema}.{table}')"
            assert len(project.run_sql(files, fetch="all")) == 1


def _snapshots(project: Any) -> int:
    (count,) = project.run_sql("select count(*) from lake.snapshots()", fetch="one")
    return int(count)


@only_on_1_12
class TestCatalogsV2:
    """An entry of the new catalogs.yml is a lake of the profile."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(
        self, lake_target: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
    ) -> dict[str, Any]:
        catalog = tmp_path_factory.mktemp("other") / "catalog.sqlite"
        return lake_target | {"attach": [{"database": "other", "catalog": f"sqlite:{catalog}"}]}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"flags": {"use_catalogs_v2": True}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "far.sql": "{{ config(materialized='table', catalog_name='archive') }} select 7 as id",
            "near.sql": "{{ config(materialized='table') }} select id from {{ ref('far') }}",
        }

    def test_a_model_is_built_in_the_lake_of_its_catalog(self, project: Any) -> None:
        write_file(_CATALOGS % "ducklake", project.project_root, "catalogs.yml")
        for _ in range(2):
            far, near = run_dbt(["run"])
            assert far.node.relation_name.startswith("`other`.")
            assert near.node.relation_name.startswith("`lake`.")
        assert project.run_sql(f"select * from {near.node.relation_name}", fetch="all") == [(7,)]


_CATALOGS = """
catalogs:
  - name: archive
    type: %s
    table_format: default
    config: {ducklake: {catalog_database: other}}
"""


@only_on_1_12
class TestOverloadsAreRefused:
    """Before any of them is created: each would replace the one before."""

    @pytest.fixture(scope="class")
    def functions(self) -> dict[str, str]:
        return {"twice.sql": "n * 2", "twice_text.sql": "concat(s, s)", "twice.yml": _OVERLOADS}

    def test_it_says_what_to_do(self, project: Any) -> None:
        _, log = run_dbt_and_capture(["build"], expect_pass=False)
        assert "overloads are not supported" in log
        assert "twice_text" in log
        assert "function.test.twice" in get_manifest(project.project_root).functions
        project.run_sql("create function lake.{schema}.twice(n int) returns int return n")


_OVERLOADS = """
functions:
  - name: twice
    arguments: [{name: n, data_type: bigint}]
    returns: {data_type: bigint}
    overloads:
      - defined_in: twice_text
        arguments: [{name: s, data_type: string}]
        returns: {data_type: string}
"""
