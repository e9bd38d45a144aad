"""Small files become large ones, and every snapshot shows what it showed before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ducklake_spark.catalog import Catalog, Merge, MovedRows, SnapshotReader
from ducklake_spark.errors import ConfigError
from ducklake_spark.maintain.compacting import (
    CompactedFile,
    Operation,
    commit,
    compact_tables,
    compact_with_duckdb,
    discarded_on_error,
)
from ducklake_spark.maintain.packing import Pack, packed
from ducklake_spark.maintain.rows_of_files import write_packs
from ducklake_spark.scan import ROW_ID, SNAPSHOT_ID
from ducklake_spark.scan.types import refuse_unwritable
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Column, DataFile, NewDataFile, Table
from ducklake_spark.spec.types import FLOATS
from ducklake_spark.write.options import target_file_size

_NAME = "merge_adjacent_files"


@dataclass(frozen=True, slots=True)
class _Limits:
    """Which files are looked at, and how many are made of them."""

    min_file_size: int
    max_file_size: int | None
    max_compacted_files: int | None

    def __post_init__(self) -> None:
        for name in ("max_file_size", "max_compacted_files"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"{name} must be greater than zero, and is {value}.")
        if self.min_file_size < 0:
            raise ConfigError(
                f"min_file_size cannot be less than zero, and is {self.min_file_size}."
            )
        if self.max_file_size is not None and self.min_file_size >= self.max_file_size:
            raise ConfigError(
                f"min_file_size ({self.min_file_size}) must be less than max_file_size "
                f"({self.max_file_size})."
            )


def merge_adjacent_files(
    catalog: Catalog,
    session: Session,
    *,
    table_name: str | None = None,
    schema: str | None = None,
    max_compacted_files: int | None = None,
    min_file_size: int | None = None,
    max_file_size: int | None = None,
    dry_run: bool = False,
) -> list[CompactedFile]:
    """Merge files of the same columns and partition, up to the option target_file_size each.

    Files with deleted rows are left to `rewrite_data_files`. The sizes say which files are looked
    at; `max_compacted_files` is how many are made at most, for each table.
    """
    limits = _Limits(min_file_size or 0, max_file_size, max_compacted_files)

    def merge(session: Session, reader: SnapshotReader, table: Table) -> list[CompactedFile]:
        packs = _plan(reader, table, limits)
        columns = _columns(reader, table, packs)
        if packs and not dry_run:
            _merge(catalog, session, reader, table, packs, columns)
        return [
            CompactedFile(table.name.schema, table.name.name, len(pack.files), 1) for pack in packs
        ]

    operation = Operation(_NAME, merge, CompactedFile.none_of)
    return compact_tables(catalog, session, schema, table_name, operation)


def files_saved(reader: SnapshotReader, table: Table) -> int:
    """Return how many files fewer the table would have after a merge."""
    packs = _plan(reader, table, _Limits(0, None, None))
    _columns(reader, table, packs)  # raises for those that cannot be written
    return sum(len(pack.files) - 1 for pack in packs)


def _plan(reader: SnapshotReader, table: Table, limits: _Limits) -> list[Pack]:
    target = target_file_size(reader.options(table))
    below = min(target, limits.max_file_size or target)
    floats = [leaf.id for leaf in table.walk() if leaf.type.name in FLOATS]
    small = [
        file
        for file in reader.files(table, stats_of=floats)
        if limits.min_file_size <= file.file_size_bytes < below and not file.deleted_rows
    ]
    packs = packed(reader, table, small, target, lambda file: file.file_size_bytes)
    several = (pack for pack in packs if len(pack.files) > 1)
    return list(islice(several, limits.max_compacted_files))


def _columns(
    reader: SnapshotReader, table: Table, packs: Sequence[Pack]
) -> dict[int, tuple[Column, ...]]:
    """The columns that files were written with, by schema version.

    What was dropped since is there for the snapshots that had it.
    """
    begins = {pack.schema_version: pack.files[0].begin_snapshot for pack in packs}
    columns = {version: reader.columns_at(table, begin) for version, begin in begins.items()}
    for known in columns.values():
        refuse_unwritable(known, table.name, compact_with_duckdb(_NAME))
    return columns


def _merge(
    catalog: Catalog,
    session: Session,
    reader: SnapshotReader,
    table: Table,
    packs: Sequence[Pack],
    columns: Mapping[int, Sequence[Column]],
) -> None:
    by_version: defaultdict[int, list[Pack]] = defaultdict(list)
    for pack in packs:
        by_version[pack.schema_version].append(pack)
    merges: list[Merge] = []
    with discarded_on_error(table) as written:
        for version, alike in by_version.items():
            keep = (ROW_ID, SNAPSHOT_ID)
            made = write_packs(session, reader, table, columns[version], alike, keep)
            written += [file.path for file in made]
            merges += [Merge(p.files, _stand_in(p, f)) for p, f in zip(alike, made, strict=True)]
        commit(catalog, reader, table, merges, _NAME, written)


def _stand_in(pack: Pack, file: NewDataFile) -> MovedRows:
    first = pack.files[0]
    return MovedRows(
        file,
        begin_snapshot=first.begin_snapshot,
        partial_max=max(map(_newest, pack.files)),
        partition_id=first.partition_id,
    )


def _newest(file: DataFile) -> int:
    return file.begin_snapshot if file.partial_max is None else file.partial_max
