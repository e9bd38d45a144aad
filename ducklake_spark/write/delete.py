"""DELETE: Spark finds the rows, their positions become delete files, no data file is rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.catalog import Name, Transaction
from ducklake_spark.files import end_files
from ducklake_spark.scan import PLACE, read_rows, split_places
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile, Table
from ducklake_spark.spec.positions import expand_words
from ducklake_spark.spec.predicates import Predicate
from ducklake_spark.storage.delete_files import StagedDeleteFile, stage_delete
from ducklake_spark.storage.failures import files_of
from ducklake_spark.storage.recorded import check_row_counts

_THREADS = 8
_COLLECT_UP_TO = 16_000_000  # rows, whose places need 128 MB
_WORD_BITS = 6
_WORD = 1 << _WORD_BITS


def delete(
    session: Session,
    tx: Transaction,
    name: Name,
    condition: Expression | str,
    *,
    predicate: Predicate | None = None,
    alias: str | None = None,
) -> int:
    """Delete the rows for which the condition is true; how many those were.

    `predicate` says what the condition demands of single columns, to leave files unread. `alias`
    is the name that the condition may know the table by.
    """
    table = tx.table(name)
    files = tx.files(table, predicate=predicate)
    rows = read_rows(session, tx, table, files, extras=(PLACE,)).alias(alias or table.name.name)
    wanted = F.expr(condition) if isinstance(condition, str) else condition
    places = collect_places(rows.where(wanted), sum(file.live_rows for file in files))
    delete_places(tx, table, files, places)
    return len(places)


def collect_places(rows: DataFrame, at_most: int) -> pa.ChunkedArray:
    """Return the places of rows, of which there are so many at most.

    Spark keeps what it returns in the driver's heap. Of many rows it returns a bit for each, in
    words of 64 neighbours.
    """
    if at_most <= _COLLECT_UP_TO:
        return rows.select(PLACE).toArrow()[PLACE]
    bit = F.expr(f"shiftleft(1L, cast({PLACE} & {_WORD - 1} AS INT))")
    words = rows.groupBy(F.shiftright(PLACE, _WORD_BITS).alias(PLACE)).agg(F.bit_or(bit).alias("w"))
    found = words.toArrow()
    return pa.chunked_array(
        expand_words(found[PLACE].to_numpy(), found["w"].to_numpy()), pa.int64()
    )


def delete_places(
    tx: Transaction, table: Table, files: Sequence[DataFile], places: pa.ChunkedArray
) -> None:
    """Delete rows by their PLACE, which counts in `files`."""
    found = split_places(places)
    whole = {at for at, positions in found.items() if len(positions) >= files[at].live_rows}
    with files_of(table.name):
        check_row_counts((files[at] for at in whole), table.name)

    def stage(at: int) -> tuple[int, StagedDeleteFile]:
        positions = found[at]
        return files[at].id, stage_delete(table, files[at], positions, tx.snapshot.id + 1)

    with files_of(table.name), ThreadPoolExecutor(_THREADS) as pool:
        staged = dict(pool.map(stage, (at for at in found if at not in whole)))
    tx.delete_rows(table.name, staged)
    end_files(tx, table, [files[at] for at in sorted(whole)])
    row_ids = pc.subtract(-1, places.filter(pc.less(places, 0)))
    tx.delete_inlined(table.name, row_ids.to_pylist())
