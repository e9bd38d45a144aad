"""Migrates a lake from DuckLake 1.0 to 1.1, as DuckDB 2 does with AUTOMATIC_MIGRATION.

The ducklake extension of DuckDB 2 is not on the package index, so tests make their 1.1 lakes here.
"""

from __future__ import annotations

from support.lakes import LakeAddress

LEADING = ("row_id", "begin_snapshot", "end_snapshot")
_NEW_COLUMNS = (
    ("ducklake_data_file", "row_group_count BIGINT"),
    ("ducklake_delete_file", "row_group_count BIGINT"),
    ("ducklake_file_column_stats", "min_is_exact BOOLEAN"),
    ("ducklake_file_column_stats", "max_is_exact BOOLEAN"),
    ("ducklake_table_column_stats", "min_is_exact BOOLEAN"),
    ("ducklake_table_column_stats", "max_is_exact BOOLEAN"),
    ("ducklake_schema", "parent_schema_id BIGINT"),
)
_VIEW_COLUMN_TAG = (
    "CREATE TABLE ducklake_view_column_tag (view_id BIGINT, column_name VARCHAR, "
    "begin_snapshot BIGINT, end_snapshot BIGINT, key VARCHAR, value VARCHAR)"
)


def migrate(lake: LakeAddress) -> None:
    """Make a lake of version 1.0 one of version 1.1, in one transaction without a snapshot."""
    lake.run(*migration(lake))


def migration(lake: LakeAddress) -> list[str]:
    """Return the statements that migrate a lake."""
    inlined = lake.sql("SELECT table_name FROM ducklake_inlined_data_tables")
    present = set(lake.tables())
    return [
        *(
            f'ALTER TABLE "{name}" RENAME COLUMN {column} TO _ducklake_{column}'
            for (name,) in inlined
            if name in present
            for column in LEADING
        ),
        *(f"ALTER TABLE {table} ADD COLUMN {column}" for table, column in _NEW_COLUMNS),
        _VIEW_COLUMN_TAG,
        "UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version'",
    ]
