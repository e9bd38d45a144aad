"""DataFrames become files of a table, and rows of it go."""

from ducklake_spark.write.delete import delete
from ducklake_spark.write.stage import StagedFiles, append, overwrite, stage

__all__ = ["StagedFiles", "append", "delete", "overwrite", "stage"]
