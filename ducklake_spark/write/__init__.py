"""A DataFrame becomes files of a table."""

from ducklake_spark.write.stage import StagedFiles, append, overwrite, stage

__all__ = ["StagedFiles", "append", "overwrite", "stage"]
