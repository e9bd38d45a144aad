"""Writes and upkeep by both engines in random turns: nothing is lost, and no snapshot changes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ducklake_spark import maintain
from ducklake_spark.catalog import Catalog
from ducklake_spark.scan import read_table, table_changes
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Snapshot
from support.budget import seeds
from support.lakes import LakeAddress, file_lake
from support.shared_duck import SharedDuck
from support.spark_story import Row, Story
from support.unharmed import unharmed

STEPS = 14
LAYOUTS = [
    (),
    ("ALTER TABLE t SET PARTITIONED BY (s)",),
    ("ALTER TABLE t SET SORTED BY (d DESC, k)",),
    ("ALTER TABLE t SET PARTITIONED BY (bucket(2, k))", "ALTER TABLE t SET SORTED BY (s)"),
]

Upkeep = Callable[[Catalog, Session, random.Random], object]
# What the change feed does not notice.
COMPACTIONS: dict[str, Upkeep] = {
    "merge": lambda catalog, session, _: maintain.merge_adjacent_files(catalog, session),
    "merge two": lambda catalog, session, _: maintain.merge_adjacent_files(
        catalog, session, table_name="t", max_compacted_files=2
    ),
    "rewrite": lambda catalog, session, chance: maintain.rewrite_data_files(
        catalog, session, delete_threshold=chance.choice([0.0, 0.3])
    ),
    "flush": lambda catalog, session, _: maintain.flush_inlined_data(catalog, session),
    "checkpoint": lambda catalog, session, _: maintain.checkpoint(catalog, session),
}
REMOVALS: dict[str, Upkeep] = {
    "expire": lambda catalog, _, chance: maintain.expire_snapshots(
        catalog, versions=[chance.choice(catalog.commits()[:-1]).snapshot.id]
    ),
    "expire all": lambda catalog, *_: maintain.expire_snapshots(catalog, older_than="0 seconds"),
    "clean up": lambda catalog, *_: maintain.cleanup_old_files(catalog, cleanup_all=True),
    "orphans": lambda catalog, *_: maintain.delete_orphaned_files(catalog, cleanup_all=True),
}
THEIRS = {
    "merge": "CALL ducklake_merge_adjacent_files('lake')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)",
    "flush": "CALL ducklake_flush_inlined_data('lake')",
    "expire": "CALL ducklake_expire_snapshots('lake', versions => [{}])",
    "clean up": "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
}


@pytest.mark.parametrize("seed", seeds(3, 100))
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
        self.rows_at: dict[int, dict[int, Row]] = {}  # by the snapshots that steps have ended with

    def play(self, layout: tuple[str, ...]) -> None:
        with SharedDuck(self.lake) as duck:
            duck.run("CREATE TABLE t (k INTEGER, s VARCHAR, d INTEGER)", *layout)
        for _ in range(STEPS):
            step = self.chance.choices(
                [
                    self._spark_writes,
                    self._duck_writes,
                    self._compacts,
                    self._removes,
                    self._goes_back,
                    self._theirs,
                ],
                [4, 8, 3, 1, 1, 4],
            )[0]
            step()
            with self.lake.open() as catalog:
                self.rows_at[catalog.snapshot().id] = dict(self.story.rows)
        self._compacts()
        self._assert_rows()

    def _spark_writes(self) -> None:
        with self.lake.open() as catalog:
            self.story.spark_step(self.session, catalog)

    def _duck_writes(self) -> None:
        with SharedDuck(self.lake) as duck:
            duck.run(*self.story.duck_write())

    def _compacts(self) -> None:
        name = self.chance.choice(list(COMPACTIONS))
        self.story.done.append(f"our {name}")
        with unharmed(self.lake), self.lake.open() as catalog:
            newest = catalog.snapshot()
            before = self._changes(catalog, newest)
            COMPACTIONS[name](catalog, self.session, self.chance)
            assert self._changes(catalog, newest) == before

    def _removes(self) -> None:
        name = self.chance.choice(list(REMOVALS))
        self.story.done.append(f"our {name}")
        with unharmed(self.lake, feed=False), self.lake.open() as catalog:
            if len(catalog.commits()) > 1:
                REMOVALS[name](catalog, self.session, self.chance)

    def _goes_back(self) -> None:
        with unharmed(self.lake), self.lake.open() as catalog:
            known = [c.snapshot.id for c in catalog.commits() if c.snapshot.id in self.rows_at]
            if not known:
                return
            version = self.chance.choice(known)
            self.story.done.append(f"our rollback to {version}")
            maintain.rollback(catalog, self.session, snapshot_version=version, table_name="t")
        self.story.rows = dict(self.rows_at[version])

    def _theirs(self) -> None:
        name = self.chance.choice(list(THEIRS))
        statement = THEIRS[name]
        with SharedDuck(self.lake) as duck:
            old = duck.snapshots()[:-1]
        if name == "expire":
            if not old:
                return
            statement = statement.format(self.chance.choice(old))
        self.story.done.append(statement)
        with unharmed(self.lake, by_duckdb=True), SharedDuck(self.lake) as duck:
            duck.run_despite_fault(statement)

    def _changes(self, catalog: Catalog, newest: Snapshot) -> list[str]:
        """All changes that the history still knows."""
        first = next(c.snapshot.id for c in catalog.commits() if c.snapshot.id > 0)
        feed = table_changes(self.session, catalog, "t", first, newest.id)
        return sorted(map(repr, feed.collect()))

    def _assert_rows(self) -> None:
        expected = sorted(repr((k, s, d)) for k, (s, d) in self.story.rows.items())
        with SharedDuck(self.lake) as duck:
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
