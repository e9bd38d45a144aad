"""Makes existing Parquet files part of a table, where they are and as they are (FORMAT 1.15).

The lake owns them from then on: they are removed once no snapshot needs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from ducklake_spark.catalog import Name, Transaction
from ducklake_spark.errors import (
    AlreadyExistsError,
    IncompatibleFileError,
    NotFoundError,
    StorageError,
)
from ducklake_spark.files.matching import Match, folders_of, match_columns
from ducklake_spark.spec.model import Column, DataFile, NewDataFile, Table
from ducklake_spark.spec.partitions import IDENTITY, Transform, key_names, partition_value
from ducklake_spark.spec.paths import canonical, is_remote, stored_below
from ducklake_spark.spec.scalars import Physical
from ducklake_spark.spec.stats import ColumnStats
from ducklake_spark.spec.types import FLOATS
from ducklake_spark.spec.values import format_text
from ducklake_spark.storage.filesystem import expanded
from ducklake_spark.storage.footers import Footer, bound_value, described, has_bounds, read_footer

_THREADS = 8
_NUMBER = re.compile(r"-?\d+", re.ASCII)


def add_data_files(
    tx: Transaction,
    name: Name,
    paths: str | Sequence[str],
    *,
    allow_missing: bool = False,
    ignore_extra_columns: bool = False,
    hive_partitioning: bool = True,
) -> list[DataFile]:
    """Add Parquet files to a table; a path may have wildcards.

    Columns are found by name. `allow_missing`: one that a file lacks has its default there.
    `ignore_extra_columns`: those that the table lacks stay unread. `hive_partitioning`: folders
    like ``region=eu/`` give the column `region` its value, as they must if the table is
    partitioned.
    """
    table = tx.table(name)
    given = [paths] if isinstance(paths, str) else paths
    found = [file for path in given for file in _expanded(path)]
    for path in found:
        tx.area.check(path, "The file to add,")
    _check_new(tx, table, found)
    adoption = _Adoption(table, allow_missing, ignore_extra_columns, hive_partitioning)
    with ThreadPoolExecutor(_THREADS) as pool:
        new = list(pool.map(adoption.describe, found))
    return tx.add_files(table.name, new)


def _expanded(path: str) -> list[str]:
    complete = path if is_remote(path) else str(Path(canonical(path)).expanduser().absolute())
    files = expanded(complete)
    if not files:
        raise NotFoundError(f"A file like {path!r}")
    return files


def _check_new(tx: Transaction, table: Table, paths: Sequence[str]) -> None:
    """Its rows would be there twice."""
    known = {canonical(file.path) for file in tx.files(table)}
    for path in paths:
        if canonical(path) in known:
            raise AlreadyExistsError(f"The file {path!r} is part of {table.name} already.")
        known.add(canonical(path))


@dataclass(frozen=True, slots=True)
class _Adoption:
    table: Table
    allow_missing: bool
    ignore_extra_columns: bool
    hive_partitioning: bool

    def describe(self, path: str) -> NewDataFile:
        footer = _read_footer(path)
        folders = folders_of(path) if self.hive_partitioning else {}
        match = match_columns(
            footer,
            self.table,
            folders,
            allow_missing=self.allow_missing,
            ignore_extra_columns=self.ignore_extra_columns,
        )
        stored = stored_below(self.table.location, path)
        new = described(stored, footer, match.leaves)
        held = {
            s.column_id: s for s in (*new.stats, *described(stored, footer, match.overruled).stats)
        }
        claimed = []
        for column in self.table.columns:
            if column.id in match.values:
                value = match.values[column.id]
                said = None if value is None else partition_value(IDENTITY, value, column.type)
                _check_against(path, column, IDENTITY, said, held.get(column.id))
                claimed.append(_claimed(value, column, new.record_count))
        values = self._partition_values(path, folders, match, held)
        known = (*(_without_bounds_of_floats(s, self.table) for s in new.stats), *claimed)
        self._check_nulls(path, known)
        return replace(new, stats=known, mapping=match.mapping, partition_values=values)

    def _partition_values(
        self,
        path: str,
        folders: Mapping[str, str | None],
        match: Match,
        held: Mapping[int, ColumnStats],
    ) -> tuple[str | None, ...]:
        columns = {column.id: column for column in self.table.columns}
        keys = [(key.transform, columns[key.column_id]) for key in self.table.partition_fields]
        names = key_names([(transform, column.name) for transform, column in keys])
        values: list[str | None] = []
        for name, (transform, column) in zip(names, keys, strict=True):
            if name not in folders:
                raise IncompatibleFileError(
                    f"{self.table.name} is partitioned by {name}, and no folder of {path!r} says "
                    f"{name}=….",
                    hint="Insert the rows instead, or reset the table's partitioning before.",
                )
            if column.id in match.values:
                value = match.values[column.id]
                values.append(
                    None if value is None else partition_value(transform, value, column.type)
                )
            else:
                said = _number(folders[name], name, path)
                _check_against(path, column, transform, said, held.get(column.id))
                values.append(said)
        return tuple(values)

    def _check_nulls(self, path: str, known: Sequence[ColumnStats]) -> None:
        nulls = {stats.column_id: stats.null_count for stats in known}
        for column in self.table.columns:
            if column.nullable or nulls.get(column.id) == 0:
                continue
            if column.id not in nulls and not column.type.is_nested:
                if column.initial_default is not None:
                    continue
                reason = "lacks it"
            else:
                reason = "holds NULL there, or does not say that it does not"
            raise IncompatibleFileError(
                f"Column {column.name!r} of {self.table.name} is NOT NULL, and the file {path!r} "
                f"{reason}.",
                hint="Insert the rows instead, or let the column hold NULL before.",
            )


def _read_footer(path: str) -> Footer:
    try:
        return read_footer(path)
    except StorageError as error:
        if error.is_missing:
            raise NotFoundError(f"The file {path!r}") from error
        if isinstance(error.__cause__, pa.ArrowInvalid):
            raise IncompatibleFileError(f"The file {path!r} is no Parquet file.") from error
        raise


def _number(text: str | None, name: str, path: str) -> str | None:
    """The value of a transform, of which all are numbers."""
    if text is not None and not _NUMBER.fullmatch(text):
        raise IncompatibleFileError(
            f"The path {path!r} gives the partition key {name} the value {text!r}, "
            "which is no number."
        )
    return None if text is None else str(int(text))


def _check_against(
    path: str, column: Column, transform: Transform, said: str | None, held: ColumnStats | None
) -> None:
    """What the file holds must be what its folder says; DuckDB would believe the folder."""
    if held is None:
        return
    found: list[str | None] = []
    if held.null_count:
        found.append(None)
    for text in (held.min_value, held.max_value):
        if text is not None:
            value = bound_value(text, column.type)
            found.append(partition_value(transform, value, column.type))
    wrong = next((text for text in found if text != said), said)
    if wrong != said:
        raise IncompatibleFileError(
            f"The path {path!r} gives {column.name!r} the {_named(transform)} {_shown(said)}, and "
            f"the file holds {_shown(wrong)}.",
            hint="Set hive_partitioning to false if the folders do not mean that.",
        )


def _named(transform: Transform) -> str:
    return "value" if transform == IDENTITY else str(transform)


def _shown(text: str | None) -> str:
    return "NULL" if text is None else repr(text)


def _claimed(value: Physical | None, column: Column, count: int) -> ColumnStats:
    """The statistics of a column that has one value throughout and takes no room."""
    text = (
        format_text(value, column.type) if value is not None and has_bounds(column.type) else None
    )
    is_nan = value is not None and value != value
    return ColumnStats(
        column_id=column.id,
        column_size_bytes=0,
        value_count=0 if value is None else count,
        null_count=count if value is None else 0,
        min_value=None if is_nan else text,
        max_value=None if is_nan else text,
        contains_nan=is_nan if column.type.name in FLOATS else None,
    )


def _without_bounds_of_floats(stats: ColumnStats, table: Table) -> ColumnStats:
    """Drop the bounds of floats: no footer proves that a file of any writer holds no NaN, and
    DuckDB finds no NaN beyond bounds."""
    floats = {leaf.id for leaf in table.walk() if leaf.type.name in FLOATS}
    if stats.column_id not in floats:
        return stats
    return replace(stats, min_value=None, max_value=None, contains_nan=stats.contains_nan or None)
