"""How we get a Spark: in this process, on a cluster, or behind Spark Connect."""

from ducklake_spark.session.session import Session, SparkSettings

__all__ = ["Session", "SparkSettings"]
