"""Conditions in both engines' SQL, and whether they hold for a row of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hypothesis import strategies as st

from support.machine.cells import KINDS, LONG, Cell, Dialect, key, rank
from support.machine.model import Column, Row, Table

T = TypeVar("T")
Truth = bool | None
_OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,  # type: ignore[operator]
    "<=": lambda a, b: a <= b,  # type: ignore[operator]
    ">": lambda a, b: a > b,  # type: ignore[operator]
    ">=": lambda a, b: a >= b,  # type: ignore[operator]
}


class Condition(Protocol):
    def sql(self, dialect: Dialect, prefix: str = "") -> str: ...
    def holds(self, table: Table, row: Row) -> Truth: ...


def _cell(table: Table, row: Row, name: str) -> Cell:
    outer, _, inner = name.partition(".")
    cell = row[table.at(outer)]
    return cell[0] if inner and cell is not None else cell


@dataclass(frozen=True, repr=False)
class Everything:
    def sql(self, dialect: Dialect, prefix: str = "") -> str:
        return "true"

    def holds(self, table: Table, row: Row) -> Truth:
        return True

    def __repr__(self) -> str:
        return "true"


@dataclass(frozen=True, repr=False)
class Compare:
    """A comparison with a value; `name` may be a field of a struct, such as `n.x`."""

    name: str
    kind: str
    operator: str
    value: Cell
    local: bool = False

    def sql(self, dialect: Dialect, prefix: str = "") -> str:
        literal = dialect.literal(self.value, KINDS[self.kind], local=self.local)
        return f"{prefix}{self.name} {self.operator} {literal}"

    def holds(self, table: Table, row: Row) -> Truth:
        cell = _cell(table, row, self.name)
        if cell is None or self.value is None:
            return None
        return _OPERATORS[self.operator](rank(cell), rank(self.value))

    def __repr__(self) -> str:
        value = "'long …'" if self.value == LONG else repr(self.value)
        return f"{self.name} {self.operator} {value}{' (local)' if self.local else ''}"


@dataclass(frozen=True, repr=False)
class IsNull:
    name: str

    def sql(self, dialect: Dialect, prefix: str = "") -> str:
        return f"{prefix}{self.name} IS NULL"

    def holds(self, table: Table, row: Row) -> Truth:
        return _cell(table, row, self.name) is None

    def __repr__(self) -> str:
        return f"{self.name} IS NULL"


@dataclass(frozen=True, repr=False)
class Not:
    inner: Condition

    def sql(self, dialect: Dialect, prefix: str = "") -> str:
        return f"NOT ({self.inner.sql(dialect, prefix)})"

    def holds(self, table: Table, row: Row) -> Truth:
        held = self.inner.holds(table, row)
        return None if held is None else not held

    def __repr__(self) -> str:
        return f"NOT ({self.inner!r})"


@dataclass(frozen=True, repr=False)
class Both:
    word: str  # AND or OR
    left: Condition
    right: Condition

    def sql(self, dialect: Dialect, prefix: str = "") -> str:
        return f"({self.left.sql(dialect, prefix)} {self.word} {self.right.sql(dialect, prefix)})"

    def holds(self, table: Table, row: Row) -> Truth:
        held = (self.left.holds(table, row), self.right.holds(table, row))
        decisive = self.word == "OR"
        if decisive in held:
            return decisive
        return None if None in held else not decisive

    def __repr__(self) -> str:
        return f"({self.left!r} {self.word} {self.right!r})"


def matching(table: Table, condition: Condition) -> list[int]:
    """Return the numbers of the rows that a condition holds for."""
    return [number for number, row in table.rows.items() if condition.holds(table, row)]


def bounds_of(table: Table, column: Column) -> Iterator[Condition]:
    """Compare a column with each value that it has: these are the bounds of its files."""
    name, kind = column.name, column.kind.name
    known = [cell for cell in table.cells(name) if cell is not None]
    if kind == "struct":
        name, kind, known = f"{name}.x", "double", [c[0] for c in known if c[0] is not None]
    values = {key(value): value for value in (KINDS[kind].values[-1], *known)}
    for value in values.values():
        for operator in ("=", "<", ">"):
            yield Compare(name, kind, operator, value)


# --- strategies ---


@st.composite
def some(draw: st.DrawFn, values: Sequence[T]) -> T:
    """Draw one of several values whose number depends on chance, such as on rows from rand().

    With `sampled_from` Hypothesis could not repeat the steps: the next run would draw from another
    range.
    """
    return values[draw(st.integers(0, 63)) % len(values)]


def cells(kind: str) -> st.SearchStrategy[Cell]:
    """Draw values of a type, and sometimes NULL."""
    values = KINDS[kind].values
    return st.sampled_from((*values, *values, None))


@st.composite
def comparisons(draw: st.DrawFn, table: Table) -> Condition:
    column = draw(st.sampled_from(table.columns))
    name, kind = column.name, column.kind.name
    known = [cell for cell in table.cells(name) if cell is not None]
    if kind == "struct":
        name, kind, known = f"{name}.x", "double", [c[0] for c in known if c[0] is not None]
    if draw(st.integers(0, 7)) == 7:
        return IsNull(name)
    # Pruning compares with the bounds of files, which are values of the table.
    value = draw(some([*known, *KINDS[kind].values]))
    operator = draw(st.sampled_from(list(_OPERATORS)))
    return Compare(name, kind, operator, value, kind == "time" and draw(st.booleans()))


@st.composite
def conditions(draw: st.DrawFn, table: Table) -> Condition:
    """Draw a condition on the current columns of a table."""
    first = draw(comparisons(table))
    match draw(st.integers(0, 5)):
        case 4:
            return Not(first)
        case 5:
            return Both(draw(st.sampled_from(["AND", "OR"])), first, draw(comparisons(table)))
        case _:
            return first
