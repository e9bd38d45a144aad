"""A snapshot of a table as a Spark DataFrame."""

from ducklake_spark.scan.table import FILE, ROW_ID, SNAPSHOT_ID, read_table

__all__ = ["FILE", "ROW_ID", "SNAPSHOT_ID", "read_table"]
