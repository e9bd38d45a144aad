"""What a profile of type ducklake says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt_common.dataclass_schema import ValidationError
from dbt_common.exceptions import DbtRuntimeError

from ducklake_spark.config import (
    Attached,
    SparkSettings,
    parse_attached,
    parse_catalog,
    refuse_unknown,
    system_user,
    without_token,
)
from ducklake_spark.errors import ConfigError
from ducklake_spark.spec.names import fold

_SHAPES = {
    "spark_config": "a mapping of Spark's settings",
    "attach": "a list of mappings, one for each lake",
    "allow_paths": "a list of paths",
}


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
    allow_paths: list[str] = field(default_factory=list)

    @classmethod
    def validate(cls, data: Any) -> None:
        """Refuse what is of another type, and what is no setting: else a typo is a default."""
        try:
            super().validate(data)
        except ValidationError as error:
            name = next((str(part) for part in error.path), "profile")
            wanted = _SHAPES.get(name, "a text")
            # Its kind alone: the value may hold a password.
            kind = type(error.instance).__name__
            raise DbtRuntimeError(f"{name} must be {wanted}, not {kind}.") from error
        try:
            names = [setting.name for setting in fields(cls)]
            refuse_unknown(data, [*names, "threads"], "a ducklake profile")  # dbt's own
        except ConfigError as error:
            raise DbtRuntimeError(str(error)) from error

    def __post_init__(self) -> None:
        names = [self.database, *(other.name for other in self.attached)]
        if len({fold(name) for name in names}) < len(names):
            raise DbtRuntimeError(
                f"Each lake of the profile needs a database of its own; they are named {names}."
            )
        catalogs = [self.catalog, *(other.catalog for other in self.attached)]
        for name, catalog in zip(names, catalogs, strict=True):
            try:
                parse_catalog(catalog)
            except ConfigError as error:
                raise DbtRuntimeError(f"The catalog of {name}: {error}") from error

    @property
    def type(self) -> str:
        return "ducklake"

    @property
    def unique_field(self) -> str:
        return self.database

    @property
    def commit_author(self) -> str | None:
        """Who the snapshots say made them."""
        return self.author or system_user()

    @property
    def attached(self) -> list[Attached]:
        """The lakes beside the profile's own."""
        try:
            return [parse_attached(other) for other in self.attach]
        except ConfigError as error:
            raise DbtRuntimeError(str(error)) from error

    @property
    def spark_settings(self) -> SparkSettings:
        config = {key: _text(value) for key, value in self.spark_config.items()}
        return SparkSettings(self.spark_master, self.spark_remote, config)

    def _connection_keys(self) -> tuple[str, ...]:
        return ("database", "schema", "catalog", "data_path", "metadata_schema",
                "spark_master", "spark_remote", "attach", "author", "allow_paths")  # fmt: skip

    def connection_info(self, *, with_aliases: bool = False) -> Iterator[tuple[str, Any]]:
        """Return what `dbt debug` prints, and with aliases what `target` gives to models.

        Nothing in it holds a password. Macros written for Spark take `target.catalog` for the
        database.
        """
        shown = {
            "catalog": self.database if with_aliases else _without_secrets(self.catalog),
            "spark_remote": self.spark_remote and without_token(self.spark_remote),
            "attach": [other.name for other in self.attached],
        }
        for key, value in super().connection_info(with_aliases=with_aliases):
            yield key, shown.get(key, value)


def _without_secrets(catalog: str) -> str:
    """The file of a catalog; of a server's address nothing but its kind."""
    kind = parse_catalog(catalog).kind
    return kind if kind == "postgres" else catalog


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
