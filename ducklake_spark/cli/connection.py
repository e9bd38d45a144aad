"""Which lakes and which Spark, wherever that is said."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ducklake_spark.catalog import Catalog
from ducklake_spark.config import Attached, system_user
from ducklake_spark.lake import Lake
from ducklake_spark.session import SparkSettings
from ducklake_spark.spec.names import fold


@dataclass(frozen=True, slots=True)
class Connection:
    """The settings of a session. The schema is where unqualified names lead."""

    catalog: str = field(repr=False)  # may hold a password
    data_path: str | None = None
    metadata_schema: str | None = None
    name: str = "lake"
    schema: str = "main"
    author: str | None = None
    spark: SparkSettings = field(default_factory=SparkSettings)
    attached: tuple[Attached, ...] = ()
    read_only: bool = False
    allow_paths: tuple[str, ...] = ()

    def led_by(self, name: str) -> Connection:
        """With the lake of that name first: one of those attached, or the first one renamed."""
        wanted = next((other for other in self.attached if fold(other.name) == fold(name)), None)
        if wanted is None:
            return replace(self, name=name)
        first = Attached(
            self.name,
            self.catalog,
            self.data_path,
            self.metadata_schema,
            self.read_only,
            self.allow_paths,
        )
        return replace(
            self,
            name=wanted.name,
            schema="main",  # the profile's is one of the profile's own lake
            catalog=wanted.catalog,
            data_path=wanted.data_path,
            metadata_schema=wanted.metadata_schema,
            read_only=wanted.read_only,
            allow_paths=wanted.allow_paths,
            attached=(first, *(other for other in self.attached if other is not wanted)),
        )

    def open_catalog(self) -> Catalog:
        """Open the first lake's catalog alone, to look at: without Spark, and none is created."""
        return Catalog.open(
            self.catalog,
            data_path=self.data_path,
            metadata_schema=self.metadata_schema,
            allow_paths=self.allow_paths,
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
            allow_paths=self.allow_paths,
            read_only=self.read_only,
            author=self.author or system_user(),
            schema=self.schema,
        )
        try:
            self._attach_others(lake)
        except BaseException:
            lake.close()
            raise
        return lake

    def _attach_others(self, lake: Lake) -> None:
        for other in self.attached:
            lake.attach(
                other.name,
                other.catalog,
                other.data_path,
                metadata_schema=other.metadata_schema,
                allow_paths=other.allow_paths,
                read_only=other.read_only,
                author=self.author or system_user(),
            )
