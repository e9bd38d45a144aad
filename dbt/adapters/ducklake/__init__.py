"""The dbt adapter for DuckLake lakes on Spark."""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.ducklake.column import DuckLakeColumn
from dbt.adapters.ducklake.connections import DuckLakeConnectionManager
from dbt.adapters.ducklake.credentials import DuckLakeCredentials
from dbt.adapters.ducklake.impl import DuckLakeAdapter
from dbt.adapters.ducklake.relation import DuckLakeRelation
from dbt.include import ducklake

__all__ = [
    "DuckLakeAdapter",
    "DuckLakeColumn",
    "DuckLakeConnectionManager",
    "DuckLakeCredentials",
    "DuckLakeRelation",
    "Plugin",
]

# dbt-spark lends its cross-database macros and the name under which packages dispatch, no more.
Plugin = AdapterPlugin(
    adapter=DuckLakeAdapter,  # type: ignore[arg-type]
    credentials=DuckLakeCredentials,
    include_path=ducklake.PACKAGE_PATH,
    dependencies=["spark"],
)
