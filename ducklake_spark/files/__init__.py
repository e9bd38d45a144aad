"""What a transaction does to whole data files, with PyArrow and no Spark."""

from ducklake_spark.files.ending import end_files, truncate

__all__ = ["end_files", "truncate"]
