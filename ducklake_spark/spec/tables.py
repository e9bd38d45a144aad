"""The tables of a DuckLake 1.0 catalog, as SQLAlchemy Core describes them (FORMAT 1.1).

Statements built on these always name their columns, so a column that a newer version added does no
harm. Tables and columns that only version 1.1 has are at the end, and are never created.
"""

from __future__ import annotations

import datetime
import uuid
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    MetaData,
    String,
    Table,
    Uuid,
)
from sqlalchemy import column as column_clause
from sqlalchemy.sql.expression import ColumnClause
from sqlalchemy.types import TypeDecorator, TypeEngine

from ducklake_spark.spec.formats import INLINED_COLUMNS

metadata = MetaData()


class CatalogTime(TypeDecorator[datetime.datetime]):
    """A point in time; text such as ``2026-11-18 08:24:01.5477+00`` where the database has none."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String())
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime.datetime | None, dialect: Dialect) -> Any:
        if value is None or dialect.name != "sqlite":
            return value
        return format_catalog_time(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime.datetime | None:
        if isinstance(value, str):
            value = parse_catalog_time(value)
        return value.astimezone(datetime.UTC) if value is not None else None


def format_catalog_time(value: datetime.datetime) -> str:
    utc = value.astimezone(datetime.UTC)
    fraction = f".{utc.microsecond:06d}".rstrip("0") if utc.microsecond else ""
    return f"{utc:%Y-%m-%d %H:%M:%S}{fraction}+00"


def parse_catalog_time(text: str) -> datetime.datetime:
    """Every form that DuckDB accepts in a SQLite catalog; no zone means UTC."""
    value = datetime.datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)


class CatalogUuid(TypeDecorator[uuid.UUID]):
    """A uuid; lower-case hyphenated text in SQLite."""

    impl = Uuid
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String())
        return dialect.type_descriptor(Uuid())

    def process_bind_param(self, value: uuid.UUID | None, dialect: Dialect) -> Any:
        return str(value) if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> uuid.UUID | None:
        return value if value is None or isinstance(value, uuid.UUID) else uuid.UUID(str(value))


class CatalogBoolean(TypeDecorator[bool]):
    """A boolean; the integers 0 and 1 in SQLite, whose column DuckDB declares as BIGINT."""

    impl = Boolean
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(BigInteger() if dialect.name == "sqlite" else Boolean())

    def process_bind_param(self, value: bool | None, dialect: Dialect) -> Any:
        return int(value) if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> bool | None:
        return None if value is None else bool(value)


def _int(name: str, **options: Any) -> Column[int]:
    return Column(name, BigInteger, **({"autoincrement": False} | options))


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, String, **options)


def _flag(name: str) -> Column[bool]:
    return Column(name, CatalogBoolean)


def _time(name: str) -> Column[datetime.datetime]:
    return Column(name, CatalogTime)


def _uuid(name: str) -> Column[uuid.UUID]:
    return Column(name, CatalogUuid)


def _table(name: str, *columns: Column[Any]) -> Table:
    return Table(f"ducklake_{name}", metadata, *columns)


@lru_cache(maxsize=1000)
def inlined_table(name: str, *columns: str) -> Table:
    """A table of inlined rows or deletes, with those of its BIGINT columns that are asked for.

    A `sqlalchemy.table` would not follow the catalog to its schema. Kept, for SQLAlchemy compiles
    a statement once for each table object.
    """
    return Table(name, MetaData(), *(_int(column) for column in columns))


@lru_cache(maxsize=1000)
def inlined_rows(name: str, leading: tuple[str, ...]) -> Table:
    """A table of inlined rows with its leading columns, whose keys are the names of version 1.0."""
    named = zip(INLINED_COLUMNS, leading, strict=True)
    return Table(name, MetaData(), *(_int(stored, key=key) for key, stored in named))


metadata_table = _table(
    "metadata",
    _text("key", nullable=False),
    _text("value", nullable=False),
    _text("scope"),
    _int("scope_id"),
)
snapshot = _table(
    "snapshot",
    _int("snapshot_id", primary_key=True),
    _time("snapshot_time"),
    _int("schema_version"),
    _int("next_catalog_id"),
    _int("next_file_id"),
)
snapshot_changes = _table(
    "snapshot_changes",
    _int("snapshot_id", primary_key=True),
    _text("changes_made"),
    _text("author"),
    _text("commit_message"),
    _text("commit_extra_info"),
)
schema = _table(
    "schema",
    _int("schema_id", primary_key=True),
    _uuid("schema_uuid"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _text("schema_name"),
    _text("path"),
    _flag("path_is_relative"),
)
table = _table(
    "table",
    _int("table_id"),
    _uuid("table_uuid"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _int("schema_id"),
    _text("table_name"),
    _text("path"),
    _flag("path_is_relative"),
)
view = _table(
    "view",
    _int("view_id"),
    _uuid("view_uuid"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _int("schema_id"),
    _text("view_name"),
    _text("dialect"),
    _text("sql"),
    _text("column_aliases"),
)
tag = _table(
    "tag",
    _int("object_id"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _text("key"),
    _text("value"),
)
column_tag = _table(
    "column_tag",
    _int("table_id"),
    _int("column_id"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _text("key"),
    _text("value"),
)
data_file = _table(
    "data_file",
    _int("data_file_id", primary_key=True),
    _int("table_id"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _int("file_order"),
    _text("path"),
    _flag("path_is_relative"),
    _text("file_format"),
    _int("record_count"),
    _int("file_size_bytes"),
    _int("footer_size"),
    _int("row_id_start"),
    _int("partition_id"),
    _text("encryption_key"),
    _int("mapping_id"),
    _int("partial_max"),
)
file_column_stats = _table(
    "file_column_stats",
    _int("data_file_id"),
    _int("table_id"),
    _int("column_id"),
    _int("column_size_bytes"),
    _int("value_count"),
    _int("null_count"),
    _text("min_value"),
    _text("max_value"),
    _flag("contains_nan"),
    _text("extra_stats"),
)
file_variant_stats = _table(
    "file_variant_stats",
    _int("data_file_id"),
    _int("table_id"),
    _int("column_id"),
    _text("variant_path"),
    _text("shredded_type"),
    _int("column_size_bytes"),
    _int("value_count"),
    _int("null_count"),
    _text("min_value"),
    _text("max_value"),
    _flag("contains_nan"),
    _text("extra_stats"),
)
delete_file = _table(
    "delete_file",
    _int("delete_file_id", primary_key=True),
    _int("table_id"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _int("data_file_id"),
    _text("path"),
    _flag("path_is_relative"),
    _text("format"),
    _int("delete_count"),
    _int("file_size_bytes"),
    _int("footer_size"),
    _text("encryption_key"),
    _int("partial_max"),
)
column = _table(
    "column",
    _int("column_id"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _int("table_id"),
    _int("column_order"),
    _text("column_name"),
    _text("column_type"),
    _text("initial_default"),
    _text("default_value"),
    _flag("nulls_allowed"),
    _int("parent_column"),
    _text("default_value_type"),
    _text("default_value_dialect"),
)
table_stats = _table(
    "table_stats",
    _int("table_id"),
    _int("record_count"),
    _int("next_row_id"),
    _int("file_size_bytes"),
)
table_column_stats = _table(
    "table_column_stats",
    _int("table_id"),
    _int("column_id"),
    _flag("contains_null"),
    _flag("contains_nan"),
    _text("min_value"),
    _text("max_value"),
    _text("extra_stats"),
)
partition_info = _table(
    "partition_info",
    _int("partition_id"),
    _int("table_id"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
)
partition_column = _table(
    "partition_column",
    _int("partition_id"),
    _int("table_id"),
    _int("partition_key_index"),
    _int("column_id"),
    _text("transform"),
)
file_partition_value = _table(
    "file_partition_value",
    _int("data_file_id"),
    _int("table_id"),
    _int("partition_key_index"),
    _text("partition_value"),
)
files_scheduled_for_deletion = _table(
    "files_scheduled_for_deletion",
    _int("data_file_id"),
    _text("path"),
    _flag("path_is_relative"),
    _time("schedule_start"),
)
inlined_data_tables = _table(
    "inlined_data_tables",
    _int("table_id"),
    _text("table_name"),
    _int("schema_version"),
)
column_mapping = _table(
    "column_mapping",
    _int("mapping_id"),
    _int("table_id"),
    _text("type"),
)
name_mapping = _table(
    "name_mapping",
    _int("mapping_id"),
    _int("column_id"),
    _text("source_name"),
    _int("target_field_id"),
    _int("parent_column"),
    _flag("is_partition"),
)
schema_versions = _table(
    "schema_versions",
    _int("begin_snapshot"),
    _int("schema_version"),
    _int("table_id"),
)
macro = _table(
    "macro",
    _int("schema_id"),
    _int("macro_id"),
    _text("macro_name"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
)
macro_impl = _table(
    "macro_impl",
    _int("macro_id"),
    _int("impl_id"),
    _text("dialect"),
    _text("sql"),
    _text("type"),
)
macro_parameters = _table(
    "macro_parameters",
    _int("macro_id"),
    _int("impl_id"),
    _int("column_id"),
    _text("parameter_name"),
    _text("parameter_type"),
    _text("default_value"),
    _text("default_value_type"),
)
sort_info = _table(
    "sort_info",
    _int("sort_id"),
    _int("table_id"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
)
sort_expression = _table(
    "sort_expression",
    _int("sort_id"),
    _int("table_id"),
    _int("sort_key_index"),
    _text("expression"),
    _text("dialect"),
    _text("sort_direction"),
    _text("null_order"),
)

# --- what only version 1.1 has: read, and never created ---

view_column_tag = Table(
    "ducklake_view_column_tag",
    MetaData(),
    _int("view_id"),
    _text("column_name"),
    _int("begin_snapshot"),
    _int("end_snapshot"),
    _text("key"),
    _text("value"),
)
# A column of `schema`, for a SELECT from it; NULL for schemas that are not nested in another one.
PARENT_SCHEMA_ID: ColumnClause[int] = column_clause("parent_schema_id", BigInteger)
