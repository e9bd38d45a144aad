"""Makes definitions what they were at an earlier snapshot, as changes of a transaction.

What lives on keeps its ids, its columns too. What was dropped since is created again under new
ones: an object that ended has ended, and older snapshots show it as it was.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from ducklake_spark.catalog.local_changes import Entry
from ducklake_spark.catalog.reader import LakeReader, SnapshotReader
from ducklake_spark.catalog.transaction import Transaction
from ducklake_spark.errors import NotFoundError
from ducklake_spark.spec.model import PartitionSpec, Schema, SortOrder, Table, View
from ducklake_spark.spec.names import QualifiedName, fold, uuid7

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TablePair:
    """A table as it is and as it was; None where it was not there. Both have the same id, or else
    one takes the place of the other."""

    now: Table | None
    then: Table | None

    @property
    def lives_on(self) -> bool:
        return self.now is not None and self.then is not None and self.now.id == self.then.id

    @property
    def name(self) -> QualifiedName:
        shown = self.then or self.now
        assert shown is not None  # noqa: S101 - else there would be no pair
        return shown.name


@dataclass(frozen=True, slots=True)
class ViewPair:
    """A view as it is and as it was."""

    now: View | None
    then: View | None


@dataclass(frozen=True, slots=True)
class SchemaPair:
    """A schema as it is and as it was."""

    now: Schema | None
    then: Schema | None


@dataclass(frozen=True, slots=True)
class Restoration:
    """What is to become what it was."""

    schemas: tuple[SchemaPair, ...]
    tables: tuple[TablePair, ...]
    views: tuple[ViewPair, ...]


def of_lake(now: LakeReader, then: LakeReader) -> Restoration:
    """All that is in the lake, or was."""
    schemas = _paired({s.id: s for s in now.schemas()}, {s.id: s for s in then.schemas()})
    tables = _paired({t.id: t for t in _tables(now)}, {t.id: t for t in _tables(then)})
    views = _paired({v.id: v for v in _views(now)}, {v.id: v for v in _views(then)})
    return Restoration(
        tuple(SchemaPair(*pair) for pair in schemas),
        tuple(TablePair(*pair) for pair in tables),
        tuple(ViewPair(*pair) for pair in views),
    )


def of_table(now: LakeReader, then: LakeReader, name: QualifiedName) -> Restoration:
    """One table, by the name it has, or had if it is gone; what has its name now makes room."""
    current = now.find_table(name)
    same = [t for t in _tables(then) if current is not None and t.id == current.id]
    if current is not None and same:
        past: Table | None = replace(same[0], name=current.name, schema_id=current.schema_id)
    else:
        known = {fold(schema.name) for schema in then.schemas()}
        past = then.find_table(name) if fold(name.schema) in known else None
    if past is None:
        raise NotFoundError(f"Table {name} at snapshot {then.snapshot.id}")
    here = now.schema(name.schema)
    views = [v for v in now.views(here.name) if fold(v.name.name) == fold(name.name)]
    pair = TablePair(current, replace(past, schema_id=here.id))
    return Restoration((), (pair,), tuple(ViewPair(view, None) for view in views))


def _tables(reader: LakeReader) -> Iterator[Table]:
    for schema in reader.schemas():
        for entry in reader.tables(schema.name):
            yield reader.table(entry.name)


def _views(reader: LakeReader) -> Iterator[View]:
    for schema in reader.schemas():
        yield from reader.views(schema.name)


def _paired(now: Mapping[int, T], then: Mapping[int, T]) -> list[tuple[T | None, T | None]]:
    return [(now.get(key), then.get(key)) for key in dict.fromkeys((*now, *then))]


def restore(tx: Transaction, wanted: Restoration, then: SnapshotReader) -> dict[int, Table]:
    """Make the definitions what they were; the tables by the ids they had then."""
    for pair in wanted.tables:
        if pair.now is not None and not pair.lives_on:
            tx.drop_table(pair.now.name)
    schema_ids = dict(_restored_schemas(tx, wanted))
    for view in wanted.views:
        _restore_view(tx, view, schema_ids)
    return dict(_restored_tables(tx, wanted, schema_ids, then))


def _restored_schemas(tx: Transaction, wanted: Restoration) -> Iterator[tuple[int, int]]:
    for pair in wanted.schemas:
        if pair.now is not None and pair.then is None:
            for macro in tx.macros(pair.now.name):  # without a schema they keep DuckDB out
                tx.drop_macro(macro.name)
            tx.changes.schemas[pair.now.id] = Entry(pair.now, None)
        elif pair.now is None and pair.then is not None:
            again = replace(pair.then, id=tx.new_id(), uuid=uuid7())
            tx.changes.schemas[again.id] = Entry(None, again)
            yield pair.then.id, again.id


def _restore_view(tx: Transaction, pair: ViewPair, schema_ids: Mapping[int, int]) -> None:
    if pair.then is None:
        assert pair.now is not None  # noqa: S101 - else there would be no pair
        tx.changes.views[pair.now.id] = Entry(pair.now, None)
        return
    past = replace(pair.then, schema_id=schema_ids.get(pair.then.schema_id, pair.then.schema_id))
    if pair.now is None:
        past = replace(past, id=tx.new_id(), uuid=uuid.uuid4())
    else:
        past = replace(past, begin_snapshot=pair.now.begin_snapshot)
    tx.changes.views[past.id] = Entry(pair.now, past)


def _restored_tables(
    tx: Transaction, wanted: Restoration, schema_ids: Mapping[int, int], then: SnapshotReader
) -> Iterator[tuple[int, Table]]:
    for pair in wanted.tables:
        if pair.then is None:
            continue
        past = replace(
            pair.then, schema_id=schema_ids.get(pair.then.schema_id, pair.then.schema_id)
        )
        if pair.now is not None and pair.lives_on:
            past = _altered(tx, pair.now, past)
            tx.changes.tables[past.id] = Entry(pair.now, past)
        else:
            past = _created(tx, past, then)
        yield pair.then.id, past


def _altered(tx: Transaction, now: Table, then: Table) -> Table:
    """A table that lives on; a layout that is in force stays the same object."""
    partition = now.partition
    if then.partition_fields != now.partition_fields:
        partition = PartitionSpec(tx.new_id(), then.partition_fields)
    sort = now.sort
    if then.sort_keys != now.sort_keys:
        sort = SortOrder(tx.new_id(), then.sort_keys) if then.sort_keys else None
    return replace(then, partition=partition, sort=sort, begin_snapshot=now.begin_snapshot)


def _created(tx: Transaction, then: Table, reader: SnapshotReader) -> Table:
    """A table that was dropped, once more, with the options it still has."""
    new = replace(
        then,
        id=tx.new_id(),
        uuid=uuid7(),
        partition=PartitionSpec(tx.new_id(), then.partition_fields)
        if then.partition_fields
        else None,
        sort=SortOrder(tx.new_id(), then.sort_keys) if then.sort_keys else None,
        begin_snapshot=None,
    )
    tx.changes.tables[new.id] = Entry(None, new)
    lakes = reader.options()
    for key, value in reader.options(then).items():
        if lakes.get(key) != value:
            tx.changes.options[key, "table", new.id] = value
    return new
