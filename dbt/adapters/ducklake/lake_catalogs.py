"""catalogs.yml: its entries name the lakes of the profile, and models choose among them."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.catalogs import (
    CatalogIntegration,
    CatalogIntegrationConfig,
    InvalidCatalogIntegrationConfigError,
)
from dbt.adapters.contracts.relation import RelationConfig

_DATABASE = "catalog_database"


@dataclass(slots=True)
class LakeRelation:
    """Where dbt builds a model: the names are those that it looks for."""

    catalog_name: str | None
    catalog_database: str
    table_format: str | None = None
    external_volume: str | None = None
    file_format: str | None = None


class LakeCatalog(CatalogIntegration):
    """A lake of the profile: `catalog_database` says which, or the entry's own name."""

    catalog_type = "ducklake"
    table_format = "default"
    allows_writes = True

    def __init__(self, config: CatalogIntegrationConfig) -> None:
        super().__init__(config)
        properties = dict(config.adapter_properties or {})
        # Only newer versions of dbt have it beside the properties, too.
        named = properties.pop(_DATABASE, None) or getattr(config, _DATABASE, None)
        self.catalog_database: str = str(named or config.catalog_name or config.name)
        wrong = [f"there is no {key}, only {_DATABASE}" for key in properties]
        if self.table_format != "default":
            wrong.append(f"the tables of a lake are DuckLake's, so table_format is no choice "
                         f"({self.table_format!r})")  # fmt: skip
        if (self.file_format or "parquet").lower() != "parquet":
            wrong.append(f"the files of a lake are Parquet, not {self.file_format!r}")
        if self.external_volume is not None:
            wrong.append("a lake has its data_path in the profile, not an external_volume")
        if wrong:
            raise InvalidCatalogIntegrationConfigError(config.name, f"{'; '.join(wrong)}.")

    def build_relation(self, config: RelationConfig) -> LakeRelation:
        return LakeRelation(self.catalog_name, self.catalog_database)
