"""What a transaction does to whole data files, with PyArrow and no Spark."""

from ducklake_spark.files.adopt import add_data_files
from ducklake_spark.files.ending import end_files, truncate

__all__ = ["add_data_files", "end_files", "truncate"]
