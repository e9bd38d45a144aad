"""What a profile may say, and what of it is shown."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt_common.exceptions import DbtRuntimeError

from ducklake_spark.cli.profiles import SETTINGS

_SECRET = "postgres:dbname=lake password=hunter2"


def read(profile: dict[str, Any]) -> DuckLakeCredentials:
    """The credentials as dbt makes them."""
    DuckLakeCredentials.validate(profile)
    return DuckLakeCredentials.from_dict(profile)


@pytest.mark.parametrize(
    ("profile", "says"),
    [
        ({"catalog": 5}, "catalog must be a text, not int"),
        ({"catalog": {"password": "hunter2"}}, "catalog must be a text, not dict"),
        ({"schema": None}, "schema must be a text, not NoneType"),
        ({"data_path": 5}, "data_path must be a text, not int"),
        ({"spark_config": ["x"]}, "spark_config must be a mapping of Spark's settings, not list"),
        ({"attach": {"database": "x"}}, "attach must be a list of mappings, .* not dict"),
        ({"allow_paths": "/srv"}, "allow_paths must be a list of paths, not str"),
        (
            {"attach": [{"database": "x", "catalog": "y", "allow_paths": "/srv"}]},
            "allow_paths of an entry of attach must be a list of paths",
        ),
        ({"attach": ["sqlite:x"]}, "attach must be a list of mappings, .* not str"),
        ({"data_pth": "x"}, "data_pth is no setting of a ducklake profile; is data_path meant?"),
        ({"thread": 4}, "thread is no setting of a ducklake profile; is threads meant?"),
        ({"host": "x"}, "host is no setting of a ducklake profile. There are: database, schema"),
        ({"catalog": ""}, "The catalog of lake: .* is empty"),
        ({"catalog": "mysql:x"}, "The catalog of lake: .* MySQL cannot hold the catalog"),
        ({"attach": [{"database": "x"}]}, "needs a database and a catalog"),
        (
            {"attach": [{"database": "x", "catalog": "y", "data_pth": "z"}]},
            "data_pth is no setting of an entry of attach; is data_path meant?",
        ),
        (
            {"attach": [{"database": "x", "catalog": {"password": "hunter2"}}]},
            "catalog of an entry of attach must be a text, not dict",
        ),
        (
            {"attach": [{"database": "x", "catalog": "y", "read_only": "yes please"}]},
            "read_only of an entry of attach must be true or false",
        ),
        ({"attach": [{"database": "x", "catalog": ""}]}, "The catalog of x: .* is empty"),
        ({"attach": [{"database": "LAKE", "catalog": "y"}]}, "a database of its own"),
    ],
)
def test_what_is_wrong_is_named(profile: dict[str, Any], says: str) -> None:
    with pytest.raises(DbtRuntimeError, match=says) as raised:
        read(profile)
    assert "hunter2" not in str(raised.value)


def test_what_is_shown_holds_no_password() -> None:
    other = {"database": "other", "catalog": _SECRET}
    remote = "sc://spark:15002/;token=hunter2"
    profile = {"catalog": _SECRET, "attach": [other], "spark_remote": remote}
    shown = dict(read(profile).connection_info())
    assert shown["catalog"] == "postgres"
    assert shown["spark_remote"] == "sc://spark:15002"
    assert shown["attach"] == ["other"]
    assert "hunter2" not in str(shown)
    assert "hunter2" not in repr(read(profile).spark_settings)
    assert dict(read({}).connection_info())["catalog"] == "sqlite:lake/catalog.sqlite"


def test_the_catalog_of_target_is_the_database() -> None:
    target = dict(read({"database": "l", "catalog": _SECRET}).connection_info(with_aliases=True))
    assert (target["database"], target["catalog"]) == ("l", "l")
    assert "hunter2" not in str(target)


def test_a_template_says_read_only_as_text() -> None:
    other = {"database": "other", "catalog": "sqlite:x"}
    for text, meant in ((True, True), ("true", True), ("False", False), (False, False)):
        (found,) = read({"attach": [other | {"read_only": text}]}).attached
        assert found.read_only is meant


def test_a_user_without_a_name_is_no_author(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number of its own."""

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert read({}).commit_author is None
    assert read({"author": "nightly"}).commit_author == "nightly"


def test_the_command_line_knows_the_same_settings() -> None:
    of_dbt = {setting.name for setting in fields(DuckLakeCredentials)}
    assert set(SETTINGS) == of_dbt | {"type", "threads"}
