"""Two lakes with one history: DuckDB makes the first by SQL, a transaction of ours the second."""

from __future__ import annotations

import datetime
import re
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ducklake_spark.catalog import Transaction
from ducklake_spark.spec.changes import Change, ChangeKind, parse_changes
from ducklake_spark.spec.model import NewDataFile, Table
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.spec.partitions import partition_value
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.values import to_physical
from ducklake_spark.storage.footers import describe_file
from support.lakes import LakeAddress
from support.parquet import delete_positions
from support.shared_duck import SharedDuck

Row = dict[str, Any]
Rows = dict[str, list[Row]]
Act = Callable[[Transaction, Callable[[str], None]], object]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIMES = {"snapshot_time", "schedule_start"}
_TIME_IN_SQLITE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d*[1-9])?\+00")
_OF_COLUMNS = {"ducklake_file_column_stats", "ducklake_table_column_stats", "ducklake_column_tag"}
# Delete files are written by each client for itself, data files by DuckDB for both lakes.
_OWN_SIZES = {("ducklake_delete_file", column) for column in ("file_size_bytes", "footer_size")}
# The reference logs tables and views in the order of a hash map.
_UNORDERED = (
    frozenset({ChangeKind.CREATED_TABLE, ChangeKind.CREATED_VIEW}),
    frozenset({ChangeKind.DROPPED_TABLE, ChangeKind.DROPPED_VIEW}),
)


@dataclass(frozen=True)
class Twins:
    """The same history twice. Neither lake inlines rows, since we never do."""

    theirs: LakeAddress
    ours: LakeAddress

    def begin(self) -> None:
        with SharedDuck(self.theirs) as duck:
            duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")
        with self.ours.open() as catalog, catalog.transaction() as tx:
            tx.set_option("data_inlining_row_limit", 0)

    def step(self, sql: str, act: Act) -> None:
        """One commit on each lake; several statements are one transaction.

        `act` gets our transaction, and what adds the data files DuckDB just wrote to a table.
        """
        statements = [part.strip() for part in sql.split(";")]
        if len(statements) > 1:
            statements = ["BEGIN", *statements, "COMMIT"]
        with SharedDuck(self.theirs) as duck:
            duck.run(*statements)
        with self.ours.open() as catalog, catalog.transaction() as tx:
            act(tx, lambda name: self._take(tx, name))

    def rows(self) -> tuple[Rows, Rows]:
        """All rows of both catalogs, apart from uuids, times, paths and sizes."""
        return _comparable(self.theirs), _comparable(self.ours)

    # --- the same rows for both ---

    def _take(self, tx: Transaction, name: str) -> None:
        table = tx.table(name)
        tx.add_files(name, [self._copy(path, table) for path in self._written(table.name)])

    def _written(self, name: QualifiedName) -> list[Path]:
        rows = self.theirs.sql(
            "SELECT s.path, t.path, f.path FROM ducklake_data_file f "
            "JOIN ducklake_table t ON t.table_id = f.table_id AND t.end_snapshot IS NULL "
            "JOIN ducklake_schema s ON s.schema_id = t.schema_id "
            f"WHERE s.schema_name = '{name.schema}' AND t.table_name = '{name.name}' "
            "AND f.begin_snapshot = (SELECT max(snapshot_id) FROM ducklake_snapshot) "
            "ORDER BY f.data_file_id"
        )
        return [Path(self.theirs.data_path, *row) for row in rows]

    def _copy(self, source: Path, table: Table) -> NewDataFile:
        theirs = Path(self.theirs.data_path) / Path(table.location).relative_to(self.ours.data_path)
        stored = StoredPath(str(source.relative_to(theirs)))
        target = Path(stored.under(table.location))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        data = pq.read_table(target, partitioning=None)
        new = describe_file(table.location, stored, table.columns, nan_columns=_nan(table, data))
        return replace(new, partition_values=_partition_values(table, data))


def delete(tx: Transaction, name: str, file: int, *positions: int) -> None:
    """Delete rows by their positions in one of the table's files."""
    delete_positions(tx, name, tx.files(tx.table(name))[file], positions)


def _nan(table: Table, data: pa.Table) -> dict[int, bool]:
    floats = (c for c in table.columns if c.type.name in ("float32", "float64"))
    return {c.id: bool(pc.any(pc.is_nan(data[c.name])).as_py()) for c in floats}


def _partition_values(table: Table, data: pa.Table) -> tuple[str | None, ...]:
    columns = {column.id: column for column in table.columns}
    values = []
    for key in table.partition_fields:
        column = columns[key.column_id]
        value = data[column.name][0].as_py()
        physical = None if value is None else to_physical(value, column.type)
        values.append(partition_value(key.transform, physical, column.type))
    return tuple(values)


# --- rows that compare ---


def _comparable(lake: LakeAddress) -> Rows:
    dump = lake.dump()
    names = {
        (row["table_id"], row["column_id"]): f"{row['column_name']} {row['column_type']}"
        for row in sorted(dump["ducklake_column"], key=lambda row: row["begin_snapshot"])
    }
    found: Rows = {}
    for table, rows in dump.items():
        found[table] = []
        for row in rows:
            values = {c: _value(table, c, value, lake.data_path) for c, value in row.items()}
            if table in _OF_COLUMNS:
                values["column"] = names[row["table_id"], row["column_id"]]
            found[table].append(values)
    return found


def _value(table: str, column: str, value: Any, data_path: str) -> Any:
    if value is None:
        return None
    if column in _TIMES:
        assert isinstance(value, datetime.datetime) or _TIME_IN_SQLITE.fullmatch(value)
        return "a time"
    if (table, column) in _OWN_SIZES:
        return "a size"
    if column == "changes_made":
        return _changes(value)
    if isinstance(value, str | uuid.UUID):
        return _UUID.sub(r"a version \1 uuid", str(value).replace(data_path, "data/"))
    return value


def _changes(text: str) -> str:
    def place(change: Change) -> object:
        return next((kinds for kinds in _UNORDERED if change.kind in kinds), change.kind)

    grouped = (sorted(map(str, same)) for _, same in groupby(parse_changes(text), place))
    return ",".join(token for tokens in grouped for token in tokens)
