"""Care of a lake."""

from ducklake_spark.maintain.compacting import CompactedFile
from ducklake_spark.maintain.flush import FlushedTable, flush_inlined_data
from ducklake_spark.maintain.merge import merge_adjacent_files
from ducklake_spark.maintain.rewrite import rewrite_data_files

__all__ = [
    "CompactedFile",
    "FlushedTable",
    "flush_inlined_data",
    "merge_adjacent_files",
    "rewrite_data_files",
]
