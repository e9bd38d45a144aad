"""What a profile of type ducklake says."""

from __future__ import annotations

import getpass
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

from ducklake_spark.config import parse_catalog
from ducklake_spark.errors import ConfigError
from ducklake_spark.session import SparkSettings


@dataclass
class DuckLakeCredentials(Credentials):
    """With nothing but the type: an embedded SQLite catalog and a local Spark in the project."""

    database: str = "lake"
    schema: str = "main"
    catalog: str = "sqlite:lake/catalog.sqlite"
    data_path: str | None = None
    metadata_schema: str | None = None
    spark_master: str = "local[*]"
    spark_remote: str | None = None
    spark_config: dict[str, Any] = field(default_factory=dict)
    attach: list[dict[str, Any]] = field(default_factory=list)
    author: str | None = None

    def __post_init__(self) -> None:
        try:
            for text in (self.catalog, *(other.get("catalog", "") for other in self.attach)):
                parse_catalog(text)
        except ConfigError as error:
            raise DbtRuntimeError(f"The profile's catalog: {error}") from error
        for other in self.attach:
            unknown = set(other) - {
                "database", "catalog", "data_path", "metadata_schema", "read_only"
            }  # fmt: skip
            if unknown or "database" not in other:
                raise DbtRuntimeError(
                    "Each entry of the profile's attach needs a database and a catalog, and may "
                    "have data_path, metadata_schema and read_only"
                    + (f"; it has {', '.join(sorted(unknown))}." if unknown else ".")
                )

    @property
    def type(self) -> str:
        return "ducklake"

    @property
    def unique_field(self) -> str:
        return self.database

    @property
    def commit_author(self) -> str:
        """Who the snapshots say made them."""
        return self.author or getpass.getuser()

    @property
    def spark_settings(self) -> SparkSettings:
        config = {key: _text(value) for key, value in self.spark_config.items()}
        return SparkSettings(self.spark_master, self.spark_remote, config)

    def _connection_keys(self) -> tuple[str, ...]:
        # What `dbt debug` prints; the catalog's address may hold a password, so only its kind.
        return ("database", "schema", "catalog_kind", "data_path", "metadata_schema",
                "spark_master", "spark_remote", "attached", "author")  # fmt: skip

    @property
    def catalog_kind(self) -> str:
        address = parse_catalog(self.catalog)
        return address.kind if address.kind == "postgres" else self.catalog

    @property
    def attached(self) -> list[str]:
        return [other["database"] for other in self.attach]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
