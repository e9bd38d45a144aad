"""What all connections of a dbt process share."""

from __future__ import annotations

import pytest
from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt.adapters.ducklake.engine import Engine
from dbt.adapters.exceptions.connection import FailedToConnectError


def test_a_catalog_out_of_reach_is_an_error_that_dbt_prints_without_a_stack() -> None:
    engine = Engine(DuckLakeCredentials(catalog="postgres:host=127.0.0.1 port=1 password=secret"))
    with pytest.raises(FailedToConnectError, match="cannot be reached") as caught:
        _ = engine.catalogs
    assert "secret" not in str(caught.value)
