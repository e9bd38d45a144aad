"""Every example of the documentation that has a title runs: the models as one project."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from dbt.cli.main import dbtRunner

from ducklake_spark import Lake
from ducklake_spark.sql import split_statements
from support.examples import examples
from support.far_duck import FarDuck
from support.lakes import LakeAddress, file_lake

# One process builds the project for all of them.
pytestmark = pytest.mark.xdist_group("documentation")
EXAMPLES = list(examples())
_FILES = ("models/", "snapshots/", "functions/", "catalogs.yml")
PROJECT = {"name": "docs", "profile": "docs", "version": "1.0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def archive(folder: Path) -> LakeAddress:
    """The other lake that the page of profiles attaches."""
    return file_lake("sqlite", folder / "archive")


@pytest.fixture(scope="module")
def built(folder: Path, archive: LakeAddress) -> LakeAddress:
    """The lake of all the pages' models, built twice: some do other things the second time."""
    lake = file_lake("sqlite", folder)
    attached = {"catalog": archive.catalog, "data_path": archive.data_path}
    output = {
        "type": "ducklake",
        "catalog": lake.catalog,
        "data_path": lake.data_path,
        "attach": [{"database": "archive", **attached}],
        "threads": 4,
        "spark_config": {"spark.sql.shuffle.partitions": 2},
    }
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(PROJECT))
    profiles = {"docs": {"target": "dev", "outputs": {"dev": output}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profiles))
    for example in EXAMPLES:
        if example.title.startswith(_FILES):
            file = folder / example.title
            assert not file.exists(), f"{example.title} is on two pages"
            file.parent.mkdir(exist_ok=True)
            file.write_text(example.text)
    where = ["--project-dir", str(folder), "--profiles-dir", str(folder)]
    for _ in range(2):
        done = dbtRunner().invoke(["--quiet", "build", *where])
        failed = [
            (r.node.name, r.message) for r in done.result or () if r.status in ("error", "fail")
        ]
        assert done.success, failed or done.exception
    return lake


def test_statements_run_in_spark(built: LakeAddress) -> None:
    with Lake.open(built.catalog) as lake:
        for example in EXAMPLES:
            if example.title == "Spark":
                for statement in split_statements(example.text):
                    lake.sql(statement).toArrow()


def test_queries_run_in_duckdb(built: LakeAddress) -> None:
    with FarDuck(built) as duck:
        for example in EXAMPLES:
            if example.title == "DuckDB":
                assert duck.rows(example.text), example.text


def test_a_model_is_built_in_the_lake_of_catalogs_yml(
    built: LakeAddress, archive: LakeAddress
) -> None:
    with FarDuck(archive) as duck:
        assert duck.rows("select count(*) from old_orders") == [(151,)]


def test_scripts_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scripts = [e for e in EXAMPLES if e.language == "python" and "/" not in e.title]
    assert scripts
    for script in scripts:
        exec(compile(script.text, script.page, "exec"), {})


def test_every_title_says_how_it_is_tested() -> None:
    known = {"Spark", "DuckDB", "roles.sql"}
    unknown = [
        e for e in EXAMPLES
        if e.title not in known
        and not e.title.startswith(_FILES)
        and e.language != "python"
    ]  # fmt: skip
    assert unknown == []
