"""Carries out INSERT, DELETE, UPDATE, MERGE and TRUNCATE, each inside a transaction's work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from ducklake_spark.errors import InvalidDefinitionError, NotFoundError
from ducklake_spark.files import truncate
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import fold
from ducklake_spark.spec.predicates import AllOf, Predicate
from ducklake_spark.sql.defaults import computed_defaults, default_of, with_defaults
from ducklake_spark.sql.failures import SPARK_ERRORS, query_error
from ducklake_spark.sql.pruning import condition_of, equalities_of
from ducklake_spark.sql.references import find_references
from ducklake_spark.sql.result import Outcome
from ducklake_spark.sql.scope import Scope
from ducklake_spark.sql.splice import Spliced
from ducklake_spark.sql.statements import (
    Delete,
    Insert,
    Merge,
    Parts,
    Truncate,
    Update,
    When,
)
from ducklake_spark.sql.tokens import Cursor, quoted
from ducklake_spark.sql.workspace import Relation, Work
from ducklake_spark.write import (
    Clause,
    StagedFiles,
    append,
    delete,
    kept,
    key_range,
    merge,
    overwrite,
    overwrite_partitions,
    stage,
    update,
)
from ducklake_spark.write.assign import assigned

_MATCHES = "_ducklake_matches"
# A target of fewer files is read whole sooner than the source's keys are looked through.
_WORTH_A_LOOK = 8


def insert(scope: Scope, work: Work, to: Relation, wanted: Insert) -> Outcome:
    table = work.tx.table(to.name)
    frame = _rows(scope, table, wanted, to.lake)
    seen = Observation() if wanted.only_matching else None
    if seen is not None:
        frame = _matching(scope, to, wanted, assigned(frame, table), seen)
    deleted = 0
    if wanted.replace_where is not None:
        deleted, staged = _replaced(scope, work, to, wanted, frame)
    elif wanted.overwrite:
        deleted, staged = _overwritten(scope, work, table, wanted, frame)
        work.staged.append(staged)
    else:
        staged = append(work.tx, table.name, frame)
        work.staged.append(staged)
    return Outcome(
        "INSERT OVERWRITE" if wanted.overwrite else "INSERT",
        rows_inserted=staged.record_count,
        rows_deleted=deleted,
        rows_left_out=seen.get["left_out"] if seen is not None else 0,
        files=len(staged.files),
        bytes=staged.file_size_bytes,
    )


def _matching(
    scope: Scope, to: Relation, wanted: Insert, frame: DataFrame, seen: Observation
) -> DataFrame:
    """Return the new rows that meet the REPLACE WHERE condition, and count the others in `seen`."""
    name = wanted.alias or to.name.name
    condition = F.expr(_spliced(scope, wanted.replace_where or "true", to, name))
    # A column of its own: Spark allows no subquery in what is observed.
    judged = frame.alias(name).withColumn(_MATCHES, F.coalesce(condition, F.lit(False)))
    # Spark filters no rows before it counts them.
    counted = judged.observe(seen, F.count_if(~F.col(_MATCHES)).alias("left_out"))
    return counted.where(F.col(_MATCHES)).drop(_MATCHES)


def _rows(scope: Scope, table: Table, wanted: Insert, lake: str) -> DataFrame:
    """The rows to insert under the names of the table's columns."""
    given = {fold(key): value for key, value in wanted.partition.items() if value is not None}
    frame = scope.query(with_defaults(scope, wanted.query, table, wanted.columns, lake))
    if not wanted.by_name:
        names = list(wanted.columns)
        names = names or [c.name for c in table.columns if fold(c.name) not in given]
        if len(names) != len(frame.columns):
            raise InvalidDefinitionError(
                f"The query gives {len(frame.columns)} columns, and {len(names)} of {table.name} "
                f"are to be filled: {', '.join(names)}."
            )
        frame = frame.toDF(*names)
    for name, value in given.items():
        frame = frame.withColumn(table.column(quoted(name)).name, F.expr(value))
    computed = computed_defaults(scope, table, frame.columns, lake)
    return frame.withColumns(computed) if computed else frame  # Connect takes no empty one


def _replaced(
    scope: Scope, work: Work, to: Relation, wanted: Insert, frame: DataFrame
) -> tuple[int, StagedFiles]:
    """Rows deleted and files written by an INSERT … REPLACE WHERE.

    The new rows are written first. That takes long, and several clients may do it at once. If the
    new rows do not come from the table itself, changes that others make to the table meanwhile are
    not in conflict: the rows to replace are searched in the newest snapshot.
    """
    table = work.tx.table(to.name)
    condition = wanted.replace_where or "true"
    is_independent = work.is_first and _is_independent(scope, table, wanted)
    staged = stage(frame, table, work.tx.options(table))
    work.staged.append(staged)
    if is_independent:
        scope.workspace.catch_up(work, table)
        scope.read_through(to.lake, work.tx)
    deleted = _delete(scope, work, to, table, condition, wanted.alias)
    work.tx.add_files(table.name, staged.files)
    return deleted, staged


