"""Which lakes and which Spark, wherever that is said."""

from __future__ import annotations

from dataclasses import dataclass, field

from ducklake_spark.catalog import Catalog
from ducklake_spark.config import Attached, system_user
from ducklake_spark.lake import Lake
from ducklake_spark.session import SparkSettings
from ducklake_spark.spec.names import backticked, fold


@dataclass(frozen=True, slots=True)
class Connection:
    """The settings of a session. The schema is where unqualified names lead, if it exists."""

    catalog: str = field(repr=False)  # may hold a password
    data_path: str | None = None
    metadata_schema: str | None = None
    name: str = "lake"
    schema: str = "main"
    author: str | None = None
    spark: SparkSettings = field(default_factory=SparkSettings)
    attached: tuple[Attached, ...] = ()

    def open_catalog(self) -> Catalog:
        """Open the first lake's catalog alone, to look at: without Spark, and none is created."""
        return Catalog.open(
            self.catalog,
            data_path=self.data_path,
            metadata_schema=self.metadata_schema,
            read_only=True,
        )

    def open(self) -> Lake:
        """Open the lakes, and start Spark."""
        lake = Lake.open(
            self.catalog,
            self.data_path,
            self.spark,
            name=self.name,
            metadata_schema=self.metadata_schema,
            author=self.author or system_user(),
        )
        try:
            self._settle(lake)
        except BaseException:
            lake.close()
            raise
        return lake

    def _settle(self, lake: Lake) -> None:
        for other in self.attached:
            lake.attach(
                other.name,
                other.catalog,
                other.data_path,
                metadata_schema=other.metadata_schema,
                read_only=other.read_only,
            )
        if any(fold(schema.name) == fold(self.schema) for schema in lake.reader().schemas()):
            lake.execute(f"USE {backticked(self.name)}.{backticked(self.schema)}")
