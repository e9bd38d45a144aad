"""What differs between the database systems that can hold a catalog."""

from ducklake_spark.catalog.dialects.protocol import CatalogDatabase, Failure, Outcome, TimeShape
from ducklake_spark.config import CatalogAddress, DuckDBAddress, PostgresAddress, SqliteAddress

__all__ = ["CatalogDatabase", "Failure", "Outcome", "TimeShape", "database_for"]


def database_for(address: CatalogAddress, metadata_schema: str | None) -> CatalogDatabase:
    """The database system behind an address. Drivers are imported only when needed."""
    match address:
        case SqliteAddress():
            from ducklake_spark.catalog.dialects.sqlite import SqliteDatabase

            return SqliteDatabase(address.path)
        case PostgresAddress():
            from ducklake_spark.catalog.dialects.postgres import PostgresDatabase

            return PostgresDatabase(address.conninfo, metadata_schema)
        case DuckDBAddress():
            from ducklake_spark.catalog.dialects.duckdb import DuckDBDatabase

            return DuckDBDatabase(address.path)
