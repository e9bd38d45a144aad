"""A transaction: local changes over a base snapshot, that become one new snapshot or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType

from ducklake_spark.catalog.commit import CommitNote, CommitResult, CommitState, commit_changes
from ducklake_spark.catalog.compaction import Compaction
from ducklake_spark.catalog.define import Definer
from ducklake_spark.catalog.local_changes import LocalDelete, LocalFile, StagedDelete
from ducklake_spark.catalog.options import Scope
from ducklake_spark.catalog.reader import Name, SnapshotReader
from ducklake_spark.catalog.store import LakeFacts, Store
from ducklake_spark.errors import (
    InvalidDefinitionError,
    NotFoundError,
    RefusedError,
    UnsupportedFeatureError,
)
from ducklake_spark.spec.model import DataFile, NewDataFile, Table
from ducklake_spark.spec.names import check_text
from ducklake_spark.spec.options import normalise_option, option_key
from ducklake_spark.spec.paths import StoredPath


class Transaction(Definer):
    """Reads see the base snapshot plus what was changed here; `commit` makes it one snapshot.

    As a context manager it commits at the end of the block and rolls back on an exception.
    Not for use by several threads at once.
    """

    def __init__(
        self,
        store: Store,
        facts: LakeFacts,
        base: SnapshotReader,
        note: CommitNote,
    ) -> None:
        super().__init__(base, facts)
        self._store = store
        self._note = note
        self._commit = CommitState()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._ended:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()

    def check_writable(self) -> None:
        """Raise UnwritableVersionError if the lake was of a read-only version when last seen."""
        self._store.check_writable()

    # --- the end ---

    @property
    def note(self) -> CommitNote:
        """Who commits, and what they say about it."""
        return self._note

    def describe_commit(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        extra_info: str | None = None,
    ) -> None:
        """Say who commits what and why; what is left out stays as it was."""
        self._note = CommitNote(
            author if author is not None else self._note.author,
            message if message is not None else self._note.message,
            extra_info if extra_info is not None else self._note.extra_info,
        )

    def commit(self) -> CommitResult:
        """Make the changes one new snapshot; without changes there is none."""
        self._check_open()
        self._refuse_beside_compaction()
        self._ended = "failed to commit"
        result = commit_changes(
            self._store,
            self._facts,
            self.snapshot,
            self.changes,
            self._note,
            self._commit,
        )
        self._ended = "committed"
        return result

    def rollback(self) -> None:
        """Forget the changes."""
        self._check_open()
        self._ended = "rolled back"

    @property
    def may_have_landed(self) -> bool:
        """Whether a commit of it landed, or nobody knows: its files must stay then."""
        return self._commit.may_have_landed

    @property
    def delete_files(self) -> list[str]:
        """The complete paths of all delete files that were ever staged for it, in order.

        Without a commit none of them is of use; after one, those that its result names are not.
        """
        return list(self._commit.staging.written.values())

    @property
    def added_files(self) -> set[StoredPath]:
        """The data files that a commit makes part of the lake."""
        return {f.new.path for _, data in self.changes.written() for f in data.added.values()}

    @property
    def has_changes(self) -> bool:
        """Whether a commit would make a snapshot or set an option."""
        return not self.changes.is_empty

    @property
    def is_untouched(self) -> bool:
        """Whether nothing of it would be lost if it began anew: no change, no search for rows."""
        return self.changes.is_empty and not any(self.changes.written())

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what the block changed if it fails; the transaction goes on either way."""
        self._check_open()
        before = self.changes.copy()
        try:
            yield
        except BaseException:
            self.changes = before
            raise

    # --- rows ---

    def add_files(self, table: Name, files: Sequence[NewDataFile]) -> list[DataFile]:
        """Make written Parquet files part of a table."""
        self._check_open()
        self._refuse_encrypted()
        target = self.table(table)
        for file in files:
            _check_new_file(target, file)
        added = self.changes.of(target).added
        new = [LocalFile(next(self._local_ids), f, target) for f in files if f.record_count]
        added.update({file.id: file for file in new})
        return [self._own_file(file, target) for file in new]

    def _refuse_encrypted(self) -> None:
        if self._facts.encrypted:
            raise UnsupportedFeatureError(
                "The lake is encrypted, and this package writes plain files only.",
                hint="Write to it with DuckDB.",
            )

    def delete_rows(self, table: Name, deletes: Mapping[int, StagedDelete]) -> None:
        """Delete positions from data files, by data file id.

        A staged file holds all positions deleted so far, those of the file's delete file in this
        transaction's view included. An empty mapping says that a search found nothing, which
        still conflicts with rows that others insert meanwhile.
        """
        self._check_open()
        target = self.table(table)
        changes = self.changes.of(target)
        changes.searched = True
        files = self._committed_files(target, deletes)
        for staged in deletes.values():
            self._commit.staging.add(staged, target)
        for file_id, staged in deletes.items():
            own = changes.added.get(file_id)
            if own is not None:
                if staged.delete_count >= own.new.record_count:
                    del changes.added[file_id]
                else:
                    own.delete = staged
                continue
            file = _known_file(files, file_id, target)
            # Rows deleted in the catalog itself are not in the delete file, and the file stays.
            if staged.delete_count >= file.record_count:
                changes.deletes.pop(file_id, None)
                changes.ended[file_id] = file
            else:
                changes.deletes[file_id] = LocalDelete(file, staged)

    def delete_inlined(self, table: Name, row_ids: Collection[int]) -> None:
        """Delete rows that live in the catalog, by row id."""
        self._check_open()
        target = self.table(table)
        changes = self.changes.of(target)
        changes.searched = True
        missing = set(row_ids) - (self._shown_rows[target.id] - changes.inlined_deletes)
        if missing:
            missing -= {row.row_id for row in self.inlined_rows(target)}
        if missing:
            raise NotFoundError(f"The inlined row {min(missing)} of {target.name}")
        changes.inlined_deletes.update(row_ids)

    def end_files(self, table: Name, file_ids: Collection[int]) -> None:
        """Take whole data files out of a table; older snapshots keep them.

        Not those of which rows are deleted in the catalog: `ducklake_spark.files` can do that.
        """
        self._check_open()
        target = self.table(table)
        changes = self.changes.of(target)
        changes.searched = True
        files = self._committed_files(target, file_ids)
        for file_id in file_ids:
            if changes.added.pop(file_id, None) is None:
                file = _known_file(files, file_id, target)
                if file.inlined_deletes:
                    raise _half_deleted(file, target)
                changes.deletes.pop(file_id, None)
                changes.ended[file_id] = file

    def truncate(self, table: Name) -> None:
        """Delete all rows of a table; adding files afterwards overwrites it."""
        target = self.table(table)
        self.end_files(table, [file.id for file in self.recorded_files(target)])
        self.delete_inlined(table, [row.row_id for row in self.inlined_rows(target)])

    def _committed_files(self, table: Table, wanted: Collection[int]) -> dict[int, DataFile]:
        """Data files that are not of this transaction, as they were when it first saw them."""
        shown = self._shown_files[table.id]
        if any(file_id >= 0 and file_id not in shown for file_id in wanted):
            self.files(table)
        gone = self.changes.of(table).ended
        return {file_id: file for file_id, file in shown.items() if file_id not in gone}

    def compact(self, table: Name, compactions: Sequence[Compaction]) -> None:
        """Move rows to other files; nothing else goes into the commit."""
        self._check_open()
        target = self.table(table)
        if self.has_changes:
            raise _not_alone(target)
        self._refuse_encrypted()
        self.changes.of(target).compactions.extend(compactions)

    def _refuse_beside_compaction(self) -> None:
        """Both would write what the statistics of the table are from now on."""
        compacted = [table for table, data in self.changes.written() if data.compactions]
        if compacted:
            others = self.changes.copy()
            for _, data in others.data.values():
                data.compactions.clear()
            if not others.is_empty:
                raise _not_alone(compacted[0])

    # --- options ---

    def set_option(
        self,
        name: str,
        value: object | None,
        *,
        schema: str | None = None,
        table: Name | None = None,
    ) -> None:
        """Set an option of the lake, a schema or a table; None removes it."""
        self._check_open()
        key = option_key(name)
        text = None if value is None else normalise_option(key, value)[1]
        if table is not None:
            scope: tuple[Scope, int | None] = ("table", self.table(table).id)
        elif schema is not None:
            scope = ("schema", self.schema(schema).id)
        else:
            scope = (None, None)
        stored = {(o.key, o.scope, o.scope_id): o.value for o in self.stored_options()}
        if stored.get((key, *scope)) != text:
            self.changes.options[key, *scope] = text


