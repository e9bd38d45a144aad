"""The DuckLake catalog as a transactional client. Knows nothing of Spark and touches no files."""

from ducklake_spark.catalog.alter import Field, literal_text, new_columns, parse_sort_key
from ducklake_spark.catalog.catalog import Catalog
from ducklake_spark.catalog.commit import CommitNote, CommitResult
from ducklake_spark.catalog.compaction import (
    Compaction,
    Flush,
    HistoricDeletes,
    Merge,
    MovedRows,
    Rewrite,
)
from ducklake_spark.catalog.file_lists import ScheduledFile
from ducklake_spark.catalog.local_changes import StagedDelete
from ducklake_spark.catalog.mappings import required_mapping
from ducklake_spark.catalog.options import Option, narrowest
from ducklake_spark.catalog.reader import LakeReader, Name, SnapshotReader, find_schema
from ducklake_spark.catalog.transaction import Transaction

__all__ = [
    "Catalog",
    "CommitNote",
    "CommitResult",
    "Compaction",
    "Field",
    "Flush",
    "HistoricDeletes",
    "LakeReader",
    "Merge",
    "MovedRows",
    "Name",
    "Option",
    "Rewrite",
    "ScheduledFile",
    "SnapshotReader",
    "StagedDelete",
    "Transaction",
    "find_schema",
    "literal_text",
    "narrowest",
    "new_columns",
    "parse_sort_key",
    "required_mapping",
]
