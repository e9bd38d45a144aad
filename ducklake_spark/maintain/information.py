"""What a lake consists of: its history, its tables, their files."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from ducklake_spark.catalog import Catalog, LakeReader
from ducklake_spark.maintain.targets import named, tables_of
from ducklake_spark.spec.changes import listed_changes
from ducklake_spark.spec.model import Commit, DataFile


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A snapshot with what was said and done to make it, as DuckDB lists them."""

    snapshot_id: int
    snapshot_time: datetime.datetime
    schema_version: int
    changes: dict[str, list[str]]
    author: str | None
    commit_message: str | None
    commit_extra_info: str | None

    @classmethod
    def of(cls, commit: Commit) -> SnapshotRow:
        return cls(
            commit.snapshot.id,
            commit.snapshot.time,
            commit.snapshot.schema_version,
            listed_changes(commit.changes),
            commit.author,
            commit.message,
            commit.extra_info,
        )


def snapshots(catalog: Catalog) -> list[SnapshotRow]:
    """The history of the lake, oldest first."""
    return [SnapshotRow.of(commit) for commit in catalog.commits()]


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table and the room it takes."""

    schema_name: str
    table_name: str
    schema_id: int
    table_id: int
    table_uuid: str
    file_count: int
    file_size_bytes: int
    delete_file_count: int
    delete_file_size_bytes: int


def table_info(
    reader: LakeReader, *, table_name: str | None = None, schema: str | None = None
) -> list[TableInfo]:
    """The tables of the lake, of a schema, or one of them."""
    found = []
    for table in tables_of(reader, table_name, schema):
        files = reader.recorded_files(table)
        deletes = [file.delete_file for file in files if file.delete_file]
        found.append(
            TableInfo(
                table.name.schema,
                table.name.name,
                table.schema_id,
                table.id,
                str(table.uuid),
                len(files),
                sum(file.file_size_bytes for file in files),
                len(deletes),
                sum(delete.file_size_bytes for delete in deletes),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class FileRow:
    """A data file with what was deleted from it."""

    data_file: str
    data_file_size_bytes: int
    data_file_footer_size: int | None
    row_count: int
    delete_file: str | None
    delete_file_size_bytes: int | None
    delete_file_footer_size: int | None
    deleted_rows: int
    begin_snapshot: int
    partition_values: tuple[str | None, ...]

    @classmethod
    def of(cls, file: DataFile) -> FileRow:
        delete = file.delete_file
        return cls(
            file.path,
            file.file_size_bytes,
            file.footer_size,
            file.record_count,
            delete.path if delete else None,
            delete.file_size_bytes if delete else None,
            delete.footer_size if delete else None,
            file.deleted_rows,
            file.begin_snapshot,
            file.partition_values,
        )


def list_files(reader: LakeReader, *, table_name: str, schema: str | None = None) -> list[FileRow]:
    """The data files of a table."""
    table = reader.table(named(table_name, schema))
    return [FileRow.of(file) for file in reader.recorded_files(table)]
