"""All upkeep of a lake, in DuckDB's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ducklake_spark.catalog import Catalog
from ducklake_spark.maintain.cleanup import cleanup_old_files
from ducklake_spark.maintain.expire import expire_snapshots
from ducklake_spark.maintain.flush import flush_inlined_data
from ducklake_spark.maintain.merge import merge_adjacent_files
from ducklake_spark.maintain.orphans import delete_orphaned_files
from ducklake_spark.maintain.rewrite import rewrite_data_files
from ducklake_spark.session import Session


@dataclass(frozen=True, slots=True)
class CheckpointStep:
    """An operation with what it counts."""

    operation: str
    affected: int
    unit: str


def checkpoint(
    catalog: Catalog, session: Session, *, dry_run: bool = False
) -> list[CheckpointStep]:
    """Flush, expire, merge, rewrite and clean up, as the lake's options say.

    Snapshots are expired only where the option `expire_older_than` is set. A dry run tells what
    each step would do to the lake as it is, not as the steps before would leave it.
    """
    return list(_steps(catalog, session, dry_run))


def _steps(catalog: Catalog, session: Session, dry_run: bool) -> Iterator[CheckpointStep]:
    flushed = flush_inlined_data(catalog, session, dry_run=dry_run)
    yield CheckpointStep("flush_inlined_data", sum(t.rows_flushed for t in flushed), "rows")
    options = catalog.at().options()
    if options.get("expire_older_than"):
        expired = expire_snapshots(catalog, dry_run=dry_run)
        yield CheckpointStep("expire_snapshots", len(expired), "snapshots")
    for compact in (merge_adjacent_files, rewrite_data_files):
        files = sum(row.files_processed for row in compact(catalog, session, dry_run=dry_run))
        yield CheckpointStep(compact.__name__, files, "files")
    removals: list[Callable[..., Sequence[Any]]] = [cleanup_old_files]
    if options.get("auto_compact", "true") == "true":
        removals.append(delete_orphaned_files)
    for remove in removals:
        yield CheckpointStep(remove.__name__, len(remove(catalog, dry_run=dry_run)), "files")
