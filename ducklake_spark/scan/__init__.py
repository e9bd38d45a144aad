"""A snapshot of a table as a Spark DataFrame."""

from ducklake_spark.scan.places import split_places
from ducklake_spark.scan.table import FILE, PLACE, ROW_ID, SNAPSHOT_ID, read_rows, read_table

__all__ = ["FILE", "PLACE", "ROW_ID", "SNAPSHOT_ID", "read_rows", "read_table", "split_places"]
