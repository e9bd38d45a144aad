"""Which files of a table become one: of the same columns and partition, up to a sensible size."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ducklake_spark.catalog import SnapshotReader
from ducklake_spark.spec.model import DataFile, Table
from ducklake_spark.spec.paths import stored_below


@dataclass(frozen=True, slots=True)
class Pack:
    """Files of which one is made. They were written with the columns of `schema_version`."""

    schema_version: int
    files: tuple[DataFile, ...]

    @property
    def rows(self) -> int:
        """How many rows are left in the files."""
        return sum(file.live_rows for file in self.files)

    def directory(self, table: Table) -> str:
        """Where the new file goes: DuckDB wants all files of a partition in one directory."""
        first = self.files[0]
        if first.partition_id is None:
            return ""
        stored = stored_below(table.location, first.path)
        folder, slash, _ = stored.path.rpartition("/")
        return folder + slash if stored.is_relative else ""


def packed(
    reader: SnapshotReader,
    table: Table,
    files: Sequence[DataFile],
    target: int,
    size_of: Callable[[DataFile], float],
) -> Iterator[Pack]:
    """The files in packs that add up to a target size, in the order in which they came."""
    versions = reader.schema_versions(table)
    begins = [begin for begin, _ in versions]
    alike: defaultdict[object, list[DataFile]] = defaultdict(list)
    for file in sorted(files, key=_age):
        at = bisect_right(begins, file.begin_snapshot)
        if at:  # else nobody knows its columns
            version = versions[at - 1][1]
            alike[version, file.partition_id, file.partition_values].append(file)
    for members in alike.values():
        version = versions[bisect_right(begins, members[0].begin_snapshot) - 1][1]
        for pack in _filled(members, target, size_of):
            yield Pack(version, tuple(pack))


def _age(file: DataFile) -> tuple[int, bool, int, int]:
    start = file.row_id_start
    return file.begin_snapshot, start is None, start or 0, file.id


def _filled(
    files: Sequence[DataFile], target: int, size_of: Callable[[DataFile], float]
) -> Iterator[list[DataFile]]:
    pack: list[DataFile] = []
    size = 0.0
    for file in files:
        pack.append(file)
        size += size_of(file)
        if size >= target:
            yield pack
            pack, size = [], 0.0
    if pack:
        yield pack
