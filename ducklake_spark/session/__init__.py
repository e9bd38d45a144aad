"""How we get a Spark: in this process, on a cluster, or behind Spark Connect."""

from ducklake_spark.config import SparkSettings
from ducklake_spark.session.address import check_answers
from ducklake_spark.session.archive import JAVA_OPTIONS, archive_path, archiving, still_fits
from ducklake_spark.session.connect import gone, is_gone
from ducklake_spark.session.jvm import is_jvm_gone, jvm_gone
from ducklake_spark.session.memory import DRIVER_MEMORY
from ducklake_spark.session.session import FIXED_SETTINGS, Session, runs_in_one_process

__all__ = [
    "DRIVER_MEMORY",
    "FIXED_SETTINGS",
    "JAVA_OPTIONS",
    "Session",
    "SparkSettings",
    "archive_path",
    "archiving",
    "check_answers",
    "gone",
    "is_gone",
    "is_jvm_gone",
    "jvm_gone",
    "runs_in_one_process",
    "still_fits",
]
