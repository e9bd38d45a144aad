"""How we get a Spark: in this process, on a cluster, or behind Spark Connect."""

from ducklake_spark.session.archive import JAVA_OPTIONS, archive_path, archiving
from ducklake_spark.session.connect import without_token
from ducklake_spark.session.session import Session, SparkSettings

__all__ = ["JAVA_OPTIONS", "Session", "SparkSettings", "archive_path", "archiving", "without_token"]
