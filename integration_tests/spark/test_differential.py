"""Random lakes: Spark reads what DuckDB made, and both work on one table in turns."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from ducklake_spark.scan import ROW_ID, read_table
from ducklake_spark.session import Session
from support.budget import seeds
from support.histories import History
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle
from support.reader import read_rows_with_ids
from support.spark_rows import spark_rows
from support.spark_story import Story

PARTITIONS = [None, "bucket(3, k)", "s"]


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


@pytest.mark.parametrize("seed", seeds(10))
def test_spark_reads_every_snapshot_of_a_random_lake(
    lake: LakeAddress, session: Session, seed: int
) -> None:
    """As the small and slow reader of the catalog's tests does, which is held against DuckDB."""
    done = _play(lake, History(seed))
    story = f"seed {seed}, after\n" + "\n".join(done)
    with lake.open(read_only=True) as catalog:
        seen = set()
        for commit in catalog.commits():
            reader = catalog.at(commit.snapshot)
            for entry in reader.tables("main"):
                table = reader.table(entry.name)
                known = [
                    (row_id, list(r.values())) for row_id, r in read_rows_with_ids(reader, table)
                ]
                shape = (entry.id, repr(table.columns), repr(known))
                if shape in seen:
                    continue  # the same question, and a Spark job costs
                seen.add(shape)
                frame = read_table(session, reader, table, extras=(ROW_ID,))
                frame = frame.select(ROW_ID, *(c for c in frame.columns if c != ROW_ID))
                found = [(row[0], row[1:]) for row in spark_rows(frame, table.columns, 1)]
                place = f"{entry.name} at {commit.snapshot.id}, {story}"
                assert sorted(map(repr, found)) == sorted(map(repr, known)), place


def _play(lake: LakeAddress, history: History) -> list[str]:
    done = []
    with Oracle(lake) as duck:
        duck.run("BEGIN", *history.first(), "COMMIT")
        for _ in range(12):
            statements = history.next()
            several = len(statements) > 1 and not statements[0].startswith("CALL")
            group = ["BEGIN", *statements, "COMMIT"] if several else statements
            try:
                duck.run(*group)
            except duckdb.Error:
                history.undo()
                with suppress(duckdb.TransactionException):
                    duck.run("ROLLBACK")
            else:
                done += group
    return done


@pytest.mark.parametrize("seed", seeds(10))
def test_both_engines_in_turns_do_what_a_model_says(
    lake: LakeAddress, session: Session, seed: int
) -> None:
    story = Story(random.Random(seed))
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (k INTEGER, s VARCHAR, d INTEGER)")
        if key := PARTITIONS[seed % len(PARTITIONS)]:
            duck.run(f"ALTER TABLE t SET PARTITIONED BY ({key})")
    for _ in range(2):
        for _ in range(2):
            with lake.open() as catalog:
                story.spark_step(session, catalog)
            _assert_duckdb_sees(lake, story, seed)
        with Oracle(lake) as duck:
            for _ in range(3):
                duck.run_despite_fault(*story.duck_step())
        _assert_duckdb_sees(lake, story, seed)
    with lake.open() as catalog:
        reader = catalog.at()
        rows = read_table(session, reader, reader.table("t"), columns=("k", "s", "d")).collect()
        assert sorted(map(repr, map(tuple, rows))) == _expected(story), _context(story, seed)


def _expected(story: Story) -> list[str]:
    return sorted(repr((k, s, d)) for k, (s, d) in story.rows.items())


def _context(story: Story, seed: int) -> str:
    return f"seed {seed}, after\n" + "\n".join(story.done)


def _widened_by_duckdb(story: Story) -> bool:
    """Whether DuckDB 1.5.5 may answer min() and max() wrongly by its own doing.

    Its rewrite makes the statistics exact, so it answers from them; its flush then widens them by
    rows that are deleted already.
    """
    calls = [step for step in story.done if step.startswith("CALL ducklake_")]
    rewrites = [at for at, call in enumerate(calls) if "rewrite" in call]
    return bool(rewrites) and any("flush" in call for call in calls[rewrites[0] :])


def _assert_duckdb_sees(lake: LakeAddress, story: Story, seed: int) -> None:
    context = _context(story, seed)
    with Oracle(lake) as duck:
        rows = duck.rows("SELECT k, s, d FROM t")
        assert sorted(map(repr, rows)) == _expected(story), context
        assert duck.value("SELECT count(*) FROM t") == len(story.rows), context
        if story.rows:
            low, high = min(story.rows), max(story.rows)
            if not _widened_by_duckdb(story):
                assert duck.rows("SELECT min(k), max(k) FROM t") == [(low, high)], context
            middle = (low + high) // 2
            expected = sorted(k for k in story.rows if k >= middle)
            found = duck.rows(f"SELECT k FROM t WHERE k >= {middle} ORDER BY k")
            assert [row[0] for row in found] == expected, context
            assert len({row[0] for row in duck.rows("SELECT rowid FROM t")}) == len(rows), context