def _is_independent(scope: Scope, table: Table, wanted: Insert) -> bool:
    """Whether it is certain that the new rows, which were just analysed, do not depend on a table.

    The condition may read the table, but in the newest snapshot and not through other views. With
    ONLY it has chosen the new rows already, by the snapshot that was read.
    """
    condition = wanted.replace_where or "true"
    if any(scan.table.id == table.id for scan in scope.scans):
        return False
    for reference in find_references(Cursor(condition)).references:
        parts = reference.parts
        if wanted.only_matching or reference.arguments is not None or not scope.knows(parts):
            return False
        if len(parts) < 3 and scope.spark_has(parts):
            return False
    return scope.reads_lakes_alone(wanted.query, condition)


def _overwritten(
    scope: Scope, work: Work, table: Table, wanted: Insert, frame: DataFrame
) -> tuple[int, StagedFiles]:
    """Rows deleted and files written by an INSERT OVERWRITE."""
    tx, session = work.tx, scope.workspace.session
    mode = session.spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static")
    static = {key: value for key, value in wanted.partition.items() if value is not None}
    dynamic = (wanted.partition and not static) or (mode or "").lower() == "dynamic"
    if dynamic and len(static) < len(table.partition_fields):
        before = _row_count(work, table)
        staged = overwrite_partitions(session, tx, table.name, frame)
        return before + staged.record_count - _row_count(work, table), staged
    if static:
        condition = " AND ".join(f"{quoted(key)} <=> {value}" for key, value in static.items())
        deleted = delete(session, tx, table.name, condition)
        return deleted, append(tx, table.name, frame)
    before = _row_count(work, table)
    return before, overwrite(tx, table.name, frame)


def _row_count(work: Work, table: Table) -> int:
    """The rows of a table by the catalog's own count."""
    in_files = sum(file.live_rows for file in work.tx.recorded_files(table))
    return in_files + len(work.tx.inlined_rows(table))


# --- DELETE, UPDATE, TRUNCATE ---


def delete_rows(scope: Scope, work: Work, to: Relation, wanted: Delete) -> Outcome:
    table = work.tx.table(to.name)
    if wanted.condition is None:
        return _emptied(work, to, "DELETE")
    count = _delete(scope, work, to, table, wanted.condition, wanted.alias)
    return Outcome("DELETE", rows_deleted=count)


def _delete(
    scope: Scope,
    work: Work,
    to: Relation,
    table: Table,
    condition: str,
    alias: str | None,
) -> int:
    name = alias or to.name.name
    predicate = _predicate(scope, table, condition, name)
    text = _spliced(scope, condition, to, name)
    with _explaining(scope):
        return delete(
            scope.workspace.session, work.tx, table.name, text, predicate=predicate, alias=name
        )


def truncate_table(_: Scope, work: Work, to: Relation, __: Truncate) -> Outcome:
    return _emptied(work, to, "TRUNCATE")


def _emptied(work: Work, to: Relation, operation: str) -> Outcome:
    table = work.tx.table(to.name)
    count = _row_count(work, table)
    truncate(work.tx, table.name)
    return Outcome(operation, rows_deleted=count)


def update_rows(scope: Scope, work: Work, to: Relation, wanted: Update) -> Outcome:
    table = work.tx.table(to.name)
    name = wanted.alias or to.name.name
    values = _assigned(scope, table, wanted.assignments, to, name)
    condition, predicate = None, None
    if wanted.condition is not None:
        predicate = _predicate(scope, table, wanted.condition, name)
        condition = _spliced(scope, wanted.condition, to, name)
    with _explaining(scope):
        changed = update(
            scope.workspace.session,
            work.tx,
            table.name,
            values,
            condition,
            predicate=predicate,
            alias=name,
        )
    work.staged += changed.staged
    return _outcome("UPDATE", changed.staged, updated=changed.updated)


def _outcome(
    operation: str,
    staged: Sequence[StagedFiles],
    *,
    inserted: int = 0,
    updated: int = 0,
    deleted: int = 0,
) -> Outcome:
    return Outcome(
        operation,
        rows_inserted=inserted,
        rows_updated=updated,
        rows_deleted=deleted,
        files=sum(len(one.files) for one in staged),
        bytes=sum(one.file_size_bytes for one in staged),
    )


def _predicate(scope: Scope, table: Table, condition: str, name: str) -> Predicate | None:
    return scope.predicate(condition_of(condition, [name, ""]), table)


def _spliced(scope: Scope, text: str, to: Relation, alias: str) -> str:
    """An expression over a table that goes by an alias, whatever name the user gave it there."""
    return scope.splice(text, aliases={to: alias}).text


