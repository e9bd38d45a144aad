"""Profiles of dbt's as settings: where they are looked for, templates, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from ducklake_spark.cli import main
from ducklake_spark.cli.profiles import read_profile
from ducklake_spark.errors import ConfigError

PROFILES = """
shop:
  target: "{{ env_var('SHOP_TARGET', 'dev') }}"
  outputs:
    dev:
      type: ducklake
    full:
      type: ducklake
      catalog: "postgres:dbname=lake password={{ env_var('SHOP_PASSWORD') }}"
      data_path: files/
      metadata_schema: meta
      database: mine
      schema: marts
      threads: 4
      spark_master: local[2]
      spark_config: {spark.sql.shuffle.partitions: 3, spark.ui.enabled: true}
      author: me
      attach:
        - {database: other, catalog: "sqlite:other.sqlite", read_only: true, allow_paths: [/x]}
      allow_paths: [/srv/shared/, "s3://events/"]
    typo:
      type: ducklake
      catalogue: sqlite:elsewhere.sqlite
    odd:
      type: duckdb
other:
  outputs:
    default: {type: ducklake, catalog: "{{ nope }}"}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "profiles.yml").write_text(PROFILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def test_nothing_but_the_type() -> None:
    found = read_profile("shop", None, None)
    assert found.catalog == "sqlite:lake/catalog.sqlite"
    assert (found.name, found.schema, found.data_path) == ("lake", "main", None)
    assert found.spark.master == "local[*]"


def test_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TARGET", "full")
    monkeypatch.setenv("SHOP_PASSWORD", "hush")
    found = read_profile("shop", None, None)
    assert found.catalog == "postgres:dbname=lake password=hush"
    assert (found.data_path, found.metadata_schema, found.name, found.schema, found.author) == (
        "files/", "meta", "mine", "marts", "me",
    )  # fmt: skip
    assert found.spark.master == "local[2]"
    assert found.spark.config == {
        "spark.sql.shuffle.partitions": "3",
        "spark.ui.enabled": "true",
    }
    (other,) = found.attached
    assert (other.name, other.catalog, other.read_only) == ("other", "sqlite:other.sqlite", True)
    assert (found.allow_paths, other.allow_paths) == (("/srv/shared/", "s3://events/"), ("/x",))
    there = found.led_by("other")
    assert (there.allow_paths, there.attached[0].allow_paths) == (("/x",), found.allow_paths)
    assert "hush" not in repr(found)


def test_the_projects_own_profile(folder: Path) -> None:
    (folder / "dbt_project.yml").write_text("name: x\nprofile: shop\n")
    assert read_profile(None, "dev", None).name == "lake"


def test_where_it_is_looked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "p: {outputs: {default: {type: ducklake, database: %s}}}"
    for place in ("given", "variable", "home/.dbt", "empty"):
        (folder / place).mkdir(parents=True)
        if place != "empty":
            (folder / place / "profiles.yml").write_text(text % place.partition("/")[0])
    monkeypatch.chdir(folder / "empty")
    assert read_profile(None, None, None).name == "home"
    monkeypatch.setenv("DBT_PROFILES_DIR", str(folder / "variable"))
    assert read_profile(None, None, None).name == "variable"
    assert read_profile(None, None, folder / "given").name == "given"


@pytest.mark.parametrize(
    ("profile", "target", "message"),
    [
        (None, None, "several profiles.*shop, other"),
        ("nope", None, "no profile 'nope'.*shop, other"),
        ("shop", "nope", "no output 'nope'.*dev, full, typo, odd"),
        ("shop", "typo", "catalogue is no setting of shop.typo .*; is catalog meant"),
        ("shop", "odd", "of type 'duckdb' and not ducklake"),
        ("shop", "full", "environment variable SHOP_PASSWORD"),
        ("other", None, "cannot be filled in: 'nope' is undefined"),
    ],
)
def test_what_is_wrong_is_told(profile: str | None, target: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_profile(profile, target, None)


@pytest.mark.parametrize(
    "value", ["pass=se: cret", "*secret", "!secret x", "!secret!x y", '"secret', "[a, secret"]
)
def test_what_is_no_yaml_is_told_without_its_text(folder: Path, value: str) -> None:
    """The line may hold a password."""
    (folder / "profiles.yml").write_text(f"shop:\n  outputs:\n    dev:\n      catalog: {value}\n")
    with pytest.raises(
        ConfigError, match=r"profiles\.yml cannot be read: .*, in line \d"
    ) as caught:
        read_profile(None, None, None)
    assert "cret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("text", ["", "config: {send_anonymous_usage_stats: false}"])
def test_a_file_without_profiles_is_told(folder: Path, text: str) -> None:
    (folder / "profiles.yml").write_text(text)
    with pytest.raises(ConfigError, match=r"has no profiles.*--catalog"):
        read_profile(None, None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tables", "--profile", "nope"], "no profile 'nope'"),
        (["tables", "--profiles-dir", "empty"], "no profiles.yml"),
        (["sql", "SELECT 1", "--catalog", "x", "--profile", "shop"], "both name a lake"),
        (["tables", "--data-path", "x", "--profile", "shop"], "allow-path need --catalog"),
        (["snapshots", "--catalog", "mysql:x"], "MySQL"),
    ],
)
def test_an_error_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("ducklake: [DL")
    assert message in captured.err


@pytest.mark.parametrize("arguments", [[], ["nope"], ["sql"], ["tables", "--output", "xml"]])
def test_what_is_no_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: ducklake" in capsys.readouterr().err
