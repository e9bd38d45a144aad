"""Finds and deletes the files and folders that this lake wrote and no snapshot needs.

A data path may hold files of other lakes and of users. Only what this lake is proven to have
written is deleted (spec.file_names); everything else is listed and kept.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ducklake_spark.catalog import Catalog
from ducklake_spark.maintain.cleanup import DELETE, age_limit, remove_files
from ducklake_spark.spec.file_names import (
    Origin,
    is_table_folder,
    marked_folder,
    origin_of,
    staged_at,
)
from ducklake_spark.spec.moments import Moment
from ducklake_spark.spec.paths import as_directory, canonical, is_remote
from ducklake_spark.storage.filesystem import remove_empty_folder
from ducklake_spark.storage.listing import Listed, ListedFile, ListedFolder, identities, list_below

_DATA = (".parquet", ".puffin")
_CHECKSUM = ".crc"
KEEP = "keep: unknown"


@dataclass(frozen=True, slots=True)
class OrphanedFile:
    """A file below the data path that no row of the catalog names, or an empty folder.

    The path of a folder ends with a slash.
    """

    path: str
    size_bytes: int
    modified: datetime.datetime | None
    action: str


def delete_orphaned_files(
    catalog: Catalog,
    *,
    older_than: Moment | None = None,
    cleanup_all: bool = False,
    exclusive_data_path: bool = False,
    dry_run: bool = False,
) -> list[OrphanedFile]:
    """Delete the files that this lake wrote and no snapshot needs, and list all others.

    A writer's files have no row in the catalog until it commits. So only those are deleted that
    were last changed before `older_than`, or else longer ago than the option `delete_older_than`
    says, or two days. `cleanup_all` asserts that no writer is at work, and takes all of them.

    DuckDB's file names do not tell which lake they belong to. `exclusive_data_path` asserts that no
    other lake writes to the folders of this lake's tables, so that such files can be deleted too.
    """
    limit = age_limit(catalog, older_than, cleanup_all)
    plan = orphaned_files(catalog, limit, exclusive_data_path=exclusive_data_path)
    if not dry_run:
        due = [row.path for row in plan if row.action == DELETE]
        remove_files(path for path in due if not path.endswith("/"))
        for folder in due:
            if folder.endswith("/"):
                remove_empty_folder(folder)
    return plan


def orphaned_files(
    catalog: Catalog, limit: datetime.datetime | None, *, exclusive_data_path: bool = False
) -> list[OrphanedFile]:
    """Return what becomes of each file that no row names, and of the empty folders.

    Only files and folders last changed before the limit are considered; None for all of them.
    """
    listed = list(list_below(catalog.data_path))
    # Asked for after the list was made: what was committed meanwhile is known by now.
    known = set(identities(catalog.named_files()))
    known.update(identities(file.path for file in catalog.scheduled_files()))
    return list(_Plan(catalog, listed, known, limit, exclusive_data_path).rows())


class _Plan:
    def __init__(
        self,
        catalog: Catalog,
        listed: Sequence[Listed],
        known: Collection[str],
        limit: datetime.datetime | None,
        exclusive: bool,
    ) -> None:
        root = catalog.data_path
        self._root = root if is_remote(root) else as_directory(canonical(root))
        self._lake_id = catalog.lake_id
        self._tables = catalog.table_folders()
        self._files = [file for file in listed if isinstance(file, ListedFile)]
        self._folders = [folder for folder in listed if isinstance(folder, ListedFolder)]
        self._known = known
        self._limit = limit
        self._exclusive = exclusive
        # The folders of tables that were never committed, such as those of a killed CREATE TABLE.
        self._abandoned: set[str] = set()

    def rows(self) -> Iterator[OrphanedFile]:
        occupied = {folder.path for folder in self._folders if folder.holds_links}
        names = identities(file.path for file in self._files)
        for file, identity in zip(self._files, names, strict=True):
            action = self._action(file, identity)
            if action is not None:
                yield OrphanedFile(file.path, file.size_bytes, file.modified, action)
            if action == DELETE:
                self._note_table(file.path)
            else:
                occupied.add(file.path.rpartition("/")[0] + "/")
        # Longer paths first: a folder is empty once the folders in it are gone.
        for folder in sorted(self._folders, key=lambda found: -len(found.path)):
            if folder.path not in occupied and self._is_ours(folder):
                self._note_table(folder.path)
                yield OrphanedFile(folder.path, 0, folder.modified, DELETE)
            else:
                occupied.add(folder.path.rstrip("/").rpartition("/")[0] + "/")

    def _note_table(self, path: str) -> None:
        """Note the folder of the table for which this lake wrote a file or staging folder."""
        table = marked_folder(path.removeprefix(self._root), self._lake_id)
        if table is not None:
            self._abandoned.add(table)

    def _action(self, file: ListedFile, identity: str) -> str | None:
        """Return what becomes of a file; None if that is not for this operation to say."""
        if identity in self._known or not self._is_old(file.modified):
            return None
        origin = self._origin(file.path)
        if origin is Origin.THIS_LAKE or self._is_checksum_of_known(identity, origin):
            return DELETE
        if self._exclusive and origin is Origin.SHARED_FOLDER:
            return DELETE
        return KEEP if file.path.endswith(_DATA) else None

    def _is_checksum_of_known(self, identity: str, origin: Origin) -> bool:
        """Check for Hadoop's checksums of a file of this lake: no reader needs them."""
        folder, _, name = identity.rpartition("/")
        if origin is Origin.UNKNOWN or not (name.startswith(".") and name.endswith(_CHECKSUM)):
            return False
        return f"{folder}/{name[1:].removesuffix(_CHECKSUM)}" in self._known

    def _is_ours(self, folder: ListedFolder) -> bool:
        if folder.modified is None:
            # Only staging folders can be removed without a risk for the files of other writers.
            staged = staged_at(folder.path)
            return (
                staged is not None
                and self._is_old(staged)
                and self._origin(folder.path) is Origin.THIS_LAKE
            )
        if not self._is_old(folder.modified):
            return False
        origin = self._origin(folder.path)
        return (
            origin is Origin.THIS_LAKE
            or (self._exclusive and origin is Origin.SHARED_FOLDER)
            or is_table_folder(folder.path.removeprefix(self._root), self._tables | self._abandoned)
        )

    def _origin(self, path: str) -> Origin:
        return origin_of(path.removeprefix(self._root), self._lake_id, self._tables)

    def _is_old(self, modified: datetime.datetime) -> bool:
        return self._limit is None or modified < self._limit
