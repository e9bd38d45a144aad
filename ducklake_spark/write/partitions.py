"""Overwrites the partitions that new rows are in, and leaves all others alone."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.catalog import Name, Transaction
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.files import end_files
from ducklake_spark.scan import PLACE, read_rows
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile, Table
from ducklake_spark.spec.types import FLOATS
from ducklake_spark.write.delete import delete_places
from ducklake_spark.write.layout import partition_key
from ducklake_spark.write.stage import StagedFiles, stage

_UNSIGNED = {"-0.0": "0.0", "-nan": "nan"}


def overwrite_partitions(
    session: Session, tx: Transaction, name: Name, frame: DataFrame
) -> StagedFiles:
    """Write the rows of a frame in place of all rows of the partitions that they are in."""
    table = tx.table(name)
    if not table.partition_fields:
        raise InvalidDefinitionError(
            f"{table.name} is not partitioned, so it has no partitions to overwrite.",
            hint="Partition it with ALTER TABLE … SET PARTITIONED BY, or overwrite all of it.",
        )
    before = tx.files(table)
    staged = stage(frame, table, tx.options(table))
    try:
        written = {_comparable(file.partition_values, table) for file in staged.files}
        retyped = _retyped(tx, table)
        whole = [
            file
            for file in before
            if _has_todays_keys(file, table, retyped)
            and _comparable(file.partition_values, table) in written
        ]
        others = [file for file in before if not _has_todays_keys(file, table, retyped)]
        added = tx.add_files(table.name, staged.files)
        if added and (others or tx.inlined_rows(table)):
            _delete_rows(session, tx, table, others, added)
        end_files(tx, table, whole)
    except BaseException:
        staged.discard()
        raise
    return staged


def _retyped(tx: Transaction, table: Table) -> int | None:
    """The last snapshot that gave a key's column another type, if there is one."""
    former = tx.former_types(table)
    ends = [end for key in table.partition_fields for end in former.get(key.column_id, {}).values()]
    return max(ends, default=None)


def _has_todays_keys(file: DataFile, table: Table, retyped: int | None) -> bool:
    """Whether the values of a file are told as those of a new one would be.

    A promotion keeps the partitioning, and the same value has another text, or bucket, by its new
    type. Files without a first row id may hold rows from before it, and keep their old values.
    """
    if table.partition is None or file.partition_id != table.partition.id:
        return False
    is_newer = file.row_id_start is not None and file.begin_snapshot > (retyped or 0)
    return retyped is None or is_newer


def _comparable(values: Sequence[str | None], table: Table) -> tuple[str | None, ...]:
    """Partition values with one text for equal floats: DuckDB keeps the signs of 0.0 and NaN."""
    floats = {column.id for column in table.columns if column.type.name in FLOATS}
    return tuple(
        _UNSIGNED.get(value, value) if value is not None and key.column_id in floats else value
        for key, value in zip(table.partition_fields, values, strict=True)
    )


def _delete_rows(
    session: Session,
    tx: Transaction,
    table: Table,
    others: Sequence[DataFile],
    added: Sequence[DataFile],
) -> None:
    """Delete rows of these partitions from files that were written for other keys."""
    columns = {column.id: column for column in table.columns}
    keys = [
        partition_key(key, columns[key.column_id]).alias(f"k{at}")
        for at, key in enumerate(table.partition_fields)
    ]
    # Rows of the catalog come with either read; those of the new files alone are what counts.
    new = read_rows(session, tx, table, added, extras=(PLACE,)).where(F.col(PLACE) >= 0)
    old = read_rows(session, tx, table, others, extras=(PLACE,)).select(PLACE, *keys)
    wanted = new.select(*keys).distinct().alias("new")
    names = [f"k{at}" for at in range(len(keys))]
    same = [F.col(f"old.{name}").eqNullSafe(F.col(f"new.{name}")) for name in names]
    condition = same[0]
    for more in same[1:]:
        condition = condition & more
    gone = old.alias("old").join(F.broadcast(wanted), condition, "left_semi")
    delete_places(tx, table, others, gone.select(PLACE).toArrow()[PLACE])
