"""After every kind of commit of ours DuckDB reads all there is, and goes on from there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ducklake_spark.catalog import Catalog
from support.expectations import (
    Rel,
    State,
    Values,
    assert_history,
    assert_holds,
    assert_rows,
    assert_seen_alike,
    assert_statistics,
    look,
    names_of_tables,
)
from support.lakes import KINDS, LakeAddress
from support.oracle import Oracle
from support.scenarios import SCENARIOS, Step
from support.scenarios.steps import rows
from support.shared_duck import SharedDuck

_MAINTENANCE = (
    # DuckDB cannot rewrite files of a table that has inlined rows from before an ALTER.
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
)


# Each on SQLite, and on one of the others in turn.
_RUNS = [
    (kind, name) for at, name in enumerate(SCENARIOS) for kind in (KINDS[0], KINDS[1 + at % 2])
]


@pytest.mark.parametrize(("kind", "name"), _RUNS)
def test_duckdb_reads_all_and_continues(
    make_lake: Callable[[str], LakeAddress], kind: str, name: str
) -> None:
    lake = make_lake(kind)
    states = {0: State()}
    with lake.open():
        pass
    for step in SCENARIOS[name]:
        take_step(lake, step, states)
    newest = max(states)
    tables = names_of_tables(lake, list(states))
    found = {names[newest]: states[newest].named(names[newest]) for names in tables.values()}
    with SharedDuck(lake) as duck:
        assert sorted(duck.snapshots()) == sorted(states)
        assert_holds(duck, states[newest])
        assert_history(duck, states, tables)
        continue_in_duckdb(duck, found)
    with lake.open() as catalog:
        seen = look(catalog)
        continue_in_ours(catalog, found)
    with SharedDuck(lake) as duck:
        assert_seen_alike(duck, seen)
        for table, known in found.items():
            assert_rows(duck, table, known)
            assert_statistics(duck, table, known)


def take_step(lake: LakeAddress, step: Step, states: dict[int, State]) -> None:
    newest = max(states)
    step.act(lake)
    state = states[newest].changed(step.schemas, step.holds)
    if step.is_promotion:
        states |= {version: replace(old, has_filters=False) for version, old in states.items()}
    states[newest + step.is_commit] = state
    if step.asks:
        with SharedDuck(lake) as duck:
            for query, answer in step.asks.items():
                assert duck.rows(query) == answer


def continue_in_duckdb(duck: Oracle, tables: dict[str, Rel]) -> None:
    """Insert, delete, update, alter, and compact."""
    for name, known in tables.items():
        tables[name] = _write_in_duckdb(duck, name, known)
    for statement in _MAINTENANCE:
        duck.run(statement)
        for name, known in tables.items():
            assert_rows(duck, name, known)


def _write_in_duckdb(duck: Oracle, name: str, known: Rel) -> Rel:
    old = _some_row(known)
    others = old[1:]
    for statement, added, gone in (
        (f"INSERT INTO {name} {_row_like(name, old, 901)}", [(901, *others)], []),
        (f"DELETE FROM {name} WHERE id = {old[0] or 0}", [], [old]),
        (f"UPDATE {name} SET id = 902 WHERE id = 901", [(902, *others)], [(901, *others)]),
    ):
        duck.run(statement)
        known = known.with_rows([row for row in known.rows if row not in gone] + added)
        assert_rows(duck, name, known)
    duck.run(f"ALTER TABLE {name} ADD COLUMN late INTEGER DEFAULT 8")
    known = Rel((*known.columns, "late"), tuple((*row, 8) for row in known.rows))
    assert_rows(duck, name, known)
    return known


def _some_row(known: Rel) -> Values:
    """One whose id no other row has; of an empty table, what it would be."""
    ids = known.values("id")
    unique = (row for row in known.rows if ids.count(row[0]) == 1)
    return next(unique, (None,) * len(known.columns))


def _row_like(name: str, old: Values, new_id: int) -> str:
    if old[0] is None:
        return f"(id) VALUES ({new_id})"
    return f"SELECT * REPLACE ({new_id} AS id) FROM {name} WHERE id = {old[0]}"


def continue_in_ours(catalog: Catalog, tables: dict[str, Rel]) -> None:
    """Append a row to each table."""
    with catalog.transaction() as tx:
        for name, known in tables.items():
            new = (903, *_some_row(known)[1:])
            rows(tx, name, known.with_rows([new]))
            tables[name] = known.with_rows([*known.rows, new])
