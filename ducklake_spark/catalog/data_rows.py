"""Changed rows of a table as rows of the catalog: files, deletes, statistics (FORMAT 1.9, 1.14)."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import BigInteger, Connection, bindparam, delete, update

from ducklake_spark.catalog.batch import Batch, values_of
from ducklake_spark.catalog.column_stats_rows import widen_column_stats
from ducklake_spark.catalog.file_rows import add_facts, schedule_deletion
from ducklake_spark.catalog.files import read_table_stats
from ducklake_spark.catalog.inlined import inlined_tables
from ducklake_spark.catalog.local_changes import (
    DataChanges,
    LocalChanges,
    LocalDelete,
    LocalFile,
    StagedDelete,
)
from ducklake_spark.catalog.mappings import name_mapping_rows, read_mappings
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import Change
from ducklake_spark.spec.changes import ChangeKind as Kind
from ducklake_spark.spec.model import NameMapping, Table, TableStats
from ducklake_spark.spec.paths import StoredPath

_MANY = 500

_UPDATE_TABLE_STATS = update(tables.table_stats).where(
    tables.table_stats.c.table_id == bindparam("of_table", type_=BigInteger)
)
_DELETE_DELETE_FILE = delete(tables.delete_file).where(
    tables.delete_file.c.delete_file_id == bindparam("of_file", type_=BigInteger)
)


@dataclass(slots=True)
class Staging:
    """The delete files of a transaction, with those that are written again for its commit."""

    # By the data file, those that were written again.
    current: dict[int, StagedDelete] = field(default_factory=dict)
    # All there ever were, with their complete paths.
    written: dict[StoredPath, str] = field(default_factory=dict)

    def add(self, staged: StagedDelete, table: Table) -> None:
        self.written[staged.path] = staged.path.under(table.location)

    def fit(self, key: int, staged: StagedDelete, snapshot_id: int, table: Table) -> StagedDelete:
        """The delete file as it must be for this snapshot; written at most once per snapshot."""
        latest = self.current.get(key, staged)
        if latest.snapshot_id in (None, snapshot_id):
            return latest
        self.current[key] = latest.written_for(snapshot_id)
        self.add(self.current[key], table)
        return self.current[key]

    def superseded(self, changes: LocalChanges) -> tuple[str, ...]:
        """Those that a commit of the changes has no use for: others took their place, or the whole
        data file ended."""
        used = {
            self.current.get(key, staged).path
            for _, data in changes.written()
            for key, staged in data.staged_deletes.items()
        }
        return tuple(path for stored, path in self.written.items() if stored not in used)


def add_data(
    batch: Batch,
    connection: Connection,
    changes: LocalChanges,
    data_path: str,
    staging: Staging,
) -> None:
    """Collect the rows of all data changes."""
    for table, data in changes.written():
        if data.is_empty:
            continue
        _TableData(batch, connection, table, data_path, staging).add(data)


@dataclass(slots=True)
class _TableData:
    """The rows of one table's data changes."""

    batch: Batch
    connection: Connection
    table: Table
    data_path: str
    staging: Staging

    @property
    def table_id(self) -> int:
        return self.batch.catalog_id(self.table.id)

    def add(self, data: DataChanges) -> None:
        if data.added:
            self._note(Kind.INSERTED_INTO_TABLE)
            self._add_files(list(data.added.values()))
        if data.ended or data.deletes:
            self._note(Kind.DELETED_FROM_TABLE)
        if data.ended:
            self._end_files(list(data.ended))
        for local in data.deletes.values():
            self._add_delete(local)
        if data.inlined_deletes:
            self._note(Kind.INLINED_DELETE)
            self._end_inlined(sorted(data.inlined_deletes))

    def _note(self, kind: Kind) -> None:
        self.batch.changes.append(Change(kind, self.table_id))

    # --- data files ---

    def _add_files(self, files: list[LocalFile]) -> None:
        known = read_table_stats(self.connection, self.table_id)
        stats = known or TableStats(0, 0, 0)
        mapping_ids = self._mapping_ids(files)
        for file in files:
            mapping_id = mapping_ids[file.new.mapping] if file.new.mapping else None
            self._add_file(file, stats.next_row_id, mapping_id)
            stats = TableStats(
                stats.record_count + file.new.record_count,
                stats.next_row_id + (file.new.record_count if file.new.takes_row_ids else 0),
                stats.file_size_bytes + file.new.file_size_bytes,
            )
        self._write_table_stats(known, stats)
        self._widen_column_stats(known is None, files)

    def _add_file(self, file: LocalFile, next_row_id: int, mapping_id: int | None) -> None:
        new, spec_id = file.new, file.partition_id
        file_id = self.batch.file_id()
        self.batch.ids[file.id] = file_id
        self.batch.begin(
            tables.data_file,
            data_file_id=file_id,
            table_id=self.table_id,
            path=new.path.path,
            path_is_relative=new.path.is_relative,
            file_format="parquet",
            record_count=new.record_count,
            file_size_bytes=new.file_size_bytes,
            footer_size=new.footer_size,
            row_id_start=next_row_id if new.takes_row_ids else None,
            partition_id=None if spec_id is None else self.batch.catalog_id(spec_id),
            mapping_id=mapping_id,
        )
        add_facts(self.batch, self.table_id, file_id, new)
        if file.delete is not None:
            staged = self.staging.fit(file.id, file.delete, self.batch.snapshot_id, self.table)
            self._write_delete(file_id, staged, self.batch.snapshot_id)

    def _mapping_ids(self, files: list[LocalFile]) -> dict[NameMapping, int]:
        """One mapping serves all files that agree with it, those of earlier commits included."""
        wanted = {file.new.mapping for file in files if file.new.mapping}
        if not wanted:
            return {}
        ids = {m: i for i, m in read_mappings(self.connection, self.table_id).items()}
        for mapping in (file.new.mapping for file in files):
            if mapping is None or mapping in ids:
                continue
            ids[mapping] = mapping_id = self.batch.file_id()
            self.batch.add(
                tables.column_mapping,
                mapping_id=mapping_id,
                table_id=self.table_id,
                type=mapping.kind,
            )
            for row in name_mapping_rows(mapping, mapping_id):
                self.batch.add(tables.name_mapping, **row)
        return ids

    # --- statistics of the table ---

    def _write_table_stats(self, known: TableStats | None, stats: TableStats) -> None:
        """The first data of a table must bring its row (rule 3); it only ever grows."""
        if known is None:
            self.batch.add(tables.table_stats, table_id=self.table_id, **values_of(stats))
        else:
            self.batch.repeat(_UPDATE_TABLE_STATS, of_table=self.table_id, **values_of(stats))

    def _widen_column_stats(self, first_data: bool, files: list[LocalFile]) -> None:
        by_column = [{stats.column_id: stats for stats in file.new.stats} for file in files]
        added = [
            (leaf, [stats.get(leaf.id) for stats in by_column])
            for leaf in self.table.walk()
            if not leaf.type.is_nested
        ]
        widen_column_stats(self.batch, self.connection, self.table_id, added, first_data=first_data)

    # --- deletes ---

    def _end_files(self, file_ids: list[int]) -> None:
        """A file that loses all its rows ends; its delete file stays as it is (FORMAT 1.9)."""
        d = tables.data_file
        for at in range(0, len(file_ids), _MANY):
            self.batch.end(d, d.c.data_file_id.in_(file_ids[at : at + _MANY]))

    def _add_delete(self, local: LocalDelete) -> None:
        """One live delete file per data file (rule 9): the new one takes the old one's place."""
        staged = self.staging.fit(local.file.id, local.staged, self.batch.snapshot_id, self.table)
        begin = self.batch.snapshot_id
        old = local.file.delete_file
        if old is not None:
            begin = old.begin_snapshot
            self.batch.repeat(_DELETE_DELETE_FILE, of_file=old.id)
            schedule_deletion(self.batch, self.data_path, old.id, old.path)
        self._write_delete(local.file.id, staged, begin)

    def _write_delete(self, data_file_id: int, staged: StagedDelete, begin: int) -> None:
        self.batch.add(
            tables.delete_file,
            delete_file_id=self.batch.file_id(),
            table_id=self.table_id,
            begin_snapshot=begin,
            data_file_id=data_file_id,
            path=staged.path.path,
            path_is_relative=staged.path.is_relative,
            format="parquet",
            delete_count=staged.delete_count,
            file_size_bytes=staged.file_size_bytes,
            footer_size=staged.footer_size,
            partial_max=staged.snapshot_id,
        )

    def _end_inlined(self, row_ids: list[int]) -> None:
        for name, _ in inlined_tables(self.connection, self.table_id):
            stored = tables.inlined_table(name, "row_id", "end_snapshot")
            for at in range(0, len(row_ids), _MANY):
                self.batch.statements.append(
                    update(stored)
                    .where(
                        stored.c.row_id.in_(row_ids[at : at + _MANY]),
                        stored.c.end_snapshot.is_(None),
                    )
                    .values(end_snapshot=self.batch.snapshot_id)
                )
