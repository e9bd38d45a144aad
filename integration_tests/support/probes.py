"""Predicates with the same in SQL, and which files they are about by DuckDB's reckoning."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ducklake_spark.catalog import Catalog
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.predicates import (
    AllOf,
    AnyOf,
    Comparison,
    IsNotNull,
    IsNull,
    OneOf,
    Operator,
    Predicate,
    StartsWith,
)
from support.oracle import Oracle
from support.reader import duck_value

OPERATORS: tuple[Operator, ...] = ("=", "<", "<=", ">", ">=")
_FLOATS = ("float32", "float64")
# Their bounds are not used, whatever the statistics say.
_UNBOUNDED = ("int128", "uint128", "blob", "json", "timetz", "interval")
_UNCOUNTED = ("timetz", "interval")
_BATCH = 200


@dataclass(frozen=True)
class Probe:
    """A predicate; `wide` says of a file's rows together whether perfect bounds would keep it."""

    predicate: Predicate
    sql: str
    wide: str


@dataclass(frozen=True)
class Target:
    """A column and the values to compare it with: SQL text and physical value."""

    column: Column
    sql: str
    values: tuple[tuple[str, object], ...]

    @property
    def kind(self) -> str:
        return self.column.type.name

    def compared(self, operator: Operator, value: tuple[str, object]) -> Probe:
        literal, physical = value
        predicate = Comparison(self.column.id, operator, physical)
        return Probe(predicate, f"{self.sql} {operator} {literal}", self._range(operator, literal))

    def _range(self, operator: Operator, literal: str) -> str:
        low, high = f"min({self.sql})", f"max({self.sql})"
        if self.kind == "float64":
            # The text of a bound may stand for the 32-bit float nearest to it.
            low = f"least({low}, coalesce(TRY_CAST({low} AS FLOAT), '-inf'))"
            high = f"greatest({high}, coalesce(TRY_CAST({high} AS FLOAT), 'inf'))"
        bounds = {
            "=": f"{low} <= {literal} AND {literal} <= {high}",
            "<": f"{low} < {literal}",
            "<=": f"{low} <= {literal}",
            ">": f"{literal} < {high}",
            ">=": f"{literal} <= {high}",
        }
        return self._usable(bounds[operator], literal)

    def _usable(self, bounds: str, literal: str) -> str:
        if self.kind in _UNCOUNTED:
            return "true"
        if self.kind in _UNBOUNDED:
            return f"count({self.sql}) > 0"
        if self.kind in _FLOATS:
            # Nobody asks for NaN so often that it would be worth a rule of its own.
            return f"bool_or(isnan({self.sql})) OR isnan({literal}) OR ({bounds})"
        return bounds

    def among(self, values: Sequence[tuple[str, object]]) -> Probe:
        predicate = OneOf(self.column.id, tuple(physical for _, physical in values))
        literals = ", ".join(literal for literal, _ in values)
        wide = " OR ".join(f"({self._range('=', literal)})" for literal, _ in values)
        return Probe(predicate, f"{self.sql} IN ({literals})", wide)

    def starting(self, value: tuple[str, object]) -> Probe:
        literal, prefix = value
        assert isinstance(prefix, str)
        low, high = f"min({self.sql})", f"max({self.sql})"
        wide = f"{high} >= {literal} AND ({low} <= {literal} OR starts_with({low}, {literal}))"
        predicate = StartsWith(self.column.id, prefix)
        return Probe(predicate, f"starts_with({self.sql}, {literal})", wide)

    def nulls(self) -> list[Probe]:
        uncounted = self.kind in _UNCOUNTED
        missing = "true" if uncounted else f"count(*) > count({self.sql})"
        present = "true" if uncounted else f"count({self.sql}) > 0"
        return [
            Probe(IsNull(self.column.id), f"{self.sql} IS NULL", missing),
            Probe(IsNotNull(self.column.id), f"{self.sql} IS NOT NULL", present),
        ]


