"""Every pair of commits that can meet: our verdict beside the reference's, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.budget import sampled
from support.lakes import LakeAddress
from support.race_kinds import KINDS, Kind
from support.races import (
    SCHEMAS,
    Duck,
    DuckPlayer,
    OurPlayer,
    Outcome,
    author,
    expected,
    play,
    seen_by_duck,
    seen_by_us,
)
from support.verdicts import FAULTS, NOT_RUN, REFERENCE, STRICTER, Pair

MOST_STRICTER = 0.05
PLAYERS = {"duckdb": DuckPlayer, "us": OurPlayer}
# Catalog, who begins, who commits in between, how many races a run without a budget takes.
# On SQLite nobody can commit while a transaction of DuckDB is open, so there it never begins.
DIRECTIONS = [
    ("postgres", "us", "us", 60),
    ("postgres", "us", "duckdb", 60),
    ("postgres", "duckdb", "us", 30),
    ("postgres", "duckdb", "duckdb", 30),
    ("sqlite", "us", "us", 30),
    ("sqlite", "us", "duckdb", 30),
]


def _races() -> list[Any]:
    cells = []
    for kind, mine, theirs, size in DIRECTIONS:
        able = {"us": [k for k in KINDS if k.ours], "duckdb": list(KINDS)}
        pairs = [(a, b) for a in able[mine] for b in able[theirs]]
        if mine == "duckdb":
            pairs = [(a, b) for a, b in pairs if (a.name, b.name) not in NOT_RUN]
        chosen = sampled(pairs, size)
        for at in range(0, len(chosen), len(SCHEMAS)):
            chunk = chosen[at : at + len(SCHEMAS)]
            name = f"{kind}-{mine}-after-{theirs}-{at // len(SCHEMAS)}"
            cells.append(pytest.param(kind, mine, theirs, chunk, id=name))
    return cells


@pytest.mark.parametrize(("kind", "mine", "theirs", "pairs"), _races())
def test_two_commits_over_one_base_end_as_the_reference_has_it(
    copied: Callable[[str], LakeAddress],
    kind: str,
    mine: str,
    theirs: str,
    pairs: list[tuple[Kind, Kind]],
) -> None:
    lake = copied(kind)
    outcomes: dict[str, tuple[Pair, Outcome]] = {}
    first, second = PLAYERS[mine](lake), PLAYERS[theirs](lake)
    try:
        for schema, (a, b) in zip(SCHEMAS, pairs, strict=False):
            outcome = play(schema, first, a, second, b)
            outcomes[schema] = (a.name, b.name), outcome
    finally:
        first.close()
        second.close()
    wrong = {
        pair: outcome.conflict or "no conflict"
        for pair, outcome in outcomes.values()
        if (outcome.conflict is not None) != _should_conflict(pair, mine)
    }
    assert not wrong
    _check_content(lake, {s: o for s, (pair, o) in outcomes.items() if not _is_faulty(pair, mine)})
    if mine == "us":
        for pair, outcome in outcomes.values():
            if outcome.conflict is not None:
                _check_message(outcome, pair)


def _should_conflict(pair: Pair, mine: str) -> bool:
    return (mine == "us" and pair in STRICTER) or REFERENCE[pair] == "X" or pair in NOT_RUN


def _is_faulty(pair: Pair, mine: str) -> bool:
    return mine == "duckdb" and pair in FAULTS


def _check_content(lake: LakeAddress, outcomes: dict[str, Outcome]) -> None:
    """Both engines see what one commit after the other makes, and nothing of one that lost."""
    with Duck(lake) as duck, lake.open() as catalog:
        for schema, outcome in outcomes.items():
            wanted = expected(outcome.world)
            assert seen_by_duck(duck, schema) == wanted
            assert seen_by_us(catalog, schema) == wanted


def _check_message(outcome: Outcome, pair: Pair) -> None:
    message = str(outcome.conflict)
    assert f"snapshot {outcome.snapshot_id} by {author(2)} ({pair[1]})" in message


def test_stricter_verdicts_are_few_and_never_repeat_the_reference() -> None:
    ours = {kind.name for kind in KINDS if kind.ours}
    cells = [pair for pair in REFERENCE if pair[0] in ours]
    assert all(REFERENCE[pair] == "." for pair in STRICTER)
    assert len(STRICTER) <= MOST_STRICTER * len(cells)


@pytest.mark.parametrize("dropper", ["us", "duckdb"])
def test_a_schema_with_a_macro_is_dropped_with_it(shared_lake: LakeAddress, dropper: str) -> None:
    with shared_lake.open(), Duck(shared_lake) as duck:
        duck.run("CREATE SCHEMA s", "CREATE MACRO s.m(a) AS a + 1")
        duck.run("CREATE MACRO s.n(a) AS TABLE SELECT a")
        if dropper == "duckdb":
            duck.run("DROP SCHEMA s CASCADE")
    with shared_lake.open() as catalog:
        if dropper == "us":
            with catalog.transaction() as tx:
                tx.drop_schema("s", cascade=True)
        (commit,) = catalog.commits(after=3)
        kinds = ["dropped_schema", "dropped_scalar_macro", "dropped_table_macro"]
        assert [change.kind for change in commit.changes] == kinds
    with Duck(shared_lake) as duck:
        assert (
            duck.rows("SELECT function_name FROM duckdb_functions() WHERE schema_name = 's'") == []
        )
