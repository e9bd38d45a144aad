"""The statements of one commit, collected first and run in the order of the protocol."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Executable, Insert, Table, insert, update

from ducklake_spark.spec.changes import Change
from ducklake_spark.spec.model import Snapshot


@dataclass(slots=True)
class Batch:
    """What a commit on top of `head` writes. Ids are handed out as rows are collected."""

    head: Snapshot
    time: datetime.datetime
    next_catalog_id: int = field(init=False)
    next_file_id: int = field(init=False)
    changes_schema: bool = False
    changes: list[Change] = field(default_factory=list)
    # Committed ids of what the transaction knew under ids below zero.
    ids: dict[int, int] = field(default_factory=dict)
    statements: list[Executable] = field(default_factory=list)
    repeated: dict[Executable, list[dict[str, Any]]] = field(default_factory=dict)
    rows: dict[Table, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.next_catalog_id = self.head.next_catalog_id
        self.next_file_id = self.head.next_file_id

    @property
    def snapshot_id(self) -> int:
        return self.head.id + 1

    @property
    def schema_version(self) -> int:
        return self.head.schema_version + self.changes_schema

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot this commit makes, once all rows are collected."""
        return Snapshot(
            id=self.snapshot_id,
            time=self.time,
            schema_version=self.schema_version,
            next_catalog_id=self.next_catalog_id,
            next_file_id=self.next_file_id,
        )

    def catalog_id(self, local_id: int) -> int:
        """The id of a schema, table, view, partition or sort order, given on first use."""
        if local_id >= 0:
            return local_id
        if local_id not in self.ids:
            self.ids[local_id] = self.new_catalog_id()
        return self.ids[local_id]

    def new_catalog_id(self) -> int:
        self.next_catalog_id += 1
        return self.next_catalog_id - 1

    def file_id(self) -> int:
        self.next_file_id += 1
        return self.next_file_id - 1

    def add(self, table: Table, **values: Any) -> None:
        """One more row, with all columns of the table named."""
        self.rows.setdefault(table, []).append({**_empty_row(table), **values})

    def begin(self, table: Table, **values: Any) -> None:
        """One more row that this snapshot is the first to see."""
        self.add(table, begin_snapshot=self.snapshot_id, **values)

    def end(self, table: Table, *conditions: ColumnElement[bool]) -> None:
        """Rows that this snapshot does not see any more."""
        self.statements.append(
            update(table)
            .where(*conditions, table.c.end_snapshot.is_(None))
            .values(end_snapshot=self.snapshot_id)
        )

    def repeat(self, statement: Executable, **parameters: Any) -> None:
        """A statement that is run together with all others that differ in parameters alone."""
        self.repeated.setdefault(statement, []).append(parameters)

    def run(self, connection: Connection) -> None:
        for statement in self.statements:
            connection.execute(statement)
        for statement, parameters in self.repeated.items():
            connection.execute(statement, parameters)
        for table, rows in self.rows.items():
            connection.execute(insert_into(table), rows)


@cache
def insert_into(table: Table) -> Insert:
    """The statement that adds rows to a table of the catalog."""
    return insert(table)


@cache
def _empty_row(table: Table) -> Mapping[str, None]:
    return dict.fromkeys(column.name for column in table.columns)


def values_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass with slots; `asdict` would copy every value."""
    return {name: getattr(record, name) for name in record.__slots__}


def differences(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The keys whose old value ends, and the keys whose new value begins."""
    ends = [key for key, value in before.items() if key not in after or after[key] != value]
    begins = [key for key, value in after.items() if key not in before or before[key] != value]
    return ends, begins
