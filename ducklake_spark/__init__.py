"""DuckLake lakes on Spark: the SQL-first warehouse layer, independent of dbt."""

from ducklake_spark.lake import Lake

__all__ = ["Lake"]
