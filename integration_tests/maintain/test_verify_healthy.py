"""`verify` finds nothing wrong in lakes with which nothing is wrong, whoever wrote them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.maintain import verify
from ducklake_spark.maintain.stored_files import stored_faults
from support.budget import FULL
from support.histories import History, play
from support.lakes import LakeAddress
from support.sound_lake import make_sound_lake
from support.twin_types import HISTORIES
from support.twins import Twins

# What DuckDB 1.5.5 leaves behind itself.
_OF_DUCKDB = {
    "outlives-its-owner",
    "table-statistics-hollow",
    "table-statistics-narrow",
    "two-delete-files",
}
_SEEDS = range(40) if FULL else range(100, 104)
_LAKES = [*(("sqlite", seed) for seed in _SEEDS), ("postgres", 1100), ("duckdb", 2100)]


def test_a_new_lake_has_no_fault(lake: LakeAddress) -> None:
    with lake.open() as catalog:
        assert verify(catalog) == []


def test_a_lake_with_a_bit_of_everything_has_no_fault(lake: LakeAddress) -> None:
    make_sound_lake(lake)
    with lake.open(read_only=True) as catalog:
        assert verify(catalog) == []


def test_a_table_created_meanwhile_is_left_to_the_next_time(
    make_lake: Callable[[str], LakeAddress], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake("sqlite")
    make_sound_lake(lake)
    with lake.open() as catalog:
        names = catalog.relations()
        with catalog.transaction() as tx:
            tx.create_table("late", [Field("id", "int32")])
        monkeypatch.setattr(Catalog, "relations", lambda _: names)
        assert stored_faults(catalog, schema=None, table=None) == []


@pytest.mark.parametrize(("kind", "seed"), _LAKES)
def test_random_histories_by_duckdb_have_no_faults_but_its_own(
    make_lake: Callable[[str], LakeAddress], kind: str, seed: int
) -> None:
    lake = make_lake(kind)
    story = play(lake, History(seed))
    with lake.open(read_only=True) as catalog:
        found = [fault for fault in verify(catalog) if fault.fault not in _OF_DUCKDB]
    assert found == [], f"seed {seed}, after\n" + "\n".join(story)


@pytest.mark.parametrize("name", HISTORIES)
def test_every_statement_of_both_engines_leaves_a_sound_lake(
    make_lake: Callable[[str], LakeAddress], name: str
) -> None:
    twins = Twins(make_lake("sqlite"), make_lake("sqlite"))
    twins.begin()
    for sql, act in HISTORIES[name]:
        twins.step(sql, act)
    for lake in (twins.theirs, twins.ours):
        with lake.open(read_only=True) as catalog:
            assert verify(catalog) == []
