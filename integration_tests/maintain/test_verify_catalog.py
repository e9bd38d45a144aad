"""Each fault that is planted in a sound catalog is found, named, and nothing beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ducklake_spark.maintain import verify
from ducklake_spark.spec.faults import Fault, Severity
from support.lakes import LakeAddress
from support.planted import ALL, EVENTS, LAKE, NOTES, ORDERS, SOME, Planted
from support.sound_lake import copy_of, make_sound_lake


@pytest.mark.parametrize("planted", ALL, ids=str)
def test_a_planted_fault_is_found(sound: LakeAddress, tmp_path: Path, planted: Planted) -> None:
    lake = copy_of(sound, tmp_path / "copy")
    _plant_and_find(lake, planted)


def _plant_and_find(lake: LakeAddress, planted: Planted) -> None:
    for statement in planted.statements:
        lake.sql(statement)
    before = lake.dump()
    with lake.open(read_only=True) as catalog:
        found = verify(catalog, files=False)
    assert {(fault.fault, fault.severity) for fault in found} == {(planted.fault, planted.severity)}
    assert planted.relation in {fault.relation for fault in found}
    assert all(fault.problem and fault.advice.endswith((".", "…", ")")) for fault in found), found
    assert lake.dump() == before


@pytest.mark.parametrize("kind", ["postgres", "duckdb"])
def test_faults_are_found_in_other_databases(
    make_lake: Callable[[str], LakeAddress], kind: str
) -> None:
    lake = make_lake(kind)
    make_sound_lake(lake)
    for planted in SOME:
        for statement in planted.statements:
            lake.sql(statement)
    with lake.open(read_only=True) as catalog:
        found = {(fault.fault, fault.relation) for fault in verify(catalog, files=False)}
    assert found == {(planted.fault, planted.relation) for planted in SOME}


def _names(found: list[Fault]) -> set[str]:
    return {fault.fault for fault in found}


def test_a_missing_primary_key_and_what_comes_of_it(sound: LakeAddress, tmp_path: Path) -> None:
    lake = copy_of(sound, tmp_path / "copy")
    for statement in (
        "CREATE TABLE copied AS SELECT * FROM ducklake_snapshot",
        "DROP TABLE ducklake_snapshot",
        "ALTER TABLE copied RENAME TO ducklake_snapshot",
        "INSERT INTO ducklake_snapshot SELECT * FROM ducklake_snapshot WHERE snapshot_id = 0",
    ):
        lake.sql(statement)
    with lake.open(read_only=True) as catalog:
        assert {"primary-key-missing", "duplicate-id"} <= _names(verify(catalog, files=False))


def test_a_second_delete_file_that_only_old_snapshots_see_is_duckdbs(
    sound: LakeAddress, tmp_path: Path
) -> None:
    lake = copy_of(sound, tmp_path / "copy")
    one = "(SELECT min(data_file_id) FROM ducklake_delete_file)"
    lake.sql(f"UPDATE ducklake_data_file SET end_snapshot = 20 WHERE data_file_id = {one}")
    lake.sql(f"UPDATE ducklake_delete_file SET data_file_id = {one}, delete_count = 6")
    with lake.open(read_only=True) as catalog:
        (fault,) = verify(catalog, files=False)
    assert (fault.fault, fault.severity) == ("two-delete-files", Severity.WARNING)
    assert "flushes" in fault.problem


def test_only_what_is_asked_for_is_looked_at(sound: LakeAddress, tmp_path: Path) -> None:
    lake = copy_of(sound, tmp_path / "copy")
    for table in (5, 6):
        lake.sql(f"DELETE FROM ducklake_schema_versions WHERE table_id = {table}")
    lake.sql("DELETE FROM ducklake_sort_expression")
    lake.sql("DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 5")
    with lake.open(read_only=True) as catalog:
        relations = [
            {fault.relation for fault in verify(catalog, files=False, **where)}
            for where in (
                {},
                {"schema": "main"},
                {"schema": "SALES"},
                {"table_name": "notes"},
                {"table_name": "sales.orders"},
                {"table_name": "Orders", "schema": "sales"},
            )
        ]
    assert relations == [
        {LAKE, NOTES, EVENTS, ORDERS},
        {NOTES, EVENTS},
        {ORDERS},
        {NOTES},
        {ORDERS},
        {ORDERS},
    ]


def test_a_fault_of_many_files_is_told_of_a_few(sound: LakeAddress, tmp_path: Path) -> None:
    lake = copy_of(sound, tmp_path / "copy")
    lake.sql("UPDATE ducklake_column SET begin_snapshot = 900")
    lake.sql("DELETE FROM ducklake_snapshot_changes")
    with lake.open(read_only=True) as catalog:
        found = [f for f in verify(catalog, files=False) if f.fault == "changes-missing"]
    assert len(found) == 11
    assert found[-1].problem == "… and 15 more like these."
