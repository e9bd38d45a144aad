"""Counts the rows of a write in Spark, and compares the count with the files that arrived.

Spark reports success when its tasks have written their files. Whether the driver sees these files
is another question: a worker without the shared disk writes to its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from ducklake_spark.errors import InvalidDefinitionError, RowCountError, StorageError
from ducklake_spark.spec.model import Column, NewDataFile, Table
from ducklake_spark.spec.names import backticked
from ducklake_spark.spec.types import FLOATS
from ducklake_spark.storage.failures import files_of

_ROWS = "rows"
_THREADS = 8

P = TypeVar("P")


def describe_visible(
    table: Table, paths: Iterable[P], describe: Callable[[P], NewDataFile]
) -> list[NewDataFile]:
    """Describe the files that this process sees, several at once, in the order of the paths.

    A file that Spark names and this process does not see is left out: its rows are then missing in
    `RowCounts.require_all_rows`.
    """

    def describe_if_there(path: P) -> NewDataFile | None:
        try:
            return describe(path)
        except StorageError as error:
            if error.is_missing:
                return None
            raise

    with files_of(table.name), ThreadPoolExecutor(_THREADS) as pool:
        return [file for file in pool.map(describe_if_there, paths) if file is not None]


def count_rows(
    frame: DataFrame, table: Table, columns: Sequence[Column] = ()
) -> tuple[DataFrame, RowCounts]:
    """Return the frame with an observation of its rows, and of the NULLs and NaNs of `columns`.

    Nothing after this call may shuffle the rows: Spark runs the tasks before a shuffle again when a
    worker dies, and counts their rows again, but it counts each task of the last stage once. Only
    the write may use the frame: whatever Spark runs on it first, or fails to analyse, ends the
    observation.
    """
    counts = {_ROWS: F.count(F.lit(1))}
    for column in columns:
        name = backticked(column.name)
        if column.type.name in FLOATS:
            counts[f"nan{column.id}"] = F.count_if(F.isnan(name))
        if not column.nullable:
            counts[f"null{column.id}"] = F.count_if(F.isnull(name))
    seen = Observation()
    observed = frame.observe(seen, *(count.alias(name) for name, count in counts.items()))
    return observed, RowCounts(table, tuple(columns), lambda: seen.get)


def count_here(rows: pa.Table, table: Table) -> RowCounts:
    """Return the same counts, but those of NaN, of rows that this process has."""
    counts = {_ROWS: len(rows)}
    for column, values in zip(table.columns, rows.columns, strict=True):
        if not column.nullable:
            counts[f"null{column.id}"] = values.null_count
    return RowCounts(table, table.columns, lambda: counts)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The counts of one write. Read them after the write: until then, reading may block."""

    table: Table
    columns: tuple[Column, ...]
    _counts: Callable[[], Mapping[str, Any]]

    def reject_nulls(self) -> None:
        """Raise if a NOT NULL column has NULLs. Footers count the NULLs of leaf columns only."""
        counts = self._counts()
        for column in self.columns:
            if missing := counts.get(f"null{column.id}"):
                raise InvalidDefinitionError(
                    f"Column {column.name!r} of {self.table.name} is NOT NULL, and {missing} of "
                    "the rows to write have no value there.",
                    hint="Give them a value in the query, or ALTER the column to DROP NOT NULL.",
                )

    @property
    def nan_columns(self) -> Mapping[int, bool]:
        """Whether each float column has NaN, by column ID. Footers do not tell."""
        counts = self._counts()
        keys = {column.id: f"nan{column.id}" for column in self.columns}
        return {id_: bool(counts[key]) for id_, key in keys.items() if key in counts}

    def require_all_rows(self, folder: str, files: Iterable[NewDataFile]) -> None:
        """Raise RowCountError unless the files hold exactly the rows that Spark counted."""
        written = self._counts().get(_ROWS)
        found = sum(file.record_count for file in files)
        if written != found:
            count = "an unknown number of" if written is None else f"{written:,}"
            raise RowCountError(
                f"Spark wrote {count} rows of {self.table.name} to {folder}, but the data files "
                f"that this process sees there hold {found:,} rows. Nothing was committed.",
                hint="Make sure that every Spark worker and the machine that runs dbt see the same "
                "data path, on a shared disk or an object store. Run dbt debug to find the worker "
                "that does not.",
            )
