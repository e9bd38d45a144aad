"""UPDATE and MERGE: Spark joins, finds places and new rows in one pass, and writes these only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.catalog import Name, Transaction
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.scan import PLACE, ROW_ID, read_rows
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile, Table
from ducklake_spark.spec.names import is_reserved
from ducklake_spark.spec.positions import count_repeated
from ducklake_spark.spec.predicates import Predicate
from ducklake_spark.write.delete import delete_places
from ducklake_spark.write.kept import Kept, changed_rows, kept
from ducklake_spark.write.outcomes import (
    ACTION,
    IN_SOURCE,
    Clause,
    Values,
    expression,
    new_values,
    outcomes,
    written,
)
from ducklake_spark.write.stage import StagedFiles, discarded_on_error, stage

_BROADCAST_UP_TO = 500_000  # rows of a source, of which each task is given the keys
_ROWS_PER_FILE = 100_000  # of changed rows, which few tasks write as fast as many


@dataclass(frozen=True, slots=True)
class Changed:
    """How many rows a statement changed, and the files it staged for that."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    staged: tuple[StagedFiles, ...] = ()


def update(
    session: Session,
    tx: Transaction,
    name: Name,
    values: Values,
    condition: Expression | str | None = None,
    *,
    predicate: Predicate | None = None,
    alias: str | None = None,
) -> Changed:
    """Give new values to the rows for which the condition is true; they keep their row ids.

    `alias` is the name that expressions may know the table by.
    """
    table = tx.table(name)
    files = tx.files(table, predicate=predicate)
    rows = read_rows(session, tx, table, files, extras=(PLACE, ROW_ID))
    rows = rows.alias(alias or table.name.name)
    if condition is not None:
        rows = rows.where(expression(condition))
    with kept(rows.select(PLACE, ROW_ID, *new_values(table, values))) as found:
        places = found.rows.select(PLACE).toArrow()[PLACE]
        if not len(places):
            tx.delete_rows(table.name, {})
            return Changed()
        with discarded_on_error(tx) as staged:
            _stage_updated(tx, table, found.rows.drop(PLACE), len(places), staged)
            found.require_unchanged(table.name)
            delete_places(tx, table, files, places)
            _add(tx, table, staged)
        return Changed(updated=len(places), staged=tuple(staged))


def merge(
    session: Session,
    tx: Transaction,
    name: Name,
    source: DataFrame | Kept,
    on: Expression | str,
    clauses: Sequence[Clause],
    *,
    target_alias: str = "target",
    source_alias: str = "source",
    predicate: Predicate | None = None,
) -> Changed:
    """Merge a source into a table; for each row the first clause that applies counts.

    The source is read more than once: keep it (`kept`) if that is slow, or not the same each time.
    `predicate` says what `on` demands of single columns of the target; it must be left out with
    clauses for rows that are not matched by the source.
    """
    table = tx.table(name)
    _check_clauses(clauses)
    rows = source.rows if isinstance(source, Kept) else source
    _check_source(rows)
    files = tx.files(table, predicate=predicate)
    target = read_rows(session, tx, table, files, extras=(PLACE, ROW_ID)).alias(target_alias)
    marked = rows.withColumn(IN_SOURCE, F.lit(True)).alias(source_alias)
    if not _needs_all_rows(clauses) and rows.count() <= _BROADCAST_UP_TO:
        # Only the rows that are matched move to where they meet their matches.
        target = target.join(F.broadcast(marked), expression(on), "left_semi").alias(target_alias)
    joined = target.join(marked, expression(on), _join_kind(clauses))
    with kept(outcomes(table, joined, clauses, target_alias, source_alias)) as found:
        several = [found, source] if isinstance(source, Kept) else [found]
        return _apply(tx, table, files, several, clauses)


def _apply(
    tx: Transaction,
    table: Table,
    files: Sequence[DataFile],
    several: Sequence[Kept],
    clauses: Sequence[Clause],
) -> Changed:
    """Write what the first of the kept frames says; all of them must stay as they are meanwhile."""
    found = several[0].rows
    moves = found.where(F.col(PLACE).isNotNull()).select(PLACE, ACTION).toArrow()
    places = moves[PLACE]
    if repeated := count_repeated([chunk.to_numpy() for chunk in places.chunks]):
        affected = "1 row" if repeated == 1 else f"{repeated} rows"
        raise InvalidDefinitionError(
            f"Several rows of the source match the same row of {table.name}: this is the case for "
            f"{affected} of the table.",
            hint="Make the source unique by the columns it is joined on.",
        )
    with discarded_on_error(tx) as staged:
        inserted = 0
        for at, clause in enumerate(clauses):
            rows = found.where(F.col(ACTION) == at)
            if clause.then == "update":
                count = pc.sum(pc.equal(moves[ACTION], at)).as_py() or 0
                _stage_updated(tx, table, rows.select(f"{written(at)}.*", ROW_ID), count, staged)
            elif clause.then == "insert":
                new = rows.select(f"{written(at)}.*")
                staged.append(stage(new, table, tx.options(table)))
                inserted += staged[-1].record_count
        for one in several:
            one.require_unchanged(table.name)
        delete_places(tx, table, files, places)
        _add(tx, table, staged)
    updated = sum(one.record_count for one in staged) - inserted
    return Changed(inserted, updated, len(places) - updated, tuple(staged))


def _check_source(source: DataFrame) -> None:
    """Raise if a column of the source could be taken for one that is added to its rows."""
    for name in source.columns:
        if is_reserved(name):
            raise InvalidDefinitionError(
                f"The source of the MERGE has a column {name!r}, and names that begin with "
                "_ducklake_ are reserved.",
                hint="Give the column another name in the source's query.",
            )


def _check_clauses(clauses: Sequence[Clause]) -> None:
    if not clauses:
        raise InvalidDefinitionError("A MERGE needs at least one WHEN clause.")
    for clause in clauses:
        inserts = clause.then == "insert"
        if clause.then not in ("do nothing", "error") and inserts != (clause.when == "not matched"):
            raise InvalidDefinitionError(
                f"WHEN {clause.when.upper()} cannot {clause.then.upper()}.",
                hint="Rows that are not matched are inserted; all others are updated or deleted.",
            )


def _needs_all_rows(clauses: Sequence[Clause]) -> bool:
    return any(clause.when == "not matched by source" for clause in clauses)


def _join_kind(clauses: Sequence[Clause]) -> str:
    left = _needs_all_rows(clauses)
    right = any(clause.when == "not matched" for clause in clauses)
    return {(True, True): "full", (True, False): "left", (False, True): "right"}.get(
        (left, right), "inner"
    )


def _stage_updated(
    tx: Transaction, table: Table, rows: DataFrame, count: int, staged: list[StagedFiles]
) -> None:
    """Rows keep their ids; rows of this very transaction have none yet, and get theirs later."""
    if not count:
        return
    options = tx.options(table)
    if not table.partition_fields:  # each task makes a file
        rows = rows.coalesce(ceil(count / _ROWS_PER_FILE))
    old, new = rows.where(F.col(ROW_ID).isNotNull()), rows.where(F.col(ROW_ID).isNull())
    before = len(staged)
    staged.append(stage(old, table, options, with_row_ids=True))
    if tx.changes.seen(table).added:
        staged.append(stage(new.drop(ROW_ID), table, options))
    written = sum(files.record_count for files in staged[before:])
    if written != count:
        raise changed_rows(table.name)


def _add(tx: Transaction, table: Table, staged: Sequence[StagedFiles]) -> None:
    tx.add_files(table.name, [file for files in staged for file in files.files])