def _assigned(
    scope: Scope,
    table: Table,
    assignments: Sequence[tuple[Parts, str]],
    to: Relation,
    alias: str,
) -> dict[str, Expression | str]:
    """New values by column; those of fields within a struct become one for the struct."""
    values: dict[str, Expression | str] = {}
    for path, text in assignments:
        column, rest = _assignee(table, path, alias)
        if column.name in values and not rest:
            raise InvalidDefinitionError(f"Column {column.name!r} of {table.name} is set twice.")
        if text.strip().upper() == "DEFAULT" and not rest:
            values[column.name] = default_of(scope, table, column, to.lake)
            continue
        value = _spliced(scope, text, to, alias)
        if not rest:
            values[column.name] = value
            continue
        before = values.get(column.name, F.col(f"{quoted(alias)}.{quoted(column.name)}"))
        struct = F.expr(before) if isinstance(before, str) else before
        values[column.name] = struct.withField(".".join(map(quoted, rest)), F.expr(value))
    return values


def _assignee(table: Table, path: Parts, alias: str) -> tuple[Column, Parts]:
    """The column that an assignment is for, and the path to the field within it."""
    columns = {fold(column.name): column for column in table.columns}
    qualified = len(path) > 1 and fold(path[0]) == fold(alias) and fold(path[1]) in columns
    if fold(path[0]) not in columns or (qualified and len(path) == 2):
        path = path[1:] if qualified else path[-1:] if len(path) > 2 else path
    column = columns.get(fold(path[0]))
    if column is None:
        near = [column.name for column in table.columns]
        raise NotFoundError(f"Column {path[0]!r} of {table.name}", near=near, wanted=path[0])
    return column, path[1:]


# --- MERGE ---


def merge_rows(scope: Scope, work: Work, to: Relation, wanted: Merge) -> Outcome:
    table = work.tx.table(to.name)
    alias = wanted.alias or to.name.name
    source_alias = wanted.source_alias or "source"
    source = scope.query(wanted.source)
    clauses = [
        _clause(scope, table, when, to, alias, source_alias, source) for when in wanted.clauses
    ]
    with _explaining(scope), kept(source) as found:
        changed = merge(
            scope.workspace.session,
            work.tx,
            table.name,
            found,
            _spliced(scope, wanted.on, to, alias),
            clauses,
            target_alias=alias,
            source_alias=source_alias,
            predicate=_merge_predicate(scope, work, table, wanted, alias, found.rows),
        )
    work.staged += changed.staged
    return _outcome(
        "MERGE",
        changed.staged,
        inserted=changed.inserted,
        updated=changed.updated,
        deleted=changed.deleted,
    )


def _merge_predicate(
    scope: Scope, work: Work, table: Table, wanted: Merge, alias: str, source: DataFrame
) -> Predicate | None:
    """What a row of the target must be like to be matched at all."""
    by_source = any(when.when == "not matched by source" for when in wanted.clauses)
    if by_source or not scope.prunes:
        return None
    found = [scope.predicate(condition_of(wanted.on, [alias]), table)]
    columns = {fold(column.name): column for column in table.columns}
    pairs = equalities_of(wanted.on, alias, wanted.source_alias or "source")
    keys = {mine: columns[its] for its, mine in pairs if its in columns}
    names = {fold(name): name for name in source.columns}
    if keys and len(work.tx.files(table)) >= _WORTH_A_LOOK:
        known = {names[mine]: column for mine, column in keys.items() if mine in names}
        found.append(key_range(source, known))
    parts = tuple(part for part in found if part is not None)
    return AllOf(parts) if parts else None


def _clause(
    scope: Scope,
    table: Table,
    when: When,
    to: Relation,
    alias: str,
    source_alias: str,
    source: DataFrame,
) -> Clause:
    condition = None
    if when.condition is not None:
        condition = _spliced(scope, when.condition, to, alias)
    values: Mapping[str, Expression | str] = {}
    if when.assignments is None:
        values = _all_by_name(table, source, source_alias)
    elif when.then in ("update", "insert"):
        values = _assigned(scope, table, when.assignments, to, alias)
        if when.then == "insert":
            values = {**values, **computed_defaults(scope, table, values, to.lake)}
    return Clause(when.when, when.then, condition, values, when.message)


def _all_by_name(table: Table, source: DataFrame, source_alias: str) -> dict[str, Expression]:
    """The star of a MERGE: every column of the table from the source's column of that name."""
    given = {fold(name): name for name in source.columns}
    missing = [column.name for column in table.columns if fold(column.name) not in given]
    if missing:
        raise InvalidDefinitionError(
            f"The source of the MERGE into {table.name} lacks {', '.join(map(repr, missing))}, "
            "and * stands for all columns.",
            hint="Name the columns to set, or add them to the source.",
        )
    return {
        column.name: F.col(f"{quoted(source_alias)}.{quoted(given[fold(column.name)])}")
        for column in table.columns
    }


@contextmanager
def _explaining(scope: Scope) -> Iterator[None]:
    """Spark's errors in the user's terms; expressions have their places in the statement."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise query_error(error, Spliced(scope.statement, scope.statement)) from error
