"""Indexes that the standard leaves out and every client tolerates: narrow reads need them.

No index may limit what others can write: PostgreSQL refuses rows with more than 2.7 kB in a
B-tree, so there names are hashed, and bounds are in an index only if they are short.
"""

from __future__ import annotations

from sqlalchemy import Connection, Index, MetaData, Table, func
from sqlalchemy.schema import CreateIndex

from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.spec import tables

_INDEXED: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (tables.table, ("table_id",)),
    (tables.view, ("view_id",)),
    (tables.column, ("table_id",)),
    (tables.tag, ("object_id",)),
    (tables.column_tag, ("table_id",)),
    (tables.metadata_table, ("scope", "scope_id")),
    (tables.data_file, ("table_id", "data_file_id")),
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


# Every replaced or renamed table leaves a row, so there may be many more rows than tables.
_BY_NAME: tuple[tuple[Table, str], ...] = (
    (tables.table, "table_name"),
    (tables.view, "view_name"),
)
# What pruning looks at: a database that finds it in the index need not touch the table.
_FOR_PRUNING = ("min_value", "max_value", "value_count", "null_count", "contains_nan")


def create_indexes(
    connection: Connection, database: CatalogDatabase, *, dry_run: bool = False
) -> list[str]:
    """Create the indexes that are missing; their names."""
    wanted = [_index(table, columns) for table, columns in _INDEXED]
    wanted += [_index_by_name(table, column) for table, column in _BY_NAME]
    wanted.append(_index_for_pruning(database))
    there = database.index_names(connection)
    missing = [index for index in wanted if index.name not in there]
    if not dry_run:
        for index in missing:
            connection.execute(CreateIndex(index, if_not_exists=True))
    return [str(index.name) for index in missing]


def _index(table: Table, columns: tuple[str, ...]) -> Index:
    copy = _copy(table)
    return Index(f"ix_{table.name}_{'_'.join(columns)}", *(copy.c[column] for column in columns))


def _index_by_name(table: Table, column: str) -> Index:
    name = f"ix_{table.name}_lower_{column}"
    return Index(name, func.lower(_copy(table).c[column]), postgresql_using="hash")


def _index_for_pruning(database: CatalogDatabase) -> Index:
    stats = _copy(tables.file_column_stats)
    keys = ["table_id", "column_id", "data_file_id"]
    if database.kind == "sqlite":  # which knows no other columns than keys
        keys += _FOR_PRUNING
    return Index(
        f"ix_{stats.name}_for_pruning",
        *(stats.c[key] for key in keys),
        postgresql_include=_FOR_PRUNING,
        postgresql_where=database.covered(stats),
    )


def _copy(table: Table) -> Table:
    """A copy, for an index on the original would become part of every new catalog."""
    return table.to_metadata(MetaData())
