"""The change feed of a table: rows that came and went between two snapshots, both included.

Every row of a file or of the catalog lives from one snapshot to another. Where DuckDB 1.5.5 tells
something else, it tells what did not happen: it reports a rewrite of files as updates of all their
rows, a delete from a merged file at the snapshot of its insert, and for a row that one transaction
inserted and deleted both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ducklake_spark.catalog import Catalog, SnapshotReader
from ducklake_spark.catalog.reader import Name
from ducklake_spark.scan.inlined import inlined_frame
from ducklake_spark.scan.places import PLACE, ordinal, packed
from ducklake_spark.scan.table import ROW_ID, SNAPSHOT_ID, read_whole_files
from ducklake_spark.session import Session
from ducklake_spark.spec.model import ChangedFile, InlinedRow, Table, TableChanges
from ducklake_spark.spec.names import backticked
from ducklake_spark.storage.delete_files import read_history
from ducklake_spark.storage.failures import files_of

_ENDED = "_ducklake_ended"
_FILE_ENDED = "_ducklake_file_ended"
_AT = "_ducklake_at"
_CHANGE = "_ducklake_change"
_PLACE = "_ducklake_gone"
_ORDINAL = "_ducklake_ordinal"
_THREADS = 8


def table_changes(
    session: Session, catalog: Catalog, name: Name, start: int, end: int
) -> DataFrame:
    """Inserts, deletes, and updates as two rows: snapshot_id, rowid, change_type, the columns."""
    feed = _Feed.open(session, catalog, name, start, end)
    came, went = feed.insertions(), feed.deletions()
    if not feed.may_delete:
        return feed.shown(came.withColumn(_CHANGE, F.lit("insert")), _CHANGE)
    both = came.withColumn(_CHANGE, F.lit(True)).unionAll(went.withColumn(_CHANGE, F.lit(False)))
    same_row = Window.partitionBy(_AT, ROW_ID)
    is_update = (F.count("*").over(same_row)) > 1
    kinds = F.when(
        F.col(_CHANGE), F.when(is_update, "update_postimage").otherwise("insert")
    ).otherwise(F.when(is_update, "update_preimage").otherwise("delete"))
    return feed.shown(both.withColumn(_CHANGE, kinds), _CHANGE)


def table_insertions(
    session: Session, catalog: Catalog, name: Name, start: int, end: int
) -> DataFrame:
    """Rows that came, the new ones of updates among them: snapshot_id, rowid, the columns."""
    feed = _Feed.open(session, catalog, name, start, end)
    return feed.shown(feed.insertions())


def table_deletions(
    session: Session, catalog: Catalog, name: Name, start: int, end: int
) -> DataFrame:
    """Rows that went, the old ones of updates among them: snapshot_id, rowid, the columns."""
    feed = _Feed.open(session, catalog, name, start, end)
    return feed.shown(feed.deletions())


class _Feed:
    """The lives of the rows that may have changed."""

    def __init__(
        self, session: Session, reader: SnapshotReader, table: Table, changes: TableChanges
    ) -> None:
        self._session = session
        self._reader = reader
        self._table = table
        self._changes = changes
        with files_of(table.name), ThreadPoolExecutor(_THREADS) as pool:
            deaths = pool.map(lambda file: _deaths(file, changes.end), changes.files)
            self._deaths = {c.file.id: d for c, d in zip(changes.files, deaths, strict=True)}
        self._shrunk = [c for c in changes.files if self._may_shrink(c)]

    @classmethod
    def open(cls, session: Session, catalog: Catalog, name: Name, start: int, end: int) -> _Feed:
        reader = catalog.at(end)
        table = reader.table(name)
        if start > end:  # what is asked by whoever has seen everything already
            return cls(session, reader, table, TableChanges(start, end, (), (), frozenset()))
        return cls(session, reader, table, reader.changes(table, catalog.snapshot(start).id))

    @property
    def may_delete(self) -> bool:
        return bool(self._shrunk) or any(row.end_snapshot is not None for row in self._changes.rows)

    def insertions(self) -> DataFrame:
        """Rows that came, without those that the same snapshot took away."""
        start, end = self._changes.start, self._changes.end
        grown = [
            c
            for c in self._changes.files
            if max(c.file.begin_snapshot, c.file.partial_max or 0) >= start
        ]
        begun, ended = F.col(SNAPSHOT_ID), F.col(_ENDED)
        came = begun.between(start, end) & (ended.isNull() | (ended > begun))
        if self._changes.rewrites:
            came = came & ~begun.isin(*self._changes.rewrites)
        return self._lives(grown).where(came).withColumn(_AT, begun)

    def deletions(self) -> DataFrame:
        """Rows that went, without those that the same snapshot had brought."""
        ended = F.col(_ENDED)
        went = ended.between(self._changes.start, self._changes.end) & (ended > F.col(SNAPSHOT_ID))
        return self._lives(self._shrunk).where(went).withColumn(_AT, ended)

    def shown(self, frame: DataFrame, *change: str) -> DataFrame:
        """The frame under the names that DuckDB gives."""
        names = ["snapshot_id", "rowid", *("change_type" for _ in change)]
        columns: list[Expression | str] = [F.col(_AT), F.col(ROW_ID), *map(F.col, change)]
        columns += [F.col(backticked(c.name)) for c in self._table.columns]
        return frame.select(*columns).toDF(*names, *(c.name for c in self._table.columns))

    def _may_shrink(self, changed: ChangedFile) -> bool:
        if changed.end_snapshot is not None:
            return True
        ended = self._deaths[changed.file.id][_ENDED]
        return bool(len(ended)) and pc.max(ended).as_py() >= self._changes.start

    def _lives(self, files: Sequence[ChangedFile]) -> DataFrame:
        """All rows with SNAPSHOT_ID, where they began, and _ENDED, which is NULL for live ones."""
        rows = self._changes.rows
        parts = [self._inlined(rows)] if rows or not files else []
        raw = read_whole_files(
            self._session,
            self._reader,
            self._table,
            [changed.file for changed in files],
            extras=(ROW_ID, SNAPSHOT_ID, PLACE),
        )
        return reduce(DataFrame.unionAll, [*parts, *(self._ended(f, files) for f in raw)])

    def _ended(self, frame: DataFrame, files: Sequence[ChangedFile]) -> DataFrame:
        """The frame with the end of each row in place of its PLACE."""
        frame = frame.withColumn(_ENDED, F.lit(None).cast("bigint"))
        deaths = [
            deaths.append_column(_PLACE, packed(at, deaths["pos"])).select([_PLACE, _ENDED])
            for at, changed in enumerate(files)
            if len(deaths := self._deaths[changed.file.id])
        ]
        if deaths:
            gone = self._session.spark.createDataFrame(pa.concat_tables(deaths))
            found = frame.drop(_ENDED).join(gone, F.col(PLACE) == F.col(_PLACE), "left")
            frame = found.drop(_PLACE)
        ends = {at: c.end_snapshot for at, c in enumerate(files) if c.end_snapshot is not None}
        if ends:
            listed = pa.table(
                {
                    _ORDINAL: pa.array(ends, pa.int64()),
                    _FILE_ENDED: pa.array(ends.values(), pa.int64()),
                }
            )
            known = F.broadcast(self._session.spark.createDataFrame(listed))
            found = frame.join(known, ordinal() == F.col(_ORDINAL), "left")
            frame = found.withColumn(_ENDED, F.coalesce(F.col(_ENDED), F.col(_FILE_ENDED)))
        names = [backticked(c.name) for c in self._table.columns]
        return frame.select(*names, ROW_ID, SNAPSHOT_ID, _ENDED)

    def _inlined(self, rows: Sequence[InlinedRow]) -> DataFrame:
        last = self._changes.end

        def ended(row: InlinedRow) -> int | None:
            end = row.end_snapshot
            return end if end is not None and end <= last else None

        return inlined_frame(
            self._session,
            self._table.columns,
            rows,
            [
                (ROW_ID, pa.int64(), lambda row: row.row_id),
                (SNAPSHOT_ID, pa.int64(), lambda row: row.begin_snapshot),
                (_ENDED, pa.int64(), ended),
            ],
        )


def _deaths(changed: ChangedFile, last: int) -> pa.Table:
    """The positions deleted from a file by a snapshot, with the snapshot that deleted each."""
    # A delete file of another writer may repeat what an earlier one has.
    history = read_history(changed.delete_files, changed.inlined_deletes)
    found = pa.table({"pos": history.positions, _ENDED: history.snapshots})
    return found.filter(pc.less_equal(found[_ENDED], last))
