"""Compactions as rows of the catalog (FORMAT 1.10, 1.18)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.schema import DropTable

from ducklake_spark.catalog.batch import Batch
from ducklake_spark.catalog.column_stats_rows import widen_column_stats
from ducklake_spark.catalog.compaction import (
    Compaction,
    Flush,
    HistoricDeletes,
    Merge,
    MovedRows,
    Rewrite,
    files_of,
    kinds_of,
)
from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.file_rows import add_facts, schedule_deletion
from ducklake_spark.catalog.files import inlined_delete_table
from ducklake_spark.catalog.inlined import inlined_tables
from ducklake_spark.catalog.inventory import read_locations
from ducklake_spark.catalog.shared_files import LeavingFile, named_no_more
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import Change
from ducklake_spark.spec.model import DataFile, NewDataFile, Table
from ducklake_spark.spec.paths import stored_below
from ducklake_spark.spec.stats import ColumnStats

_MANY = 500
# What is known of a data file besides its own row.
_ABOUT_FILES = (
    tables.file_column_stats,
    tables.file_variant_stats,
    tables.file_partition_value,
    tables.delete_file,
)


@dataclass(slots=True)
class CompactionRows:
    """The rows of one table's compactions. The moved rows are counted already."""

    batch: Batch
    connection: Connection
    database: CatalogDatabase
    table: Table
    data_path: str

    def add(self, compactions: Sequence[Compaction]) -> None:
        self.batch.changes += [Change(kind, self.table.id) for kind in kinds_of(compactions)]
        files = files_of(compactions)
        self._grow(sum(new.file_size_bytes for new in files))
        self._widen_column_stats(files)
        merged = [c.sources for c in compactions if isinstance(c, Merge)]
        self._let_go([file for sources in merged for file in sources])
        for compaction in compactions:
            match compaction:
                case Merge(sources=sources, made=made):
                    self._forget([file.id for file in sources])
                    self._add_file(made)
                case Rewrite(sources=sources, made=moved):
                    self._end([file.id for file in sources])
                    if moved is not None:
                        self._add_file(moved)
                case Flush():
                    self._flush(compaction)

    # --- data files ---

    def _add_file(self, made: MovedRows) -> None:
        new, begin = made.file, made.begin_snapshot
        file_id = self.batch.file_id()
        self.batch.add(
            tables.data_file,
            data_file_id=file_id,
            table_id=self.table.id,
            begin_snapshot=self.batch.snapshot_id if begin is None else begin,
            path=new.path.path,
            path_is_relative=new.path.is_relative,
            file_format="parquet",
            record_count=new.record_count,
            file_size_bytes=new.file_size_bytes,
            footer_size=new.footer_size,
            partition_id=made.partition_id,
            partial_max=made.partial_max,
        )
        add_facts(self.batch, self.table.id, file_id, new)
        if made.deletes is not None:
            self._add_deletes(file_id, made.deletes)

    def _let_go(self, files: Sequence[DataFile]) -> None:
        """Let files be deleted, unless rows that stay name them, too."""
        home = self.table.location
        leaving = [LeavingFile(f.id, stored_below(home, f.path), f.path) for f in files]
        locations = read_locations(self.connection, self.data_path) if files else {}
        key = tables.data_file.c.data_file_id
        for file in named_no_more(self.connection, key, leaving, locations):
            schedule_deletion(self.batch, self.data_path, file.id, file.path)

    def _forget(self, file_ids: Sequence[int]) -> None:
        for some in _portions(file_ids):
            for about in (tables.data_file, *_ABOUT_FILES):
                self.batch.statements.append(delete(about).where(about.c.data_file_id.in_(some)))

    def _end(self, file_ids: Sequence[int]) -> None:
        for some in _portions(file_ids):
            for ended in (tables.data_file, tables.delete_file):
                self.batch.end(ended, ended.c.data_file_id.in_(some))

    # --- what the catalog itself held ---

    def _flush(self, flush: Flush) -> None:
        for made in flush.made:
            self._add_file(made)
        for file_id, deletes in flush.deletes:
            for old in deletes.replaces:
                d = tables.delete_file
                self.batch.statements.append(delete(d).where(d.c.delete_file_id == old.id))
                schedule_deletion(self.batch, self.data_path, old.id, old.path)
            self._add_deletes(file_id, deletes)
        self._empty_inlined_tables(flush.up_to)

    def _add_deletes(self, data_file_id: int, deletes: HistoricDeletes) -> None:
        self.batch.add(
            tables.delete_file,
            delete_file_id=self.batch.file_id(),
            table_id=self.table.id,
            begin_snapshot=deletes.begin_snapshot,
            end_snapshot=deletes.end_snapshot,
            data_file_id=data_file_id,
            path=deletes.path.path,
            path_is_relative=deletes.path.is_relative,
            format="parquet",
            delete_count=deletes.delete_count,
            file_size_bytes=deletes.file_size_bytes,
            footer_size=deletes.footer_size,
            partial_max=deletes.partial_max,
        )

    def _grow(self, size: int) -> None:
        """The rows were counted when they came; only the bytes are new."""
        s = tables.table_stats
        self.batch.statements.append(
            update(s)
            .where(s.c.table_id == self.table.id)
            .values(file_size_bytes=s.c.file_size_bytes + size)
        )

    def _widen_column_stats(self, files: Sequence[NewDataFile]) -> None:
        """Cover what the new files say and their sources did not.

        DuckDB knows no bounds of long texts in its files, and of rows in the catalog it counts no
        NULL for a list or map without items. Files of older columns say nothing of newer ones.
        """
        said: defaultdict[int, list[ColumnStats | None]] = defaultdict(list)
        for file in files:
            for stats in file.stats:
                said[stats.column_id].append(stats)
        added = [(leaf, said[leaf.id]) for leaf in self.table.walk() if leaf.id in said]
        widen_column_stats(self.batch, self.connection, self.table.id, added)

    def _empty_inlined_tables(self, up_to: int) -> None:
        """Remove what was flushed, and tables that no writer will use again."""
        found = sorted(inlined_tables(self.connection, self.table.id), key=lambda known: known[1])
        for name, version in found:
            if not self.database.table_exists(self.connection, name):
                continue
            stored = tables.inlined_table(name, "begin_snapshot")
            later = select(func.count()).where(stored.c.begin_snapshot > up_to)
            is_superseded = version != found[-1][1]
            if is_superseded and not self.connection.scalar(later):
                i = tables.inlined_data_tables
                self.batch.statements += [
                    DropTable(stored),
                    delete(i).where(i.c.table_id == self.table.id, i.c.table_name == name),
                ]
            else:
                self.batch.statements.append(delete(stored).where(stored.c.begin_snapshot <= up_to))
        name = inlined_delete_table(self.table.id)
        if self.database.table_exists(self.connection, name):
            stored = tables.inlined_table(name, "begin_snapshot")
            self.batch.statements.append(delete(stored).where(stored.c.begin_snapshot <= up_to))


def _portions(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for at in range(0, len(ids), _MANY):
        yield ids[at : at + _MANY]
