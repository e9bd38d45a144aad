"""Entries of catalogs.yml: which lake each is, and what they must not say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.catalogs import (
    CatalogWriteIntegrationConfig,
    InvalidCatalogIntegrationConfigError,
)
from dbt.adapters.ducklake.impl import DuckLakeAdapter
from dbt.adapters.ducklake.lake_catalogs import LakeCatalog


def entry(**given: Any) -> CatalogWriteIntegrationConfig:
    return CatalogWriteIntegrationConfig("archive", "ducklake", **given)


@pytest.mark.parametrize(
    ("given", "lake"),
    [
        ({"adapter_properties": {"catalog_database": "cold"}, "catalog_name": "w"}, "cold"),
        ({"catalog_name": "cold"}, "cold"),
        ({"table_format": "default", "file_format": "PARQUET"}, "archive"),
    ],
)
def test_an_entry_is_a_lake(given: dict[str, Any], lake: str) -> None:
    assert LakeCatalog(entry(**given)).build_relation(SimpleNamespace()).catalog_database == lake


def test_an_entry_of_the_second_version() -> None:
    given = SimpleNamespace(
        name="archive",
        catalog_type="ducklake",
        table_format=SimpleNamespace(value="default"),
        config={"ducklake": {"catalog_database": "cold"}},
    )
    adapter = DuckLakeAdapter.__new__(DuckLakeAdapter)
    catalog = LakeCatalog(adapter.bridge_v2_catalog(given))
    assert (catalog.name, catalog.catalog_database) == ("archive", "cold")


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidCatalogIntegrationConfigError) as refused:
        LakeCatalog(
            entry(
                table_format="iceberg",
                file_format="orc",
                external_volume="v",
                adapter_properties={"databse": "x"},
            )
        )
    for word in ("archive", "databse", "catalog_database", "'iceberg'", "'orc'", "data_path"):
        assert word in str(refused.value)
