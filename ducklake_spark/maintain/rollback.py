"""Makes the lake, or one table, what it was at an earlier snapshot: as a new snapshot, so that the
history stays, what is rolled back included.

A file that shows the same rows as then stays. All others of the table end, and the rows of those
that are missing are written once more, with the ids they had: a file that ended once belongs to
older snapshots, and goes with them. Options have no history, and macros, which functions are kept
as, are not rolled back: both stay as they are, but for the macros of a schema that goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import functions as F

from ducklake_spark.catalog import Catalog, SnapshotReader, Transaction
from ducklake_spark.catalog.restore import Restoration, TablePair, of_lake, of_table, restore
from ducklake_spark.errors import ConfigError, RefusedError
from ducklake_spark.files import end_files
from ducklake_spark.maintain.targets import named
from ducklake_spark.scan import ROW_ID, read_rows
from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile, InlinedRow, Table
from ducklake_spark.spec.moments import Moment, moment_of, utc_now
from ducklake_spark.storage.filesystem import remove_files
from ducklake_spark.storage.listing import missing_files
from ducklake_spark.write import StagedFiles, discarded_on_error, stage


@dataclass(frozen=True, slots=True)
class RolledBack:
    """What becomes of a schema, table or view; files that stay are not counted."""

    kind: str
    schema_name: str
    name: str | None
    action: str
    files_removed: int
    files_restored: int


@dataclass(frozen=True, slots=True)
class _Data:
    """The rows of a table that go, and those that come back."""

    pair: TablePair
    removed: tuple[DataFile, ...]
    restored: tuple[DataFile, ...]
    inlined_removed: tuple[InlinedRow, ...]
    inlined_restored: tuple[InlinedRow, ...]

    @property
    def is_same(self) -> bool:
        return not (self.removed or self.restored or self.inlined_removed or self.inlined_restored)


def rollback(
    catalog: Catalog,
    session: Session,
    *,
    snapshot_version: int | None = None,
    snapshot_time: Moment | None = None,
    table_name: str | None = None,
    schema: str | None = None,
    dry_run: bool = False,
) -> list[RolledBack]:
    """Go back to a snapshot, by its id or by a point in time."""
    if (snapshot_version is None) == (snapshot_time is None):
        raise ConfigError("rollback takes either snapshot_version or snapshot_time.")
    if schema is not None and table_name is None:
        raise ConfigError(
            f"rollback is of the whole lake or of a table, and not of the schema {schema!r}.",
            hint="Name a table of it, or give no schema.",
        )
    moment = moment_of(snapshot_time, now=utc_now()) if snapshot_time is not None else None
    then = catalog.at(snapshot_version, timestamp=moment)
    tx = catalog.transaction(message=f"roll back to snapshot {then.snapshot.id}")
    if table_name is None:
        wanted = of_lake(tx, then)
    else:
        wanted = of_table(tx, then, named(table_name, schema))
    data = [_compared(tx, then, pair) for pair in wanted.tables]
    _check_files(then, data)
    rows = list(_rows(wanted, data))
    if rows and not dry_run:
        _carry_out(tx, session, then, wanted, data)
    return rows


# --- the plan ---


def _compared(tx: Transaction, then: SnapshotReader, pair: TablePair) -> _Data:
    now_files = tx.files(pair.now) if pair.now is not None else []
    now_rows = tx.inlined_rows(pair.now) if pair.now is not None else []
    then_files = then.files(pair.then) if pair.then is not None else []
    then_rows = then.inlined_rows(pair.then) if pair.then is not None else []
    current = {file.id: file for file in now_files}
    kept = {
        file.id
        for file in then_files
        if pair.lives_on and _shows_the_same(file, current.get(file.id), then.snapshot.id)
    }
    same_rows = pair.lives_on and _identities(now_rows) == _identities(then_rows)
    restored = tuple(file for file in then_files if file.id not in kept)
    return _Data(
        pair,
        removed=tuple(file for file in now_files if file.id not in kept),
        restored=restored,
        inlined_removed=() if same_rows else tuple(now_rows),
        inlined_restored=() if same_rows else tuple(then_rows),
    )


def _shows_the_same(then: DataFile, now: DataFile | None, version: int) -> bool:
    """Whether all that a file shows today it showed at that version."""
    if now is None or (then.partial_max or 0) > version:
        return False
    deletes = [(f.delete_file, *f.further_deletes) for f in (then, now)]
    known = [{delete.id for delete in listed if delete} for listed in deletes]
    newest = [delete.partial_max or 0 for listed in deletes for delete in listed if delete]
    return (
        known[0] == known[1]
        and all(snapshot <= version for snapshot in newest)
        and then.inlined_deletes == now.inlined_deletes
    )


def _identities(rows: list[InlinedRow]) -> set[tuple[int, int]]:
    return {(row.row_id, row.begin_snapshot) for row in rows}


def _check_files(then: SnapshotReader, data: list[_Data]) -> None:
    paths = []
    for table in data:
        for file in table.restored:
            deletes = (file.delete_file, *file.further_deletes)
            paths += [file.path, *(delete.path for delete in deletes if delete)]
    missing = missing_files(paths)
    if missing:
        raise RefusedError(
            f"{len(missing)} files that snapshot {then.snapshot.id} needs are gone, "
            f"{missing[0]!r} among them.",
            hint="Go back to another snapshot, or roll back single tables.",
        )


def _rows(wanted: Restoration, data: list[_Data]) -> Iterator[RolledBack]:
    for schemas in wanted.schemas:
        if action := _action(schemas.now, schemas.then):
            shown = schemas.then or schemas.now
            assert shown is not None  # noqa: S101 - else there would be no pair
            yield RolledBack("schema", shown.name, None, action, 0, 0)
    for table in data:
        now, then = table.pair.now, table.pair.then
        action = _action(now, then)
        if now is not None and then is not None and table.pair.lives_on:
            action = "alter" if _definition(now) != _definition(then) else ""
            action = action or ("" if table.is_same else "restore rows")
        elif now is not None and then is not None:
            action = "replace"
        if action:
            yield _row("table", table.pair, action, len(table.removed), len(table.restored))
    for views in wanted.views:
        action = _action(views.now, views.then)
        if views.now is not None and views.then is not None:
            changed = (views.now.name, views.now.tags) != (views.then.name, views.then.tags)
            action = "alter" if changed else ""
        if action:
            view = views.then or views.now
            assert view is not None  # noqa: S101 - else there would be no pair
            yield RolledBack("view", view.name.schema, view.name.name, action, 0, 0)


def _row(kind: str, pair: TablePair, action: str, removed: int, restored: int) -> RolledBack:
    return RolledBack(kind, pair.name.schema, pair.name.name, action, removed, restored)


def _action(now: object | None, then: object | None) -> str:
    if now is None:
        return "create again"
    return "drop" if then is None else ""


def _definition(table: Table) -> tuple[object, ...]:
    return (table.name, table.columns, table.partition_fields, table.sort_keys, table.tags)


# --- carrying it out ---


def _carry_out(
    tx: Transaction,
    session: Session,
    then: SnapshotReader,
    wanted: Restoration,
    data: list[_Data],
) -> None:
    with discarded_on_error(tx) as staged:
        for table in data:
            if table.pair.now is not None and table.pair.lives_on:
                end_files(tx, table.pair.now, table.removed)
                tx.delete_inlined(table.pair.now.name, [r.row_id for r in table.inlined_removed])
        tables = restore(tx, wanted, then)
        for table in data:
            if table.pair.then is not None and (table.restored or table.inlined_restored):
                after = tables[table.pair.then.id]
                files = _written(session, then, table, after, tx)
                staged.append(files)
                tx.add_files(after.name, files.files)
        result = tx.commit()
    remove_files(result.superseded_files)


def _written(
    session: Session, then: SnapshotReader, data: _Data, after: Table, tx: Transaction
) -> StagedFiles:
    """The rows of a table that are missing, as files."""
    past = data.pair.then
    assert past is not None  # noqa: S101 - else nothing of it would be restored
    rows = read_rows(session, then, past, data.restored, extras=(ROW_ID,))
    kept = {row.row_id for row in then.inlined_rows(past)}
    kept -= {row.row_id for row in data.inlined_restored}
    if kept:  # what is read are some files, and all rows in the catalog
        rows = rows.where(~F.col(ROW_ID).isin(sorted(kept)))
    if not data.pair.lives_on:  # a new table, whose rows are numbered from the start
        return stage(rows.drop(ROW_ID), after, tx.options(after))
    return stage(rows, after, tx.options(after), with_row_ids=True)