def _check_new_file(table: Table, file: NewDataFile) -> None:
    for text in (file.path.path, *filter(None, file.partition_values)):
        check_text(text, f"the path or a partition value of a file of {table.name}")
    if len(file.partition_values) != len(table.partition_fields):
        raise InvalidDefinitionError(
            f"The file {file.path.path!r} has {len(file.partition_values)} partition values, "
            f"and {table.name} is partitioned by {len(table.partition_fields)} keys."
        )
    nulls = {stats.column_id: stats.null_count for stats in file.stats}
    for column in table.columns:
        if not column.nullable and nulls.get(column.id):
            raise InvalidDefinitionError(
                f"Column {column.name!r} of {table.name} is NOT NULL, "
                f"and {nulls[column.id]} of the rows to insert have no value there."
            )


def _not_alone(table: Table) -> RefusedError:
    return RefusedError(
        f"Compacting {table.name} takes a commit of its own.",
        hint="Commit what else the transaction changes before, or after it in another.",
    )


def _half_deleted(file: DataFile, table: Table) -> RefusedError:
    return RefusedError(
        f"The data file {file.path!r} of {table.name} cannot end as a whole: rows of it are "
        "deleted in the catalog, and DuckDB's lists of changes would miss the rest.",
        hint="Use truncate or end_files of ducklake_spark.files, which write a delete file.",
    )


def _known_file(files: Mapping[int, DataFile], file_id: int, table: Table) -> DataFile:
    file = files.get(file_id)
    if file is None:
        raise NotFoundError(f"The data file {file_id} of {table.name} at this snapshot")
    return file
