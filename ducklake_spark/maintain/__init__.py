"""Care of a lake: its history, its files, its layout."""

from ducklake_spark.maintain.verify import verify

__all__ = ["verify"]
