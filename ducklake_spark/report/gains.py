"""The gains that maintenance would bring now, from the plans of its operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ducklake_spark.catalog import Catalog, SnapshotReader
from ducklake_spark.catalog.usage import LakeUsage, TableUsage
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.maintain import cleanup_old_files, expire_snapshots
from ducklake_spark.maintain.cleanup import DELETE
from ducklake_spark.maintain.compacting import is_willing
from ducklake_spark.maintain.merge import files_saved
from ducklake_spark.maintain.rewrite import rows_removed
from ducklake_spark.spec.model import Table
from ducklake_spark.spec.sizes import count_text, size_text

_AGE = "7 days"
# Deleted rows that the default of rewrite_data_files leaves alone may be worth it still.
_LOW_THRESHOLD = 0.1
# A plan takes several questions to the catalog. Tables with the most to gain are planned.
_PLANNED = 500


@dataclass(frozen=True, slots=True)
class Gain:
    """The effect that an operation would have on the lake. It has none if `count` is 0."""

    title: str
    count: int
    what: str
    command: str


def gains_of(catalog: Catalog, usage: LakeUsage) -> tuple[Gain, ...]:
    """Return what each operation would do if it ran now as the page prints it.

    Nothing if the lake has a version that is read only: every operation would be rejected.
    """
    reader = catalog.at()
    if not catalog.format.is_writable:
        return ()
    return (
        _small_files(reader, usage.tables),
        _deleted_rows(reader, usage.tables),
        _inlined_rows(reader, usage.tables),
        _old_snapshots(catalog, usage),
        _scheduled_files(catalog),
    )


def _small_files(reader: SnapshotReader, tables: Iterable[TableUsage]) -> Gain:
    worth = [(table.files, table) for table in tables if table.files > 1]
    saved = _planned(reader, worth, lambda table: files_saved(reader, table))
    what = f"{count_text(saved, 'file')} fewer"
    return Gain("Small files", saved, what, "merge_adjacent_files()")


def _deleted_rows(reader: SnapshotReader, tables: Iterable[TableUsage]) -> Gain:
    worth = [(table.deleted_rows, table) for table in tables if table.deleted_rows]
    command = "rewrite_data_files()"
    rows = _planned(reader, worth, lambda table: rows_removed(reader, table))
    if not rows:
        command = f"rewrite_data_files(delete_threshold => {_LOW_THRESHOLD})"
        rows = _planned(reader, worth, lambda table: rows_removed(reader, table, _LOW_THRESHOLD))
    what = f"{count_text(rows, 'row')} still stored that readers must leave out"
    return Gain("Deleted rows", rows, what, command)


def _inlined_rows(reader: SnapshotReader, tables: Iterable[TableUsage]) -> Gain:
    worth = [(table.inlined_rows, table) for table in tables if table.inlined_rows]
    rows = _planned(reader, worth, lambda table: len(reader.inlined_rows(table)))
    what = f"{count_text(rows, 'row')} in the catalog that could be in files"
    return Gain("Inlined rows", rows, what, "flush_inlined_data()")


def _planned(
    reader: SnapshotReader,
    worth: Iterable[tuple[int, TableUsage]],
    plan: Callable[[Table], int],
) -> int:
    """Add up what is planned for the tables of which most can be gained."""
    most = sorted(worth, key=lambda found: -found[0])[:_PLANNED]
    total = 0
    for _, found in most:
        try:
            table = reader.find_table(found.name)
            total += plan(table) if table is not None and is_willing(reader, table) else 0
        except DuckLakeError:  # of a table that the operation could not work on either
            continue
    return total


def _old_snapshots(catalog: Catalog, usage: LakeUsage) -> Gain:
    expired = expire_snapshots(catalog, older_than=_AGE, dry_run=True) if usage.old_files else []
    what = (
        f"{count_text(len(expired), 'snapshot')} older than {_AGE}; all older snapshots keep "
        f"{count_text(usage.old_files, 'file')} of {size_text(usage.old_bytes)}"
    )
    command = f"expire_snapshots(older_than => '{_AGE}')"
    return Gain("Old snapshots", len(expired), what, command)


def _scheduled_files(catalog: Catalog) -> Gain:
    due = cleanup_old_files(catalog, older_than=_AGE, dry_run=True)
    count = sum(file.action == DELETE for file in due)
    what = f"{count_text(count, 'file')} that no snapshot has needed for {_AGE}"
    return Gain("Scheduled files", count, what, f"cleanup_old_files(older_than => '{_AGE}')")
