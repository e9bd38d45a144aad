"""A snapshot of a table, and what changed between two, as Spark DataFrames."""

from ducklake_spark.scan.changes import table_changes, table_deletions, table_insertions
from ducklake_spark.scan.defaults import new_default
from ducklake_spark.scan.places import PLACE, split_places
from ducklake_spark.scan.table import (
    FILE,
    ROW_ID,
    SNAPSHOT_ID,
    STORED,
    read_living_rows,
    read_rows,
    read_table,
)
from ducklake_spark.scan.types import shown_type

__all__ = [
    "FILE",
    "PLACE",
    "ROW_ID",
    "SNAPSHOT_ID",
    "STORED",
    "new_default",
    "read_living_rows",
    "read_rows",
    "read_table",
    "shown_type",
    "split_places",
    "table_changes",
    "table_deletions",
    "table_insertions",
]
