"""Finds and deletes the files below the data path that the lake knows nothing of."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from ducklake_spark.catalog import Catalog
from ducklake_spark.maintain.cleanup import age_limit, remove_files
from ducklake_spark.spec.moments import Moment
from ducklake_spark.storage.listing import ListedFile, identities, list_below

_ENDINGS = (".parquet", ".puffin")


@dataclass(frozen=True, slots=True)
class OrphanedFile:
    """A file below the data path that no row of the catalog names."""

    path: str
    size_bytes: int
    modified: datetime.datetime


def delete_orphaned_files(
    catalog: Catalog,
    *,
    older_than: Moment | None = None,
    cleanup_all: bool = False,
    dry_run: bool = False,
) -> list[OrphanedFile]:
    """Delete the files below the data path that the lake knows nothing of.

    The files of a writer at work are such files until it commits. So they must have been there
    since before a time: that given, that of the option `delete_older_than`, or two days ago.
    `cleanup_all` says that there is no writer at work, and takes all of them.
    """
    orphans = orphaned_files(catalog, age_limit(catalog, older_than, cleanup_all))
    if not dry_run:
        remove_files([file.path for file in orphans])
    return [OrphanedFile(file.path, file.size_bytes, file.modified) for file in orphans]


def orphaned_files(catalog: Catalog, limit: datetime.datetime | None) -> list[ListedFile]:
    """The files that no row names, made before a time; None if it does not matter when."""
    found = [file for file in list_below(catalog.data_path) if _is_meant(file, limit)]
    # Asked for after the list was made: what was committed meanwhile is known by now.
    known = set(identities(catalog.named_files()))
    known.update(identities(file.path for file in catalog.scheduled_files()))
    names = identities(file.path for file in found)
    return [file for file, name in zip(found, names, strict=True) if name not in known]


def _is_meant(file: ListedFile, limit: datetime.datetime | None) -> bool:
    return file.path.endswith(_ENDINGS) and (limit is None or file.modified < limit)
