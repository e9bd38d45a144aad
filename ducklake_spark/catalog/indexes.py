"""Indexes that the standard leaves out and every client tolerates: narrow reads need them."""

from __future__ import annotations

from sqlalchemy import Connection, Index, MetaData, Table
from sqlalchemy.schema import CreateIndex

from ducklake_spark.spec import tables

_INDEXED: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (tables.table, ("table_id",)),
    (tables.view, ("view_id",)),
    (tables.column, ("table_id",)),
    (tables.tag, ("object_id",)),
    (tables.column_tag, ("table_id",)),
    (tables.data_file, ("table_id",)),
    (tables.file_column_stats, ("table_id", "column_id")),
    (tables.file_column_stats, ("data_file_id",)),
    (tables.file_variant_stats, ("data_file_id",)),
    (tables.delete_file, ("table_id",)),
    (tables.delete_file, ("data_file_id",)),
    (tables.table_stats, ("table_id",)),
    (tables.table_column_stats, ("table_id",)),
    (tables.partition_info, ("table_id",)),
    (tables.partition_column, ("table_id",)),
    (tables.file_partition_value, ("table_id",)),
    (tables.file_partition_value, ("data_file_id",)),
    (tables.column_mapping, ("table_id",)),
    (tables.name_mapping, ("mapping_id",)),
    (tables.schema_versions, ("table_id",)),
    (tables.sort_info, ("table_id",)),
    (tables.sort_expression, ("sort_id",)),
    (tables.inlined_data_tables, ("table_id",)),
)


def create_indexes(connection: Connection) -> list[str]:
    """Create the indexes that are missing; the names of all of them."""
    names = []
    for table, columns in _INDEXED:
        # A copy, for an index on the original would become part of every new catalog.
        copy = table.to_metadata(MetaData())
        index = Index(f"ix_{table.name}_{'_'.join(columns)}", *(copy.c[name] for name in columns))
        connection.execute(CreateIndex(index, if_not_exists=True))
        names.append(str(index.name))
    return names
