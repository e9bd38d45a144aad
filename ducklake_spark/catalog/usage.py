"""What a lake holds and what room that takes, in few queries over the whole catalog."""

from __future__ import annotations

import datetime
from collections import defaultdict
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, and_, case, func, literal, or_, select, union_all
from sqlalchemy import Table as SqlTable

from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.files import inlined_delete_table
from ducklake_spark.catalog.inlined import rows_table
from ducklake_spark.catalog.versions import current_format
from ducklake_spark.spec import tables
from ducklake_spark.spec.names import QualifiedName

_MB = 1_000_000
# Upper ends of the classes that file sizes are counted in; the last class has none.
SIZE_CLASSES = (100_000, _MB, 10 * _MB, 50 * _MB, 100 * _MB, 500 * _MB, 1000 * _MB)

_t, _s, _f, _d = tables.table.c, tables.schema.c, tables.data_file.c, tables.delete_file.c
_v, _n = tables.file_partition_value.c, tables.snapshot.c


@dataclass(slots=True)
class TableUsage:
    """A table of the newest snapshot. Sizes are of its data files; rows without deleted ones."""

    name: QualifiedName
    files: int = 0
    size_bytes: int = 0
    stored_rows: int = 0
    deleted_rows: int = 0
    delete_files: int = 0
    inlined_rows: int = 0
    by_size: list[int] = field(default_factory=lambda: [0] * (len(SIZE_CLASSES) + 1))
    # Bytes by the values of the partition keys.
    partitions: dict[tuple[str | None, ...], int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return self.stored_rows - self.deleted_rows + self.inlined_rows


@dataclass(frozen=True, slots=True)
class LakeUsage:
    """A lake at its newest snapshot, and what it keeps for others."""

    tables: tuple[TableUsage, ...]
    views: int
    # Data and delete files that only older snapshots need.
    old_files: int
    old_bytes: int
    scheduled_files: int
    # When each snapshot was made, oldest first, and the bytes of data files that it saw.
    growth: tuple[tuple[datetime.datetime, int], ...]


def read_usage(connection: Connection, database: CatalogDatabase) -> LakeUsage:
    """What the lake holds, at one moment of its catalog."""
    found = _live_tables(connection)
    for fill in (_files, _deletes, _size_classes, _partitions):
        fill(connection, found)
    _inlined(connection, database, found)
    old = connection.execute(_OLD).one()
    scheduled = select(func.count()).select_from(tables.files_scheduled_for_deletion)
    views = select(func.count()).where(tables.view.c.end_snapshot.is_(None))
    return LakeUsage(
        tables=tuple(found.values()),
        views=connection.execute(views).scalar_one(),
        old_files=old.files,
        old_bytes=int(old.bytes or 0),
        scheduled_files=connection.execute(scheduled).scalar_one(),
        growth=tuple(_growth(connection)),
    )


def _live_tables(connection: Connection) -> dict[int, TableUsage]:
    query = (
        select(_t.table_id, _s.schema_name, _t.table_name)
        .join_from(
            tables.table,
            tables.schema,
            and_(_s.schema_id == _t.schema_id, _s.end_snapshot.is_(None)),
        )
        .where(_t.end_snapshot.is_(None))
        .order_by(_s.schema_name, _t.table_name)
    )
    if current_format(connection).has_nested_schemas:
        query = query.where(tables.PARENT_SCHEMA_ID.is_(None))
    return {
        row.table_id: TableUsage(QualifiedName(row.schema_name, row.table_name))
        for row in connection.execute(query).all()
    }


_Found = dict[int, TableUsage]

_FILES = (
    select(
        _f.table_id,
        func.count().label("files"),
        func.sum(_f.file_size_bytes).label("bytes"),
        func.sum(_f.record_count).label("rows"),
    )
    .where(_f.end_snapshot.is_(None))
    .group_by(_f.table_id)
)


def _files(connection: Connection, found: _Found) -> None:
    for row in connection.execute(_FILES).all():
        if table := found.get(row.table_id):
            table.files = row.files
            table.size_bytes, table.stored_rows = int(row.bytes or 0), int(row.rows or 0)


_DELETES = (
    select(
        _d.table_id,
        func.count().label("files"),
        func.sum(_d.delete_count).label("rows"),
    )
    .join_from(tables.delete_file, tables.data_file, _f.data_file_id == _d.data_file_id)
    .where(_d.end_snapshot.is_(None), _f.end_snapshot.is_(None))
    .group_by(_d.table_id)
)


def _deletes(connection: Connection, found: _Found) -> None:
    for row in connection.execute(_DELETES).all():
        if table := found.get(row.table_id):
            table.delete_files, table.deleted_rows = row.files, int(row.rows or 0)


_CLASS = case(
    *((_f.file_size_bytes < end, at) for at, end in enumerate(SIZE_CLASSES)),
    else_=len(SIZE_CLASSES),
).label("size_class")
_CLASSED = select(_f.table_id, _CLASS).where(_f.end_snapshot.is_(None)).subquery()
_SIZE_CLASSES = select(
    _CLASSED.c.table_id, _CLASSED.c.size_class, func.count().label("files")
).group_by(_CLASSED.c.table_id, _CLASSED.c.size_class)


def _size_classes(connection: Connection, found: _Found) -> None:
    for row in connection.execute(_SIZE_CLASSES).all():
        if table := found.get(row.table_id):
            table.by_size[row.size_class] = row.files


_PARTITION_VALUES = (
    select(_f.table_id, _f.data_file_id, _f.file_size_bytes, _v.partition_value)
    .join_from(tables.data_file, tables.file_partition_value, _v.data_file_id == _f.data_file_id)
    .where(_f.end_snapshot.is_(None), _f.partition_id.is_not(None))
    .order_by(_f.data_file_id, _v.partition_key_index)
)


def _partitions(connection: Connection, found: _Found) -> None:
    values: defaultdict[tuple[int, int, int], list[str | None]] = defaultdict(list)
    for row in connection.execute(_PARTITION_VALUES).all():
        values[row.table_id, row.data_file_id, row.file_size_bytes].append(row.partition_value)
    for (table_id, _, size), parts in values.items():
        if table := found.get(table_id):
            key = tuple(parts)
            table.partitions[key] = table.partitions.get(key, 0) + size


def _inlined(connection: Connection, database: CatalogDatabase, found: _Found) -> None:
    """Rows and deletes that live in the catalog: a small query for each of their tables."""
    present = database.table_names(connection)

    def count(stored: SqlTable, condition: ColumnElement[bool]) -> int:
        query = select(func.count()).select_from(stored).where(condition)
        counted: int = connection.execute(query).scalar_one()
        return counted

    i = tables.inlined_data_tables.c
    for row in connection.execute(select(i.table_id, i.table_name)).all():
        if row.table_id in found and row.table_name in present:
            rows = rows_table(connection, row.table_name)
            found[row.table_id].inlined_rows += count(rows, rows.c.end_snapshot.is_(None))
    live = select(_f.data_file_id).where(_f.end_snapshot.is_(None))
    for table_id, table in found.items():
        name = inlined_delete_table(table_id)
        if name in present:
            deletes = tables.inlined_table(name, "file_id")
            table.deleted_rows += count(deletes, deletes.c.file_id.in_(live))


_OLD_FILES = union_all(
    select(_f.file_size_bytes.label("size")).where(_f.end_snapshot.is_not(None)),
    select(_d.file_size_bytes)
    .join_from(tables.delete_file, tables.data_file, _f.data_file_id == _d.data_file_id)
    .where(or_(_d.end_snapshot.is_not(None), _f.end_snapshot.is_not(None))),
).subquery()
_OLD = select(func.count().label("files"), func.sum(_OLD_FILES.c.size).label("bytes")).select_from(
    _OLD_FILES
)

_CHANGES = union_all(
    select(_f.begin_snapshot.label("snapshot_id"), _f.file_size_bytes.label("size")),
    select(_f.end_snapshot, literal(0) - _f.file_size_bytes).where(_f.end_snapshot.is_not(None)),
).subquery()
_SIZE_CHANGES = (
    select(_CHANGES.c.snapshot_id, func.sum(_CHANGES.c.size).label("change"))
    .group_by(_CHANGES.c.snapshot_id)
    .order_by(_CHANGES.c.snapshot_id)
)


def _growth(connection: Connection) -> list[tuple[datetime.datetime, int]]:
    changes = [(row.snapshot_id, int(row.change)) for row in connection.execute(_SIZE_CHANGES)]
    snapshots = connection.execute(
        select(_n.snapshot_id, _n.snapshot_time).order_by(_n.snapshot_id)
    ).all()
    growth, size, at = [], 0, 0
    for row in snapshots:
        while at < len(changes) and changes[at][0] <= row.snapshot_id:
            size += changes[at][1]
            at += 1
        growth.append((row.snapshot_time, size))
    return growth
