"""Spark deletes rows of files that DuckDB and Spark wrote, and rows in the catalog."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from ducklake_spark.scan import deletes, read_table
from ducklake_spark.session import Session
from ducklake_spark.write import append, delete
from support.lakes import LakeAddress, file_lake
from support.memory import CAN_MEASURE, peak_memory
from support.oracle import Oracle


@pytest.mark.parametrize(("seed", "marked_up_to"), [(0, None), (1, None), (2, 0)])
def test_deletes_by_both_engines_in_turn_leave_what_a_model_says(
    tmp_path: Path,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    marked_up_to: int | None,
) -> None:
    if marked_up_to is not None:  # as if the table were too large
        monkeypatch.setattr(deletes, "_MARKED_UP_TO", marked_up_to)
        monkeypatch.setattr(import_module("ducklake_spark.write.delete"), "_COLLECT_UP_TO", 0)
    rng = random.Random(seed)
    lake = file_lake("sqlite", tmp_path)
    with Oracle(lake) as duck:
        duck.run(
            "CREATE TABLE t (id INTEGER, grp INTEGER)",
            "INSERT INTO t SELECT i, i % 3 FROM range(60) r(i)",
            "INSERT INTO t SELECT i, i % 3 FROM range(60, 65) r(i)",  # inlined
        )
    model = {i: i % 3 for i in range(65)}
    history = {}
    for step in range(6):
        low = rng.randrange(0, 80)
        high = low + rng.choice([0, 3, 30])
        condition = f"id BETWEEN {low} AND {high} AND grp <> {rng.randrange(4)}"
        gone = {i for i, g in model.items() if low <= i <= high and g != int(condition[-1])}
        if step % 3 == 2:
            with Oracle(lake) as duck:
                duck.run(f"DELETE FROM t WHERE {condition}")
        else:
            with lake.open() as catalog, catalog.transaction() as tx:
                assert delete(session, tx, "t", condition) == len(gone), f"seed {seed}, {condition}"
                frame = read_table(session, tx, tx.table("t"))
                assert {r.id for r in frame.collect()} == model.keys() - gone
                new = session.spark.sql(f"SELECT {100 + step} AS id, 1 AS grp")
                append(tx, "t", new)
                more = delete(session, tx, "t", f"id = {100 + step}") if step == 3 else 0
                model |= {} if more else {100 + step: 1}
        model = {i: g for i, g in model.items() if i not in gone}
        with lake.open() as catalog:
            history[catalog.snapshot().id] = set(model)
    with Oracle(lake) as duck, lake.open() as catalog:
        for snapshot, expected in history.items():
            rows = duck.rows(f"SELECT id FROM t AT (VERSION => {snapshot})")
            assert {row[0] for row in rows} == expected, f"seed {seed}, snapshot {snapshot}"
            assert len(rows) == len(expected)
            counted = duck.value(f"SELECT count(*) FROM t AT (VERSION => {snapshot})")
            assert counted == len(expected)
            reader = catalog.at(snapshot)
            ours = read_table(session, reader, reader.table("t")).collect()
            assert sorted(r.id for r in ours) == sorted(expected)


_SUMMARY = ("count(*)", "sum(id)", "min(id)", "max(id)")


@pytest.mark.skipif(not CAN_MEASURE, reason="Linux tells the peak of a process's memory")
def test_large_deletes_take_a_few_bytes_of_memory_for_each_position(
    tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = file_lake("sqlite", tmp_path)
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t AS SELECT i AS id FROM range(5_000_000) r(i)")
    _delete(session, lake, "id < 0")  # loads what it needs
    _bounded(lambda: _delete(session, lake, "id % 5 < 3"), 3_000_000)
    _bounded(lambda: _delete(session, lake, "id % 50 = 4"), 3_000_000)
    _bounded(lambda: _same(session, lake), 3_000_000)
    with Oracle(lake) as duck:
        duck.run("DELETE FROM t WHERE id > 4_990_000")
    monkeypatch.setattr(deletes, "_MARKED_UP_TO", 0)  # as if the table were too large
    _bounded(lambda: _same(session, lake), 3_000_000)
    with lake.open() as catalog:
        frame = read_table(session, catalog.at(), catalog.at().table("t"))
        plan = session.spark.sql("EXPLAIN SELECT * FROM {frame}", frame=frame).head()[0]
    assert "BroadcastHashJoin" in plan, plan
    assert "SortMergeJoin" not in plan, plan


def _bounded(action: Callable[[], object], positions: int) -> None:
    with peak_memory() as peak:
        action()
    assert peak.grown < 40 * positions


def _delete(session: Session, lake: LakeAddress, condition: str) -> None:
    with lake.open() as catalog, catalog.transaction() as tx:
        delete(session, tx, "t", condition)


def _same(session: Session, lake: LakeAddress) -> None:
    """Read the table with Spark and DuckDB; nothing of it is kept."""
    with lake.open() as catalog:
        frame = read_table(session, catalog.at(), catalog.at().table("t"))
        ours = [tuple(row) for row in frame.selectExpr(*_SUMMARY).collect()]
    with Oracle(lake) as duck:
        assert duck.rows(f"SELECT {', '.join(_SUMMARY)} FROM t") == ours
