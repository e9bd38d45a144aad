"""`dbt debug` and `dbt init`: what a newcomer meets first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.cli.main import dbtRunner
from dbt.tests.adapter.dbt_debug.test_dbt_debug import (
    BaseDebugInvalidProjectPostgres,
    BaseDebugPostgres,
    BaseDebugProfileVariable,
)
from dbt.tests.util import run_dbt_and_capture

from ducklake_spark.cli import main


class TestDebugInvalidProject(BaseDebugInvalidProjectPostgres):
    pass


class TestDebug(BaseDebugPostgres):
    """Its wrong targets, in our terms: settings that are none, and a catalog that cannot be."""

    @pytest.fixture(scope="class")
    def profiles_config_update(
        self, dbt_profile_target: dict[str, Any], unique_schema: str
    ) -> dict[str, Any]:
        good = dbt_profile_target | {"schema": unique_schema}
        nowhere = {"catalog": "sqlite:catalog.sqlite", "metadata_schema": "none"}
        outputs = {
            "default": good,
            "nopass": good | {"catalog": ""},
            "wronguser": good | nowhere,
            "none_target": None,
        }
        return {"test": {"outputs": outputs, "target": "default"}}


class TestDebugProfileVariable(BaseDebugProfileVariable):
    def test_says_what_it_looked_at(self, project: Any) -> None:
        _, out = run_dbt_and_capture(["debug"])
        for subject in (
            "Java",
            "Spark",
            "catalog",
            "data path, from here",
            "data path, from Spark",
        ):
            assert f"{subject}: [OK]" in out
        assert "DuckLake 1.0" in out


def write_project(folder: Path, output: dict[str, Any]) -> None:
    profiles = {"shop": {"target": "dev", "outputs": {"dev": output}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profiles))
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\nversion: '1.0'\n")


def test_every_red_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "file").touch()
    output = {"type": "ducklake", "catalog": "sqlite:lake", "data_path": "file/data/"}
    write_project(tmp_path, output)
    monkeypatch.chdir(tmp_path)
    # Spelled out: other tests of the suites leave folders in the environment.
    where = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
    assert not dbtRunner().invoke(["debug", *where]).success
    out = capsys.readouterr().out
    assert "data path, from here: [ERROR]" in out
    assert "Create the folder, or ask for the right to write there." in out
    assert main(["doctor", "--profiles-dir", str(tmp_path)]) == 1
    assert "data path, from Spark: [ERROR]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("catalog", "says"),
    [("sqlite:file/lake", "file is not a directory"), ("sqlite:file", "is not a SQLite file")],
)
def test_a_catalog_that_cannot_be_created(
    catalog: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "file").write_text("no database")
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--catalog", catalog]) == 1
    out = capsys.readouterr().out
    assert "catalog: [ERROR] [DL207]" in out
    assert says in out


def test_a_store_without_its_client_names_the_jar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    catalog = f"sqlite:{tmp_path}/catalog.sqlite"
    assert main(["doctor", "--catalog", catalog, "--data-path", "s3://bucket/x/"]) == 1
    assert 'Set spark.jars.packages: "org.apache.hadoop:hadoop-aws:3.' in capsys.readouterr().out


def test_a_relative_data_path_on_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, new_database: Callable[[], str]
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = f"postgres:{new_database()}"
    main(["doctor", "--catalog", catalog, "--data-path", "data/"])
    out = capsys.readouterr().out
    assert "data path: [WARNING] 'data/' is relative" in out


@pytest.mark.parametrize("data_path", ["lake/data/", "~/files", None])
def test_a_lake_that_is_not_there_yet_is_well(
    data_path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """As `dbt init` leaves it: paths from the project's folder or from home, and nothing in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    given = ["--data-path", data_path] if data_path else []
    code = main(["doctor", "--catalog", "sqlite:lake/catalog.sqlite", *given])
    out = capsys.readouterr().out
    assert code == 0, out
    complete = {
        "lake/data/": "lake/data/",
        "~/files": "home/files/",
        None: "lake/catalog.sqlite.files/",
    }
    assert f"data path, from Spark: [OK] {tmp_path}/{complete[data_path]} is writable" in out
    assert not (tmp_path / "lake" / "catalog.sqlite").exists()


def test_a_new_lake_without_a_place_is_told(capsys: Any, new_database: Callable[[], str]) -> None:
    assert main(["doctor", "--catalog", f"postgres:{new_database()}"]) == 1
    assert "catalog: [ERROR] [DL204]" in capsys.readouterr().out


def test_a_catalog_that_cannot_be_opened_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "notes.txt").write_text("no database")
    write_project(tmp_path, {"type": "ducklake", "catalog": "sqlite:notes.txt"})
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.sql").write_text("select 1 as id")
    monkeypatch.chdir(tmp_path)
    where = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
    assert not dbtRunner().invoke(["run", *where]).success
    out = capsys.readouterr().out
    assert "it is not a SQLite file" in out
    assert "Traceback" not in out


def test_a_profile_of_init_needs_no_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its defaults make a profile that works."""
    import dbt.include.ducklake as package

    template = yaml.safe_load(Path(package.PACKAGE_PATH, "profile_template.yml").read_text())
    answers = {key: asked["default"] for key, asked in template["prompts"].items()}
    write_project(tmp_path, template["fixed"] | answers)
    monkeypatch.chdir(tmp_path)
    assert main(["sql", "select 1 as one", "--profiles-dir", str(tmp_path)]) == 0
    assert (tmp_path / "lake" / "catalog.sqlite").is_file()
