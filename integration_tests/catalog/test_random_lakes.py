"""Random histories written by DuckDB are read by our client as DuckDB reads them.

DUCKLAKE_TEST_SEEDS sets how many histories there are on SQLite (20 without it).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import duckdb
import pytest

from support.histories import History
from support.lakes import LakeAddress
from support.shared_duck import SharedDuck
from support.states import assert_read_alike

_SEEDS = int(os.environ.get("DUCKLAKE_TEST_SEEDS", "20"))
_TRANSACTIONS = 16
_LAKES = [
    *(("sqlite", seed) for seed in range(_SEEDS)),
    *(("postgres", seed) for seed in range(1000, 1003)),
    *(("duckdb", seed) for seed in range(2000, 2003)),
]


@pytest.mark.parametrize(("kind", "seed"), _LAKES)
def test_random_histories_are_read_alike_at_every_snapshot(
    make_lake: Callable[[str], LakeAddress], kind: str, seed: int
) -> None:
    lake = make_lake(kind)
    done = _play(lake, History(seed))
    try:
        assert_read_alike(lake)
    except AssertionError as error:
        story = "\n".join(done)
        raise AssertionError(f"seed {seed}, after\n{story}\n{error}") from error


def _play(lake: LakeAddress, history: History) -> list[str]:
    """Run a history; returns the statements that DuckDB did not refuse."""
    done = []
    refused = []
    with SharedDuck(lake) as duck:
        duck.run("BEGIN", *history.first(), "COMMIT")
        for _ in range(_TRANSACTIONS):
            statements = history.next()
            several = len(statements) > 1 and not statements[0].startswith("CALL")
            group = ["BEGIN", *statements, "COMMIT"] if several else statements
            try:
                duck.run(*group)
            except (duckdb.InternalException, duckdb.FatalException):
                raise
            except duckdb.Error as error:
                refused.append(f"{group}: {error}")
                history.undo()
                with suppress(duckdb.TransactionException):  # a failed COMMIT has ended it
                    duck.run("ROLLBACK")
            else:
                done += group
    assert len(refused) < _TRANSACTIONS / 2, refused
    return done
