"""All upkeep of a lake, in DuckDB's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ducklake_spark.catalog import Catalog
from ducklake_spark.errors import PartlyDoneError
from ducklake_spark.maintain.cleanup import DELETE, cleanup_old_files
from ducklake_spark.maintain.compacting import CompactedFile
from ducklake_spark.maintain.expire import expire_snapshots
from ducklake_spark.maintain.flush import FlushedTable, flush_inlined_data
from ducklake_spark.maintain.merge import merge_adjacent_files
from ducklake_spark.maintain.orphans import delete_orphaned_files
from ducklake_spark.maintain.rewrite import rewrite_data_files
from ducklake_spark.session import Session


@dataclass(frozen=True, slots=True)
class CheckpointStep:
    """An operation with what it counts, and why it left tables alone."""

    operation: str
    affected: int
    unit: str
    skipped: str | None = None


Compact = Callable[..., Sequence[CompactedFile | FlushedTable]]


def checkpoint(
    catalog: Catalog, session: Session, *, dry_run: bool = False
) -> list[CheckpointStep]:
    """Flush, expire, merge, rewrite and clean up, as the lake's options say.

    Snapshots are expired only where the option `expire_older_than` is set. A dry run tells what
    each step would do to the lake as it is, not as the steps before would leave it.

    A table that cannot be compacted keeps no other step from being done: then it is an error.
    """
    failures: dict[str, Exception] = {}
    steps = list(_steps(catalog, session, dry_run, failures))
    if failures:
        raise PartlyDoneError("checkpoint", failures) from next(iter(failures.values()))
    return steps


def _steps(
    catalog: Catalog, session: Session, dry_run: bool, failures: dict[str, Exception]
) -> Iterator[CheckpointStep]:
    def compacted(compact: Compact, unit: str) -> Iterator[CheckpointStep]:
        try:
            rows = compact(catalog, session, dry_run=dry_run)
        except PartlyDoneError as error:
            failures[compact.__name__] = error
        else:
            yield _counted(compact.__name__, unit, rows)

    yield from compacted(flush_inlined_data, "rows")
    options = catalog.at().options()
    if options.get("expire_older_than"):
        expired = expire_snapshots(catalog, dry_run=dry_run)
        yield CheckpointStep("expire_snapshots", len(expired), "snapshots")
    yield from compacted(merge_adjacent_files, "files")
    yield from compacted(rewrite_data_files, "files")
    removals: list[Callable[..., Sequence[Any]]] = [cleanup_old_files]
    if options.get("auto_compact", "true") == "true":
        removals.append(delete_orphaned_files)
    for remove in removals:
        removed = [row for row in remove(catalog, dry_run=dry_run) if row.action == DELETE]
        yield CheckpointStep(remove.__name__, len(removed), "files")


def _counted(name: str, unit: str, rows: Sequence[CompactedFile | FlushedTable]) -> CheckpointStep:
    count = sum(
        row.rows_flushed if isinstance(row, FlushedTable) else row.files_processed for row in rows
    )
    skipped = [row.skipped for row in rows if row.skipped is not None]
    return CheckpointStep(name, count, unit, " ".join(skipped) or None)
