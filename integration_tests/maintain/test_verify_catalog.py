"""Each fault that is planted in a sound catalog is found, named, and nothing beside it.

The lake is that of support.sound_lake: orders 2 (in the schema sales, 1), notes 5, events 6, the
view recent 7, the dropped table gone 8, t 9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ducklake_spark.maintain import verify
from ducklake_spark.spec.faults import Fault, Severity
from support.lakes import LakeAddress, file_lake
from support.sound_lake import copy_of, make_sound_lake

_LAKE = "the lake"
_NEWEST = "(SELECT max(snapshot_id) FROM ducklake_snapshot)"
_ORDERS, _EVENTS, _NOTES = "sales.orders", "main.events", "main.notes"


@dataclass(frozen=True)
class Planted:
    """Statements on the catalog and the fault that they make."""

    fault: str
    relation: str
    statements: tuple[str, ...]
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.fault}: {self.statements[0][:50]}"


def _error(fault: str, relation: str, *statements: str) -> Planted:
    return Planted(fault, relation, statements)


def _warning(fault: str, relation: str, *statements: str) -> Planted:
    return Planted(fault, relation, statements, Severity.WARNING)


def _insert(table: str, **values: object) -> str:
    shown = (f"'{v}'" if isinstance(v, str) else "NULL" if v is None else v for v in values.values())
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(map(str, shown))})"


_HISTORY = [
    _error(
        "changes-unreadable",
        _LAKE,
        "UPDATE ducklake_snapshot_changes SET changes_made = 'created_table:5' "
        "WHERE snapshot_id = 10",
    ),
    _warning("changes-missing", _LAKE, "DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 5"),
    _warning("dangling-changes", _LAKE, _insert("ducklake_snapshot_changes", snapshot_id=999)),
    _error(
        "schema-version-unchanged",
        _LAKE,
        "UPDATE ducklake_snapshot SET schema_version = schema_version - 1 WHERE snapshot_id >= 18",
        "UPDATE ducklake_schema_versions SET schema_version = schema_version - 1 "
        "WHERE begin_snapshot >= 18",
    ),
    _warning(
        "schema-version-gap",
        _LAKE,
        "UPDATE ducklake_snapshot SET schema_version = schema_version + 3 WHERE snapshot_id >= 19",
        "UPDATE ducklake_schema_versions SET schema_version = schema_version + 3 "
        "WHERE begin_snapshot >= 19",
    ),
    _error(
        "counter-falls",
        _LAKE,
        "UPDATE ducklake_snapshot SET next_file_id = 0 WHERE snapshot_id = 18",
    ),
    _error(
        "file-counter-unchanged",
        _LAKE,
        "UPDATE ducklake_snapshot SET next_file_id = 5 WHERE snapshot_id = 5",
        "UPDATE ducklake_snapshot SET next_file_id = 5 WHERE snapshot_id = 6",
    ),
    _warning(
        "time-runs-backwards",
        _LAKE,
        "UPDATE ducklake_snapshot SET snapshot_time = '2001-01-01 00:00:00+00' "
        "WHERE snapshot_id = 12",
    ),
    _error(
        "id-beyond-counter",
        _ORDERS,
        _insert("ducklake_partition_info", partition_id=500, table_id=2, begin_snapshot=4, end_snapshot=4),
        "DELETE FROM ducklake_partition_info WHERE partition_id = 500 AND end_snapshot IS NULL",
        "UPDATE ducklake_partition_info SET begin_snapshot = 3, end_snapshot = 3 "
        "WHERE partition_id = 500",
    ),
    _error(
        "id-beyond-counter",
        "main.t",
        "UPDATE ducklake_data_file SET data_file_id = 700 WHERE table_id = 9",
        "UPDATE ducklake_file_column_stats SET data_file_id = 700 WHERE table_id = 9",
    ),
]
_LIFETIMES = [
    _error(
        "impossible-lifetime",
        _EVENTS,
        "UPDATE ducklake_data_file SET end_snapshot = 3 WHERE data_file_id = 12",
    ),
    _error(
        "impossible-lifetime",
        _NOTES,
        "UPDATE ducklake_column SET begin_snapshot = 900 WHERE table_id = 5 AND column_id = 2",
    ),
    _error(
        "overlapping-lifetimes",
        _EVENTS,
        _insert("ducklake_tag", object_id=6, begin_snapshot=20, key="comment", value="another"),
    ),
    _error(
        "duplicate-name",
        "main.EVENTS",
        "UPDATE ducklake_table SET table_name = 'EVENTS' WHERE table_id = 5",
    ),
    _error(
        "duplicate-name",
        _EVENTS,
        "UPDATE ducklake_column SET column_name = 'V' WHERE table_id = 6 AND column_id = 3",
    ),
]
_REFERENCES = [
    _warning(
        "dangling-rows",
        "object 77",
        _insert("ducklake_tag", object_id=77, begin_snapshot=1, key="comment", value="whose?"),
    ),
    _warning(
        "dangling-rows",
        _ORDERS,
        _insert("ducklake_file_column_stats", data_file_id=6, table_id=2, column_id=1),
    ),
    _warning(
        "dangling-rows",
        "object 88",
        _insert("ducklake_table_stats", table_id=88, record_count=1, next_row_id=1, file_size_bytes=1),
    ),
    _warning(
        "dangling-rows",
        _EVENTS,
        _insert("ducklake_table_column_stats", table_id=6, column_id=44),
    ),
    _error(
        "dangling-reference",
        '"schema 9".t',
        "UPDATE ducklake_table SET schema_id = 9 WHERE table_id = 9",
    ),
    _error(
        "dangling-reference",
        "main.t",
        "UPDATE ducklake_data_file SET mapping_id = 3 WHERE table_id = 9",
    ),
    _warning(
        "outlives-its-owner",
        "main.gone",
        "UPDATE ducklake_data_file SET end_snapshot = NULL WHERE table_id = 8",
    ),
    _error(
        "mapping-to-nothing",
        "main.t",
        "UPDATE ducklake_name_mapping SET target_field_id = 99 WHERE source_name = 'v'",
    ),
]
_DEFINITIONS = [
    _error(
        "unknown-type",
        _EVENTS,
        "UPDATE ducklake_column SET column_type = 'enum' WHERE table_id = 6 AND column_id = 2",
    ),
    _error(
        "misshapen-column",
        _ORDERS,
        "UPDATE ducklake_column SET column_type = 'map' WHERE column_type = 'list'",
    ),
    _error(
        "orphaned-column",
        _ORDERS,
        "UPDATE ducklake_column SET parent_column = 55 WHERE table_id = 2 AND column_id = 7",
    ),
    _error(
        "schema-version-missing",
        _NOTES,
        "DELETE FROM ducklake_schema_versions WHERE table_id = 5",
    ),
    _error(
        "schema-version-wrong",
        "main.t",
        "UPDATE ducklake_schema_versions SET schema_version = 11 WHERE table_id = 9",
    ),
    _warning("sort-order-empty", _ORDERS, "DELETE FROM ducklake_sort_expression"),
    _warning(
        "sort-order-unknown",
        _ORDERS,
        "UPDATE ducklake_sort_expression SET sort_direction = 'sideways'",
    ),
    _warning(
        "view-not-portable", "main.recent", "UPDATE ducklake_view SET sql = 'SELECT x FROM events LATERAL VIEW explode(xs) e AS x'"
    ),
]
_SETTINGS = [
    _error("lake-fact", _LAKE, "DELETE FROM ducklake_metadata WHERE key = 'encrypted'"),
    _error("option-scope", "main", _insert("ducklake_metadata", key="x", value="1", scope="view", scope_id=0)),
    _warning("option-unknown", _LAKE, _insert("ducklake_metadata", key="colour", value="red")),
    _error("option-value", _LAKE, _insert("ducklake_metadata", key="target_file_size", value="big")),
]
_FILES = [
    _error(
        "record-count-impossible",
        "main.t",
        "UPDATE ducklake_data_file SET record_count = -1 WHERE table_id = 9",
        "DELETE FROM ducklake_file_column_stats WHERE table_id = 9",
    ),
    _error(
        "file-size-missing",
        "main.t",
        "UPDATE ducklake_data_file SET file_size_bytes = NULL WHERE table_id = 9",
    ),
    _error(
        "row-ids-overlap",
        _EVENTS,
        "UPDATE ducklake_data_file SET row_id_start = 49 WHERE data_file_id = 12",
    ),
    _error(
        "row-ids-beyond-counter",
        _EVENTS,
        "UPDATE ducklake_table_stats SET next_row_id = 69 WHERE table_id = 6",
    ),
    _error(
        "row-ids-beyond-counter",
        _NOTES,
        "UPDATE ducklake_table_stats SET next_row_id = 1 WHERE table_id = 5",
    ),
    _warning(
        "file-without-statistics",
        "main.t",
        "DELETE FROM ducklake_file_column_stats WHERE table_id = 9",
    ),
    _error(
        "file-statistics-impossible",
        _EVENTS,
        "UPDATE ducklake_file_column_stats SET value_count = 4 "
        "WHERE data_file_id = 12 AND column_id = 1",
    ),
    _warning(
        "unsupported-file",
        "main.t",
        "UPDATE ducklake_data_file SET encryption_key = 'hMD5R4NJ8WpLKNbBU1Ktgw==' "
        "WHERE table_id = 9",
    ),
    _error(
        "path-escapes",
        "main.t",
        "UPDATE ducklake_data_file SET path = '../../../etc/passwd' WHERE table_id = 9",
    ),
    _error("path-missing", "main.t", "UPDATE ducklake_data_file SET path = '' WHERE table_id = 9"),
    _warning(
        "path-outside-lake",
        _EVENTS,
        "UPDATE ducklake_data_file SET path = '/elsewhere/a.parquet', path_is_relative = false "
        "WHERE data_file_id = 12",
    ),
    _error(
        "scheduled-while-in-use",
        _EVENTS,
        "INSERT INTO ducklake_files_scheduled_for_deletion (data_file_id, path, path_is_relative) "
        "SELECT 12, 'main/events/' || path, path_is_relative FROM ducklake_data_file "
        "WHERE data_file_id = 12",
    ),
]
_DELETES = [
    _error(
        "two-delete-files",
        _ORDERS,
        "UPDATE ducklake_delete_file SET data_file_id = (SELECT min(data_file_id) FROM "
        "ducklake_delete_file), delete_count = 6",
    ),
    _error(
        "delete-count-impossible",
        _ORDERS,
        "UPDATE ducklake_delete_file SET delete_count = 51 "
        "WHERE delete_file_id = (SELECT max(delete_file_id) FROM ducklake_delete_file)",
    ),
    _error(
        "delete-before-data",
        _ORDERS,
        "UPDATE ducklake_delete_file SET begin_snapshot = 4, partial_max = 9",
    ),
    _error(
        "delete-file-size-missing",
        _ORDERS,
        "UPDATE ducklake_delete_file SET file_size_bytes = NULL",
    ),
    _warning("unsupported-file", _ORDERS, "UPDATE ducklake_delete_file SET format = 'puffin'"),
    _error(
        "inlined-delete-of-nothing",
        _EVENTS,
        _insert("ducklake_inlined_delete_6", file_id=11, row_id=50, begin_snapshot=15),
    ),
]
_PARTITIONS = [
    _error(
        "partition-values-missing",
        _ORDERS,
        "DELETE FROM ducklake_file_partition_value WHERE data_file_id = 2",
    ),
    _error(
        "partition-values-without-partitioning",
        _EVENTS,
        _insert(
            "ducklake_file_partition_value",
            data_file_id=11,
            table_id=6,
            partition_key_index=0,
            partition_value="eu",
        ),
    ),
    _error(
        "partition-value-wrong",
        _ORDERS,
        "UPDATE ducklake_file_partition_value SET partition_value = 'us' WHERE data_file_id = 2",
    ),
    _error(
        "partitioned-by-missing-column",
        _ORDERS,
        "UPDATE ducklake_partition_column SET column_id = 7",
        "DELETE FROM ducklake_file_partition_value",
        "UPDATE ducklake_data_file SET partition_id = NULL",
    ),
    _error(
        "unknown-transform",
        _ORDERS,
        "UPDATE ducklake_partition_column SET transform = 'truncate(4)'",
    ),
]
_STATISTICS = [
    _error("table-statistics-missing", _EVENTS, "DELETE FROM ducklake_table_stats WHERE table_id = 6"),
    _error(
        "table-statistics-twice",
        _EVENTS,
        _insert("ducklake_table_stats", table_id=6, record_count=70, next_row_id=70, file_size_bytes=1365),
        "UPDATE ducklake_table_stats SET file_size_bytes = 99999 WHERE table_id = 6",
    ),
    _error(
        "table-statistics-narrow",
        _EVENTS,
        "UPDATE ducklake_table_column_stats SET min_value = '10' WHERE table_id = 6 AND column_id = 1",
    ),
    _error(
        "table-statistics-narrow",
        _EVENTS,
        "UPDATE ducklake_table_column_stats SET max_value = 'v8' WHERE table_id = 6 AND column_id = 2",
    ),
    _error(
        "table-statistics-narrow",
        _ORDERS,
        "UPDATE ducklake_table_column_stats SET max_value = '9.75' "
        "WHERE table_id = 2 AND column_id = 3",
    ),
    _error(
        "table-statistics-narrow",
        _ORDERS,
        "UPDATE ducklake_table_column_stats SET min_value = '2026-01-02' "
        "WHERE table_id = 2 AND column_id = 4",
    ),
    _error(
        "table-statistics-narrow",
        _ORDERS,
        "UPDATE ducklake_table_column_stats SET contains_null = false "
        "WHERE table_id = 2 AND column_id = 3",
    ),
    _warning(
        "table-statistics-hollow",
        _EVENTS,
        "UPDATE ducklake_table_column_stats SET min_value = NULL, max_value = NULL "
        "WHERE table_id = 6 AND column_id = 1",
        "UPDATE ducklake_file_column_stats SET min_value = NULL, max_value = NULL "
        "WHERE table_id = 6 AND column_id = 1",
    ),
    _error(
        "table-counts-too-low",
        _EVENTS,
        "UPDATE ducklake_table_stats SET record_count = 60 WHERE table_id = 6",
    ),
]
_INLINED = [
    _error("inlined-table-missing", _NOTES, "DROP TABLE ducklake_inlined_data_5_5"),
    _error("inlined-row-twice", _NOTES, "UPDATE ducklake_inlined_data_5_5 SET end_snapshot = NULL"),
    _error(
        "inlined-rows-lifetime", _NOTES, "UPDATE ducklake_inlined_data_5_5 SET begin_snapshot = 888"
    ),
    _error(
        "inlined-table-shape", _NOTES, "ALTER TABLE ducklake_inlined_data_5_5 RENAME COLUMN v TO x"
    ),
    _warning(
        "inlined-table-unregistered",
        _NOTES,
        "DELETE FROM ducklake_inlined_data_tables WHERE table_id = 5",
    ),
]
_ALL = [
    *_HISTORY,
    *_LIFETIMES,
    *_REFERENCES,
    *_DEFINITIONS,
    *_SETTINGS,
    *_FILES,
    *_DELETES,
    *_PARTITIONS,
    *_STATISTICS,
    *_INLINED,
]
# One of each kind of query, for the databases that take longer.
_SOME = [_HISTORY[0], _LIFETIMES[2], _REFERENCES[3], _DELETES[0], _DELETES[5], *_STATISTICS[2:7]]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> LakeAddress:
    lake = file_lake("sqlite", tmp_path_factory.mktemp("sound"))
    make_sound_lake(lake)
    return lake


@pytest.mark.parametrize("planted", _ALL, ids=str)
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
    for planted in _SOME:
        for statement in planted.statements:
            lake.sql(statement)
    with lake.open(read_only=True) as catalog:
        found = {(fault.fault, fault.relation) for fault in verify(catalog, files=False)}
    assert found == {(planted.fault, planted.relation) for planted in _SOME}


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
        {_LAKE, _NOTES, _EVENTS, _ORDERS},
        {_NOTES, _EVENTS},
        {_ORDERS},
        {_NOTES},
        {_ORDERS},
        {_ORDERS},
    ]


def test_a_fault_of_many_files_is_told_of_a_few(sound: LakeAddress, tmp_path: Path) -> None:
    lake = copy_of(sound, tmp_path / "copy")
    lake.sql("UPDATE ducklake_column SET begin_snapshot = 900")
    lake.sql("DELETE FROM ducklake_snapshot_changes")
    with lake.open(read_only=True) as catalog:
        found = [f for f in verify(catalog, files=False) if f.fault == "changes-missing"]
    assert len(found) == 11
    assert found[-1].problem == "… and 15 more like these."
