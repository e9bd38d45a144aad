"""A commit that lands at any step of another one is never overlooked (RELIABILITY, property 6)."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from ducklake_spark.catalog import Field
from support.budget import FULL
from support.faults import observed
from support.lakes import LakeAddress
from support.race_kinds import KINDS, Kind, World
from support.races import (
    SCHEMAS,
    Duck,
    OurPlayer,
    Player,
    expected,
    seen_by_duck,
    seen_by_us,
)
from support.verdicts import NOT_RUN, REFERENCE, STRICTER

SEEDS = range(40 if FULL else 6)  # each is as many interleavings as there are schemas
STEPS = 14  # about as many as a commit has
TAKEN = "INSERT INTO ducklake_snapshot"
BLOCKED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()
"""


def should_conflict(mine: Kind, theirs: Kind) -> bool:
    pair = mine.name, theirs.name
    return pair in STRICTER or pair in NOT_RUN or REFERENCE[pair] == "X"


@dataclass
class Interruption:
    """At one step of a commit, the rival's commit begins: to its end, or until it must wait."""

    lake: LakeAddress
    rival: Player
    step: int
    taken: bool = False
    waiting: threading.Thread | None = None
    conflict: list[Exception | None] = field(default_factory=list)
    came_first: bool = False

    def __call__(self, statement: str) -> None:
        self.step -= 1
        if self.step == 0:
            self.act()
        # From here on the next snapshot is ours, unless we fail.
        self.taken = self.taken or statement == TAKEN

    def act(self) -> None:
        if not self.taken:
            self.came_first = True
            self.commit()
            return
        self.waiting = threading.Thread(target=self.commit)
        self.waiting.start()
        while not self.conflict and self.lake.sql(BLOCKED) == [(0,)]:
            time.sleep(0.002)

    def commit(self) -> None:
        self.conflict.append(self.rival.commit())

    def end(self) -> Exception | None:
        if self.waiting is not None:
            self.waiting.join()
        elif not self.conflict:
            self.commit()
        return self.conflict[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_of_two_commits_that_exclude_each_other_only_one_lands(
    seed: int, copied: Callable[[str], LakeAddress]
) -> None:
    rng = random.Random(seed)
    lake = copied("postgres")
    ours = [kind for kind in KINDS if kind.ours]
    worlds: dict[str, World] = {}
    first, second = OurPlayer(lake), OurPlayer(lake)
    for schema in SCHEMAS:
        mine, theirs = rng.choices(ours, k=2)
        interruption = Interruption(lake, second, rng.randint(1, STEPS))
        case = f"{mine.name} and {theirs.name} at step {interruption.step} (seed {seed})"
        first.begin(mine, schema, 1)
        second.begin(theirs, schema, 2)
        with observed(first.catalog, before=interruption):
            conflict = first.commit()
        rivals = interruption.end()
        world = worlds[schema] = World()
        if interruption.came_first:
            assert rivals is None, case
            assert (conflict is not None) == should_conflict(mine, theirs), case
            landed = [(2, theirs)] + [(1, mine)] * (conflict is None)
        else:
            assert conflict is None, case
            assert (rivals is not None) == should_conflict(theirs, mine), case
            landed = [(1, mine)] + [(2, theirs)] * (rivals is None)
        for player, kind in landed:
            world.player = player
            kind.effect(world)
    first.close()
    second.close()
    with Duck(lake) as duck, lake.open() as catalog:
        for schema, world in worlds.items():
            assert seen_by_duck(duck, schema) == seen_by_us(catalog, schema) == expected(world)


def test_a_commit_that_comes_first_makes_us_try_again(
    make_lake: Callable[[str], LakeAddress],
) -> None:
    lake = make_lake("postgres")
    with lake.open() as catalog, lake.open() as rival:
        done: list[int] = []

        def between_reading_and_writing(statement: str) -> None:
            if statement == TAKEN and len(done) < 3:
                other = rival.transaction()
                other.create_schema(f"s{len(done)}")
                done.append(other.commit().snapshot_id)

        tx = catalog.transaction()
        tx.create_table("t", [Field("id", "int32")])
        with observed(catalog, before=between_reading_and_writing):
            result = tx.commit()
        assert done == [1, 2, 3]
        assert (result.snapshot_id, result.attempts) == (4, 4)


def test_nobody_else_can_write_to_sqlite_once_we_have_read(
    make_lake: Callable[[str], LakeAddress],
) -> None:
    lake = make_lake("sqlite")
    refused: list[str] = []

    def write(statement: str) -> None:
        other = sqlite3.connect(lake.catalog.removeprefix("sqlite:"), timeout=0)
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            refused.append(statement)
        other.close()

    with lake.open() as catalog:
        tx = catalog.transaction()
        tx.create_table("t", [Field("id", "int32")])
        with observed(catalog, after=write):
            tx.commit()
    assert refused[0] == "BEGIN IMMEDIATE"
    for step in ("SELECT ducklake_snapshot", TAKEN, "INSERT INTO ducklake_snapshot_changes"):
        assert step in refused
    assert "COMMIT" not in refused
