"""Writes and upkeep by both engines in random turns: nothing is lost, and no snapshot changes.

DUCKLAKE_TEST_SEEDS sets how many seeds there are (3 without it, 100 with DUCKLAKE_TEST_FULL).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ducklake_spark import maintain
from ducklake_spark.catalog import Catalog
from ducklake_spark.scan import read_table, table_changes
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Snapshot
from support.budget import FULL
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle
from support.spark_story import Story
from support.unharmed import unharmed

SEEDS = int(os.environ.get("DUCKLAKE_TEST_SEEDS", "100" if FULL else "3"))
FIRST = int(os.environ.get("DUCKLAKE_TEST_FIRST_SEED", "0"))
STEPS = 14
LAYOUTS = [
    (),
    ("ALTER TABLE t SET PARTITIONED BY (s)",),
    ("ALTER TABLE t SET SORTED BY (d DESC, k)",),
    ("ALTER TABLE t SET PARTITIONED BY (bucket(2, k))", "ALTER TABLE t SET SORTED BY (s)"),
]

OURS: dict[str, Callable[[Catalog, Session, random.Random], object]] = {
    "merge": lambda catalog, session, _: maintain.merge_adjacent_files(catalog, session),
    "merge two": lambda catalog, session, _: maintain.merge_adjacent_files(
        catalog, session, table_name="t", max_compacted_files=2
    ),
    "rewrite": lambda catalog, session, chance: maintain.rewrite_data_files(
        catalog, session, delete_threshold=chance.choice([0.0, 0.3])
    ),
    "flush": lambda catalog, session, _: maintain.flush_inlined_data(catalog, session),
}
THEIRS = {
    "merge": "CALL ducklake_merge_adjacent_files('lake')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)",
    "flush": "CALL ducklake_flush_inlined_data('lake')",
    "expire": "CALL ducklake_expire_snapshots('lake', versions => [{}])",
    "clean up": "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_upkeep_in_turns_with_writes(tmp_path: Path, session: Session, seed: int) -> None:
    lake = file_lake("sqlite", tmp_path)
    turns = _Turns(lake, session, random.Random(seed))
    try:
        turns.play(LAYOUTS[seed % len(LAYOUTS)])
    except Exception as error:
        error.add_note(f"seed {seed}, after\n" + "\n".join(turns.story.done))
        raise


class _Turns:
    """One lake and its story, told by both engines."""

    def __init__(self, lake: LakeAddress, session: Session, chance: random.Random) -> None:
        self.lake = lake
        self.session = session
        self.chance = chance
        self.story = Story(chance)

    def play(self, layout: tuple[str, ...]) -> None:
        with Oracle(self.lake) as duck:
            duck.run("CREATE TABLE t (k INTEGER, s VARCHAR, d INTEGER)", *layout)
        for _ in range(STEPS):
            step = self.chance.choice(
                [self._spark_writes, self._duck_writes, self._duck_writes, self._ours, self._theirs]
            )
            step()
        self._ours()
        self._assert_rows()

    def _spark_writes(self) -> None:
        with self.lake.open() as catalog:
            self.story.spark_step(self.session, catalog)

    def _duck_writes(self) -> None:
        with Oracle(self.lake) as duck:
            duck.run(*self.story.duck_write())

    def _ours(self) -> None:
        name = self.chance.choice(list(OURS))
        self.story.done.append(f"our {name}")
        with unharmed(self.lake), self.lake.open() as catalog:
            newest = catalog.snapshot()
            before = self._changes(catalog, newest)
            OURS[name](catalog, self.session, self.chance)
            assert self._changes(catalog, newest) == before

    def _theirs(self) -> None:
        name = self.chance.choice(list(THEIRS))
        statement = THEIRS[name]
        with Oracle(self.lake) as duck:
            old = duck.snapshots()[:-1]
        if name == "expire":
            if not old:
                return
            statement = statement.format(self.chance.choice(old))
        self.story.done.append(statement)
        with unharmed(self.lake, by_duckdb=True), Oracle(self.lake) as duck:
            duck.run(statement)

    def _changes(self, catalog: Catalog, newest: Snapshot) -> list[str]:
        """All changes that the history still knows."""
        first = max(catalog.commits()[0].snapshot.id, 1)
        feed = table_changes(self.session, catalog, "t", first, newest.id)
        return sorted(map(repr, feed.collect()))

    def _assert_rows(self) -> None:
        expected = sorted(repr((k, s, d)) for k, (s, d) in self.story.rows.items())
        with Oracle(self.lake) as duck:
            assert sorted(map(repr, duck.rows("SELECT k, s, d FROM t"))) == expected
            assert duck.value("SELECT count(*) FROM t") == len(expected)
            assert duck.value("SELECT count(DISTINCT rowid) FROM t") == len(expected)
            middle = self.story.next_key // 2
            found = duck.rows(f"SELECT k FROM t WHERE k >= {middle} ORDER BY k")
            assert [k for (k,) in found] == sorted(k for k in self.story.rows if k >= middle)
        with self.lake.open() as catalog:
            reader = catalog.at()
            frame = read_table(self.session, reader, reader.table("t"), columns=("k", "s", "d"))
            assert sorted(map(repr, map(tuple, frame.collect()))) == expected
