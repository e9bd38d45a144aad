"""DataFrames become files of a table, and rows of it change and go."""

from ducklake_spark.write.change import Changed, merge, update
from ducklake_spark.write.delete import delete
from ducklake_spark.write.kept import Kept, kept
from ducklake_spark.write.key_range import key_range
from ducklake_spark.write.outcomes import Clause
from ducklake_spark.write.partitions import overwrite_partitions
from ducklake_spark.write.stage import StagedFiles, append, discarded_on_error, overwrite, stage
from ducklake_spark.write.workers import mark_from_workers

__all__ = [
    "Changed",
    "Clause",
    "Kept",
    "StagedFiles",
    "append",
    "delete",
    "discarded_on_error",
    "kept",
    "key_range",
    "mark_from_workers",
    "merge",
    "overwrite",
    "overwrite_partitions",
    "stage",
    "update",
]
