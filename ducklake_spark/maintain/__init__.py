"""Care of a lake: its history, its files, its layout.

Every operation is a function `operation(catalog, [session,] *, named arguments)` whose arguments
are named and ordered as DuckDB's are, and which returns the rows that tell what it did. Those that
change something make a plan first: with `dry_run` the rows are the plan's, and nothing is done.
"""

from ducklake_spark.maintain.adoption import AddedFile, add_data_files
from ducklake_spark.maintain.checkpoint import CheckpointStep, checkpoint
from ducklake_spark.maintain.cleanup import (
    CleanedFile,
    cleanup_old_files,
)
from ducklake_spark.maintain.compacting import CompactedFile
from ducklake_spark.maintain.expire import expire_snapshots
from ducklake_spark.maintain.flush import FlushedTable, flush_inlined_data
from ducklake_spark.maintain.information import (
    FileRow,
    SnapshotRow,
    TableInfo,
    list_files,
    snapshots,
    table_info,
)
from ducklake_spark.maintain.merge import merge_adjacent_files
from ducklake_spark.maintain.orphans import OrphanedFile, delete_orphaned_files
from ducklake_spark.maintain.rewrite import rewrite_data_files
from ducklake_spark.maintain.rollback import RolledBack, rollback
from ducklake_spark.maintain.settings import (
    IndexRow,
    OptionRow,
    create_indexes,
    options,
    set_option,
)
from ducklake_spark.maintain.verify import verify

__all__ = [
    "AddedFile",
    "CheckpointStep",
    "CleanedFile",
    "CompactedFile",
    "FileRow",
    "FlushedTable",
    "IndexRow",
    "OptionRow",
    "OrphanedFile",
    "RolledBack",
    "SnapshotRow",
    "TableInfo",
    "add_data_files",
    "checkpoint",
    "cleanup_old_files",
    "create_indexes",
    "delete_orphaned_files",
    "expire_snapshots",
    "flush_inlined_data",
    "list_files",
    "merge_adjacent_files",
    "options",
    "rewrite_data_files",
    "rollback",
    "set_option",
    "snapshots",
    "table_info",
    "verify",
]
