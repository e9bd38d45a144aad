"""What `dbt docs` and source freshness want to know of relations, read from the catalog."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.ducklake.column import DuckLakeColumn
from dbt.adapters.events.types import AdapterEventWarning
from dbt_common.contracts.metadata import (
    CatalogTable,
    ColumnMetadata,
    StatsItem,
    TableMetadata,
)
from dbt_common.events.functions import fire_event
from dbt_common.exceptions import DbtDatabaseError

from ducklake_spark.catalog import LakeReader, find_schema
from ducklake_spark.scan import shown_type
from ducklake_spark.spec.changes import ChangeKind
from ducklake_spark.spec.model import Table
from ducklake_spark.spec.names import QualifiedName

if TYPE_CHECKING:
    from dbt.adapters.ducklake.impl import DuckLakeAdapter

_BASE = (
    "table_database", "table_schema", "table_name", "table_type", "table_comment", "table_owner",
    "column_name", "column_index", "column_type", "column_comment",
)  # fmt: skip
_OF_ROWS = (
    ChangeKind.INSERTED_INTO_TABLE, ChangeKind.INLINED_INSERT,
    ChangeKind.DELETED_FROM_TABLE, ChangeKind.INLINED_DELETE,
)  # fmt: skip
_STATS = {
    "row_count": ("Rows", "Rows in the table"),
    "bytes": ("Bytes", "Size of the data files"),
    "files": ("Files", "Data files"),
    "delete_files": ("Delete files", "Data files with rows deleted from them"),
    "snapshots": ("Snapshots", "Snapshots that changed the table"),
    "last_modified": ("Last change", "Time of the last snapshot that changed the table"),
}


def catalog_rows(
    adapter: DuckLakeAdapter, relations: Iterable[BaseRelation]
) -> tuple[list[str], list[list[Any]]]:
    """The columns of dbt's catalog table and a row per column of each relation."""
    names = list(_BASE)
    for key in _STATS:
        names += [f"stats:{key}:{part}" for part in ("label", "value", "description", "include")]
    rows = []
    histories = _Histories(adapter)
    for relation in relations:
        table = _described(adapter, relation, histories)
        if table is None:
            continue
        stats: list[Any] = []
        for key in _STATS:
            item = table.stats.get(key)
            found = [item.label, item.value, item.description, True] if item else [None] * 4
            stats += found if item else [None, None, None, False]
        facts = table.metadata
        for column in table.columns.values():
            rows.append(
                [
                    facts.database,
                    facts.schema,
                    facts.name,
                    facts.type,
                    facts.comment,
                    None,
                    column.name,
                    column.index,
                    column.type,
                    column.comment,
                    *stats,
                ]
            )
    return names, rows


def catalog_table(adapter: DuckLakeAdapter, relation: BaseRelation) -> CatalogTable | None:
    """What is known of one relation; None if there is none."""
    return _described(adapter, relation, _Histories(adapter))


def _described(
    adapter: DuckLakeAdapter, relation: BaseRelation, histories: _Histories
) -> CatalogTable | None:
    database = adapter.known(relation.database)
    reader = adapter.handle.reader(database)
    name = QualifiedName(relation.schema or "", relation.identifier or "")
    if find_schema(reader, name.schema) is None:
        return None
    if (table := reader.find_table(name)) is not None:
        columns = [(c.name, shown_type(c).simpleString(), c.comment) for c in table.columns]
        stats = _stats(reader, table, histories.of(database).get(table.id, []))
        comment, kind = table.comment, "table"
    elif (view := reader.find_view(name)) is not None:
        found = _columns_of_view(adapter, relation)
        columns = [(c.name, c.dtype, view.column_comment(c.name)) for c in found]
        stats, comment, kind = {}, view.comment, "view"
    else:
        return None
    return CatalogTable(
        metadata=TableMetadata(
            type=kind, schema=name.schema, name=name.name, database=database, comment=comment
        ),
        columns={
            column: ColumnMetadata(type=dtype, index=at, name=column, comment=text)
            for at, (column, dtype, text) in enumerate(columns, start=1)
        },
        stats=stats,
    )


def _columns_of_view(adapter: DuckLakeAdapter, view: BaseRelation) -> list[DuckLakeColumn]:
    try:
        found: list[DuckLakeColumn] = adapter.get_columns_in_relation(view)
        return found
    except DbtDatabaseError as error:  # one that stands for nothing any more keeps no other out
        fire_event(AdapterEventWarning(base_msg=f"The columns of {view} are left out: {error}"))
        return []


def _stats(
    reader: LakeReader, table: Table, changes: Sequence[datetime.datetime]
) -> dict[str, StatsItem]:
    files = reader.recorded_files(table)
    values: dict[str, Any] = {
        "row_count": sum(f.live_rows for f in files) + len(reader.inlined_rows(table)),
        "bytes": sum(f.file_size_bytes for f in files),
        "files": len(files),
        "delete_files": sum(1 for f in files if f.deleted_rows),
        "snapshots": len(changes),
        "last_modified": max(changes).isoformat() if changes else None,
    }
    return {
        key: StatsItem(id=key, label=label, value=values[key], include=True, description=text)
        for key, (label, text) in _STATS.items()
        if values[key] is not None
    }


def last_changes(
    adapter: DuckLakeAdapter, sources: Iterable[BaseRelation]
) -> dict[BaseRelation, datetime.datetime | None]:
    """When rows of each table that there is were last changed: upkeep brings no news."""
    found: dict[BaseRelation, datetime.datetime | None] = {}
    histories = _Histories(adapter, _OF_ROWS)
    for source in sources:
        database = adapter.known(source.database)
        reader = adapter.handle.reader(database)
        name = QualifiedName(source.schema or "", source.identifier or "")
        table = reader.find_table(name) if find_schema(reader, name.schema) else None
        if table is not None:
            found[source] = max(histories.of(database).get(table.id, ()), default=None)
    return found


class _Histories:
    """The times of the snapshots that changed a table in one of these ways, read once a lake."""

    def __init__(
        self, adapter: DuckLakeAdapter, kinds: Container[ChangeKind] = frozenset(ChangeKind)
    ) -> None:
        self._adapter = adapter
        self._kinds = kinds
        self._known: dict[str, dict[int, list[datetime.datetime]]] = {}

    def of(self, database: str) -> Mapping[int, list[datetime.datetime]]:
        """The times by table id."""
        if database not in self._known:
            self._known[database] = self._read(database)
        return self._known[database]

    def _read(self, database: str) -> dict[int, list[datetime.datetime]]:
        times: defaultdict[int, list[datetime.datetime]] = defaultdict(list)
        for commit in self._adapter.handle.catalog(database).commits():
            for target in {c.target for c in commit.changes if c.kind in self._kinds}:
                if isinstance(target, int):
                    times[target].append(commit.snapshot.time)
        return times
