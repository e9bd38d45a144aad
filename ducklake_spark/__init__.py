"""DuckLake lakes on Spark: the SQL-first warehouse layer, independent of dbt."""
