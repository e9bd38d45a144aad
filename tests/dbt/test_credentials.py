"""What a profile may say, and what of it is shown."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt_common.exceptions import DbtRuntimeError

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
        ({"attach": {"database": "x"}}, "attach must be a list of lakes, not dict"),
        ({"data_pth": "x"}, "data_pth is no setting of a ducklake profile; is data_path meant?"),
        ({"host": "x"}, "host is no setting of a ducklake profile. There are: database, schema"),
        ({"catalog": ""}, "The catalog of lake: .* is empty"),
        ({"catalog": "mysql:x"}, "The catalog of lake: .* MySQL cannot hold the catalog"),
        ({"attach": [{"database": "x"}]}, "needs a database and a catalog"),
        ({"attach": [{"database": "x", "catalog": "y", "path": "z"}]}, "it has path"),
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
    shown = dict(read({"catalog": _SECRET, "attach": [other]}).connection_info())
    assert shown["catalog"] == "postgres"
    assert shown["attach"] == ["other"]
    assert "hunter2" not in str(shown)
    assert dict(read({}).connection_info())["catalog"] == "sqlite:lake/catalog.sqlite"