def target(duck: Oracle, column: Column, sql: str, literals: Sequence[str]) -> Target:
    """A column with what SQL makes of the literals in the column's type."""
    kind = duck.value(f"SELECT typeof({sql}) FROM truth LIMIT 1")
    typed = [f"CAST({literal} AS {kind})" for literal in literals]
    return Target(column, sql, tuple((text, duck_value(duck, text, column)) for text in typed))


def every_probe(targets: Sequence[Target]) -> Iterator[Probe]:
    """Each operator with each value of each column."""
    for each in targets:
        yield from each.nulls()
        for value in each.values:
            yield from (each.compared(operator, value) for operator in OPERATORS)
            if each.kind == "varchar":
                yield each.starting(value)
        if each.values:
            yield each.among(each.values)
            yield each.among(each.values[:1])


def random_probes(seed: int, targets: Sequence[Target], count: int) -> Iterator[Probe]:
    """Predicates of up to three levels, the same ones for the same seed."""
    generator = random.Random(seed)
    for _ in range(count):
        yield _random_probe(generator, [each for each in targets if each.values], depth=2)


def _random_probe(generator: random.Random, targets: Sequence[Target], depth: int) -> Probe:
    if depth and generator.random() < 0.7:
        count = generator.randint(1, 3)
        parts = [_random_probe(generator, targets, depth - 1) for _ in range(count)]
        kind, word = generator.choice([(AllOf, " AND "), (AnyOf, " OR ")])
        return Probe(
            kind(tuple(part.predicate for part in parts)),
            word.join(f"({part.sql})" for part in parts),
            word.join(f"({part.wide})" for part in parts),
        )
    chosen = generator.choice(targets)
    roll = generator.random()
    if roll < 0.15:
        return generator.choice(chosen.nulls())
    if roll < 0.3:
        return chosen.among(generator.choices(chosen.values, k=generator.randint(1, 4)))
    if roll < 0.4 and chosen.kind == "varchar":
        return chosen.starting(generator.choice(chosen.values))
    return chosen.compared(generator.choice(OPERATORS), generator.choice(chosen.values))


# --- which files ---


def copy_truth(duck: Oracle, name: str) -> None:
    """Copy a table with each row's file into memory, where no statistics of the lake count."""
    duck.run(f"CREATE OR REPLACE TEMP TABLE truth AS SELECT filename, * FROM {duck.name}.{name}")


def matching_files(duck: Oracle, probes: Sequence[Probe]) -> list[tuple[set[str], set[str]]]:
    """For each probe the files with a matching row, and those that bounds cannot rule out."""
    found: list[tuple[set[str], set[str]]] = []
    for start in range(0, len(probes), _BATCH):
        batch = probes[start : start + _BATCH]
        flags = ", ".join(f"bool_or({probe.sql}), ({probe.wide})" for probe in batch)
        rows = duck.rows(f"SELECT filename, {flags} FROM truth GROUP BY filename")
        for at in range(len(batch)):
            matching = {row[0] for row in rows if row[1 + 2 * at]}
            possible = {row[0] for row in rows if row[2 + 2 * at]}
            found.append((matching, possible))
    return found


def assert_pruned_right(
    catalog: Catalog,
    table: Table,
    probes: Sequence[Probe],
    truth: Sequence[tuple[set[str], set[str]]],
    *,
    exact: set[str] | None = None,
) -> None:
    """No file with a matching row is left out; of the files in `exact`, all that can be are."""
    reader = catalog.at()
    own = {file.path for file in reader.files(table)}
    for probe, (matching, possible) in zip(probes, truth, strict=True):
        kept = {file.path for file in reader.files(table, predicate=probe.predicate)}
        lost = (matching & own) - kept
        assert not lost, f"{probe.sql} drops {lost}: {probe.predicate}"
        needless = (kept & (exact or set())) - possible
        assert not needless, f"{probe.sql} keeps {needless}: {probe.predicate}"
