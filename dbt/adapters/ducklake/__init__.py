"""The dbt adapter for DuckLake lakes on Spark."""
