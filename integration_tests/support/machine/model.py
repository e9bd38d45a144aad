"""The model of a lake: tables as sets of numbered rows, one state per snapshot.

The numbers identify rows, so that the changes of concurrent transactions can be applied in turn.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from support.machine.cells import KINDS, Cell, Kind, key

Row = tuple[Cell, ...]
_numbers = itertools.count()


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    default: Cell = None


@dataclass(frozen=True)
class Table:
    """A table. CREATE OR REPLACE gives it another `ident`, as it gets another table ID."""

    ident: int
    name: str
    columns: tuple[Column, ...]
    rows: Mapping[int, Row] = field(default_factory=dict, repr=False)
    partitioned_by: str | None = None

    def __repr__(self) -> str:
        return self.name

    def at(self, name: str) -> int:
        return next(at for at, column in enumerate(self.columns) if column.name == name)

    def column(self, name: str) -> Column:
        return self.columns[self.at(name)]

    def cells(self, name: str) -> list[Cell]:
        at = self.at(name)
        return [row[at] for row in self.rows.values()]

    def adding(self, rows: Iterable[Row]) -> Table:
        return replace(self, rows={**self.rows, **numbered(rows)})

    def without(self, numbers: Iterable[int]) -> Table:
        gone = set(numbers)
        return replace(self, rows={n: row for n, row in self.rows.items() if n not in gone})

    def changing(self, new: Mapping[int, Row]) -> Table:
        """Replace rows. New numbers show that a concurrent change of the old rows conflicts."""
        return self.without(new).adding(new.values())

    def filled(self, given: Mapping[str, Cell]) -> Row:
        """Return a row of these values, with defaults for the other columns."""
        return tuple(given.get(column.name, column.default) for column in self.columns)

    @property
    def content(self) -> Counter[Any]:
        return Counter(tuple(map(key, row)) for row in self.rows.values())


def remade(table: Table) -> Table:
    """Return a table after CREATE OR REPLACE from its own rows: defaults and layout are gone."""
    columns = tuple(replace(column, default=None) for column in table.columns)
    return Table(next(_numbers), table.name, columns, numbered(table.rows.values()))


State = Mapping[str, Table]

BASE = (
    Column("k", KINDS["int"]),
    Column("f", KINDS["double"]),
    Column("s", KINDS["text"]),
    Column("ts", KINDS["time"]),
)


def new_table(name: str, rows: Iterable[Row] = ()) -> Table:
    return Table(next(_numbers), name, BASE, numbered(rows))


def numbered(rows: Iterable[Row]) -> dict[int, Row]:
    return {next(_numbers): row for row in rows}


def put(state: State, table: Table) -> State:
    return {**state, table.name: table}


def dropped(state: State, name: str) -> State:
    return {other: table for other, table in state.items() if other != name}


def same(one: State, other: State) -> bool:
    """Whether two states show the same columns and rows."""
    return one.keys() == other.keys() and all(
        [(c.name, c.kind) for c in one[name].columns]
        == [(c.name, c.kind) for c in other[name].columns]
        and one[name].content == other[name].content
        for name in one
    )


class LostUpdateError(AssertionError):
    """Two conflicting transactions were both committed."""


def rebased(base: State, view: State, newest: State) -> State:
    """Apply the changes of a transaction, from `base` to `view`, to the newest state."""
    if newest is base:
        return view
    before = {table.ident: table for table in base.values()}
    now = {table.ident: table for table in newest.values()}
    result = dict(newest)
    seen = {table.ident for table in view.values()}
    for table in view.values():
        if table.ident not in before:
            # Created or replaced. Changes of others to the old table stay in the history.
            result[table.name] = table
        elif table is not before[table.ident]:
            if table.ident not in now:
                raise LostUpdateError(f"{table} was changed, and dropped by another.")
            merged = _merged(before[table.ident], table, now[table.ident])
            result[merged.name] = merged
    for table in base.values():
        if table.ident not in seen and table.name not in view:
            result.pop(table.name, None)
    return result


def _merged(base: Table, view: Table, newest: Table) -> Table:
    if newest.columns != base.columns:
        raise LostUpdateError(f"{view} was changed, and another changed its columns.")
    removed = base.rows.keys() - view.rows.keys()
    if not removed <= newest.rows.keys():
        gone = [base.rows[n] for n in removed - newest.rows.keys()]
        raise LostUpdateError(f"Two transactions removed the same rows of {view}: {gone}")
    added = {n: row for n, row in view.rows.items() if n not in base.rows}
    kept = {n: row for n, row in newest.rows.items() if n not in removed}
    return replace(newest, rows={**kept, **added})
