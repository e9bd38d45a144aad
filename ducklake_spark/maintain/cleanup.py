"""Deletes the files that the lake let go.

Nothing outside the lake's data path is ever deleted, and nothing through a link.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ducklake_spark.catalog import Catalog, ScheduledFile
from ducklake_spark.errors import ConfigError
from ducklake_spark.maintain.settings import set_age
from ducklake_spark.spec.moments import Moment, moment_of, utc_now
from ducklake_spark.spec.paths import canonical, is_inside, is_remote
from ducklake_spark.storage.filesystem import remove_empty_folder, remove_file, staging_folder_of
from ducklake_spark.storage.listing import identities, is_really_inside

SAFETY_AGE = "2 days"
DELETE = "delete"
_THREADS = 8
_MANY = 500


@dataclass(frozen=True, slots=True)
class CleanedFile:
    """A file that was scheduled for deletion, and what becomes of it."""

    path: str
    action: str


def cleanup_old_files(
    catalog: Catalog,
    *,
    older_than: Moment | None = None,
    cleanup_all: bool = False,
    dry_run: bool = False,
) -> list[CleanedFile]:
    """Delete files that were scheduled for deletion before a time, or all that are.

    Queries may still read what was scheduled a moment ago, so without either it is those of the
    option `delete_older_than`, or of two days ago and more.
    """
    limit = age_limit(catalog, older_than, cleanup_all)
    due = [file for file in catalog.scheduled_files() if limit is None or file.since < limit]
    plan = _judged(catalog, due)
    if not dry_run:
        removable = [file.path for file, action in plan if action == DELETE]
        folders = idle_folders(catalog.data_path, removable, limit)
        for at in range(0, len(plan), _MANY):
            some = plan[at : at + _MANY]
            # The files first: after a crash in between they are merely gone already.
            remove_files([file.path for file, action in some if action == DELETE])
            catalog.forget_scheduled([file for file, _ in some])
        for folder in folders:
            remove_empty_folder(folder)
    return [CleanedFile(file.path, action) for file, action in plan]


def _judged(catalog: Catalog, due: Sequence[ScheduledFile]) -> list[tuple[ScheduledFile, str]]:
    needed = set(identities(catalog.named_files())) if due else set()
    plan = []
    for file, identity in zip(due, identities(file.path for file in due), strict=True):
        action = DELETE
        if identity in needed:
            action = "keep: in use"
        elif not is_really_inside(catalog.data_path, file.path):
            action = "keep: outside the data path"
        plan.append((file, action))
    return plan


def idle_folders(
    data_path: str, files: Iterable[str], limit: datetime.datetime | None
) -> list[str]:
    """List the folders of files that may be removed once they are empty, inner ones first.

    A staging folder belongs to one write. All others must not have changed since the limit: a
    writer may have made a folder and not yet the file in it.
    """
    found = set[str]()
    for path in files:
        if (folder := staging_folder_of(path)) is not None:
            found.add(folder)
        if not is_remote(path):
            inside = (p for p in Path(canonical(path)).parents if is_inside(data_path, str(p)))
            found.update(f"{parent}/" for parent in inside if _is_idle(parent, limit))
    return sorted(found, key=len, reverse=True)


def _is_idle(folder: Path, limit: datetime.datetime | None) -> bool:
    if not folder.is_dir():
        return False
    changed = datetime.datetime.fromtimestamp(folder.stat().st_mtime, datetime.UTC)
    return limit is None or changed < limit


def age_limit(
    catalog: Catalog, older_than: Moment | None, cleanup_all: bool
) -> datetime.datetime | None:
    """Before when something must have happened; None if at any time."""
    if cleanup_all:
        if older_than is not None:
            raise ConfigError("Give older_than or cleanup_all, not both.")
        return None
    if older_than is None:
        older_than = set_age(catalog, "delete_older_than") or SAFETY_AGE
    return moment_of(older_than, now=utc_now())


def remove_files(paths: Iterable[str]) -> None:
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(remove_file, paths))
