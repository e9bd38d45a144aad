"""Faults to plant in the sound lake: statements on its catalog, and what they are to be found as.

The lake is that of support.sound_lake: orders 2 (in the schema sales, 1), notes 5, events 6, the
view recent 7, the dropped table gone 8, t 9.
"""

from __future__ import annotations

from dataclasses import dataclass

from ducklake_spark.spec.faults import Severity

LAKE = "the lake"
ORDERS, EVENTS, NOTES = "sales.orders", "main.events", "main.notes"


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
    shown = (
        f"'{v}'" if isinstance(v, str) else "NULL" if v is None else v for v in values.values()
    )
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(map(str, shown))})"


HISTORY = [
    _error(
        "changes-unreadable",
        LAKE,
        "UPDATE ducklake_snapshot_changes SET changes_made = 'created_table:5' "
        "WHERE snapshot_id = 10",
    ),
    _warning(
        "changes-missing", LAKE, "DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 5"
    ),
    _warning("dangling-changes", LAKE, _insert("ducklake_snapshot_changes", snapshot_id=999)),
    _error(
        "schema-version-unchanged",
        LAKE,
        "UPDATE ducklake_snapshot SET schema_version = schema_version - 1 WHERE snapshot_id >= 18",
        "UPDATE ducklake_schema_versions SET schema_version = schema_version - 1 "
        "WHERE begin_snapshot >= 18",
    ),
    _warning(
        "schema-version-gap",
        LAKE,
        "UPDATE ducklake_snapshot SET schema_version = schema_version + 3 WHERE snapshot_id >= 19",
        "UPDATE ducklake_schema_versions SET schema_version = schema_version + 3 "
        "WHERE begin_snapshot >= 19",
    ),
    _error(
        "counter-falls",
        LAKE,
        "UPDATE ducklake_snapshot SET next_file_id = 0 WHERE snapshot_id = 18",
    ),
    _error(
        "file-counter-unchanged",
        LAKE,
        "UPDATE ducklake_snapshot SET next_file_id = 5 WHERE snapshot_id = 5",
        "UPDATE ducklake_snapshot SET next_file_id = 5 WHERE snapshot_id = 6",
    ),
    _warning(
        "time-runs-backwards",
        LAKE,
        "UPDATE ducklake_snapshot SET snapshot_time = '2001-01-01 00:00:00+00' "
        "WHERE snapshot_id = 12",
    ),
    _error(
        "id-beyond-counter",
        ORDERS,
        _insert(
            "ducklake_partition_info",
            partition_id=500,
            table_id=2,
            begin_snapshot=4,
            end_snapshot=4,
        ),
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
LIFETIMES = [
    _error(
        "impossible-lifetime",
        EVENTS,
        "UPDATE ducklake_data_file SET end_snapshot = 3 WHERE data_file_id = 12",
    ),
    _error(
        "impossible-lifetime",
        NOTES,
        "UPDATE ducklake_column SET begin_snapshot = 900 WHERE table_id = 5 AND column_id = 2",
    ),
    _error(
        "overlapping-lifetimes",
        EVENTS,
        _insert("ducklake_tag", object_id=6, begin_snapshot=20, key="comment", value="another"),
    ),
    _error(
        "duplicate-name",
        "main.EVENTS",
        "UPDATE ducklake_table SET table_name = 'EVENTS' WHERE table_id = 5",
    ),
    _error(
        "duplicate-name",
        EVENTS,
        "UPDATE ducklake_column SET column_name = 'V' WHERE table_id = 6 AND column_id = 3",
    ),
]
REFERENCES = [
    _warning(
        "dangling-rows",
        "object 77",
        _insert("ducklake_tag", object_id=77, begin_snapshot=1, key="comment", value="whose?"),
    ),
    _warning(
        "dangling-rows",
        ORDERS,
        _insert("ducklake_file_column_stats", data_file_id=6, table_id=2, column_id=1),
    ),
    _warning(
        "dangling-rows",
        "object 88",
        _insert(
            "ducklake_table_stats", table_id=88, record_count=1, next_row_id=1, file_size_bytes=1
        ),
    ),
    _warning(
        "dangling-rows",
        EVENTS,
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
        EVENTS,
        "UPDATE ducklake_column SET column_type = 'enum' WHERE table_id = 6 AND column_id = 2",
    ),
    _error(
        "misshapen-column",
        ORDERS,
        "UPDATE ducklake_column SET column_type = 'map' WHERE column_type = 'list'",
    ),
    _error(
        "orphaned-column",
        ORDERS,
        "UPDATE ducklake_column SET parent_column = 55 WHERE table_id = 2 AND column_id = 7",
    ),
    _error(
        "schema-version-missing",
        NOTES,
        "DELETE FROM ducklake_schema_versions WHERE table_id = 5",
    ),
    _error(
        "schema-version-wrong",
        "main.t",
        "UPDATE ducklake_schema_versions SET schema_version = 11 WHERE table_id = 9",
    ),
    _warning("sort-order-empty", ORDERS, "DELETE FROM ducklake_sort_expression"),
    _warning(
        "sort-order-unknown",
        ORDERS,
        "UPDATE ducklake_sort_expression SET sort_direction = 'sideways'",
    ),
    _warning(
        "view-not-portable",
        "main.recent",
        "UPDATE ducklake_view SET sql = 'SELECT x FROM events LATERAL VIEW explode(xs) e AS x'",
    ),
]
_SETTINGS = [
    _error("lake-fact", LAKE, "DELETE FROM ducklake_metadata WHERE key = 'encrypted'"),
    _error(
        "option-scope",
        "main",
        _insert("ducklake_metadata", key="x", value="1", scope="view", scope_id=0),
    ),
    _warning("option-unknown", LAKE, _insert("ducklake_metadata", key="colour", value="red")),
    _error("option-value", LAKE, _insert("ducklake_metadata", key="target_file_size", value="big")),
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
        EVENTS,
        "UPDATE ducklake_data_file SET row_id_start = 49 WHERE data_file_id = 12",
    ),
    _error(
        "row-ids-beyond-counter",
        EVENTS,
        "UPDATE ducklake_table_stats SET next_row_id = 69 WHERE table_id = 6",
    ),
    _error(
        "row-ids-beyond-counter",
        NOTES,
        "UPDATE ducklake_table_stats SET next_row_id = 1 WHERE table_id = 5",
    ),
    _warning(
        "file-without-statistics",
        "main.t",
        "DELETE FROM ducklake_file_column_stats WHERE table_id = 9",
    ),
    _error(
        "file-statistics-impossible",
        EVENTS,
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
        EVENTS,
        "UPDATE ducklake_data_file SET path = '/elsewhere/a.parquet', path_is_relative = false "
        "WHERE data_file_id = 12",
    ),
    _error(
        "scheduled-while-in-use",
        EVENTS,
        "INSERT INTO ducklake_files_scheduled_for_deletion (data_file_id, path, path_is_relative) "
        "SELECT 12, 'main/events/' || path, path_is_relative FROM ducklake_data_file "
        "WHERE data_file_id = 12",
    ),
]
DELETES = [
    _error(
        "two-delete-files",
        ORDERS,
        "UPDATE ducklake_delete_file SET data_file_id = (SELECT min(data_file_id) FROM "
        "ducklake_delete_file), delete_count = 6",
    ),
    _error(
        "delete-count-impossible",
        ORDERS,
        "UPDATE ducklake_delete_file SET delete_count = 51 "
        "WHERE delete_file_id = (SELECT max(delete_file_id) FROM ducklake_delete_file)",
    ),
    _error(
        "delete-before-data",
        ORDERS,
        "UPDATE ducklake_delete_file SET begin_snapshot = 4, partial_max = 9",
    ),
    _error(
        "delete-file-size-missing",
        ORDERS,
        "UPDATE ducklake_delete_file SET file_size_bytes = NULL",
    ),
    _warning("unsupported-file", ORDERS, "UPDATE ducklake_delete_file SET format = 'orc'"),
    _error(
        "inlined-delete-of-nothing",
        EVENTS,
        _insert("ducklake_inlined_delete_6", file_id=11, row_id=50, begin_snapshot=15),
    ),
]
_PARTITIONS = [
    _error(
        "partition-values-missing",
        ORDERS,
        "DELETE FROM ducklake_file_partition_value WHERE data_file_id = 2",
    ),
    _error(
        "partition-values-without-partitioning",
        EVENTS,
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
        ORDERS,
        "UPDATE ducklake_file_partition_value SET partition_value = 'us' WHERE data_file_id = 2",
    ),
    _error(
        "partitioned-by-missing-column",
        ORDERS,
        "UPDATE ducklake_partition_column SET column_id = 7",
        "DELETE FROM ducklake_file_partition_value",
        "UPDATE ducklake_data_file SET partition_id = NULL",
    ),
    _error(
        "unknown-transform",
        ORDERS,
        "UPDATE ducklake_partition_column SET transform = 'truncate(4)'",
    ),
]
STATISTICS = [
    _error(
        "table-statistics-missing", EVENTS, "DELETE FROM ducklake_table_stats WHERE table_id = 6"
    ),
    _error(
        "table-statistics-twice",
        EVENTS,
        _insert(
            "ducklake_table_stats",
            table_id=6,
            record_count=70,
            next_row_id=70,
            file_size_bytes=1365,
        ),
        "UPDATE ducklake_table_stats SET file_size_bytes = 99999 WHERE table_id = 6",
    ),
    _error(
        "table-statistics-narrow",
        EVENTS,
        "UPDATE ducklake_table_column_stats SET min_value = '10' "
        "WHERE table_id = 6 AND column_id = 1",
    ),
    _error(
        "table-statistics-narrow",
        EVENTS,
        "UPDATE ducklake_table_column_stats SET max_value = 'v8' "
        "WHERE table_id = 6 AND column_id = 2",
    ),
    _error(
        "table-statistics-narrow",
        ORDERS,
        "UPDATE ducklake_table_column_stats SET max_value = '9.75' "
        "WHERE table_id = 2 AND column_id = 3",
    ),
    _error(
        "table-statistics-narrow",
        ORDERS,
        "UPDATE ducklake_table_column_stats SET min_value = '2026-01-02' "
        "WHERE table_id = 2 AND column_id = 4",
    ),
    _error(
        "table-statistics-narrow",
        ORDERS,
        "UPDATE ducklake_table_column_stats SET contains_null = false "
        "WHERE table_id = 2 AND column_id = 3",
    ),
    _warning(
        "table-statistics-hollow",
        EVENTS,
        "UPDATE ducklake_table_column_stats SET min_value = NULL, max_value = NULL "
        "WHERE table_id = 6 AND column_id = 1",
        "UPDATE ducklake_file_column_stats SET min_value = NULL, max_value = NULL "
        "WHERE table_id = 6 AND column_id = 1",
    ),
    _error(
        "table-statistics-inexact",
        "main.t",
        "UPDATE ducklake_table_column_stats SET max_value = '5' "
        "WHERE table_id = 9 AND column_id = 1",
    ),
    _error(
        "table-counts-too-low",
        EVENTS,
        "UPDATE ducklake_table_stats SET record_count = 60 WHERE table_id = 6",
    ),
]
_INLINED = [
    _error("inlined-table-missing", NOTES, "DROP TABLE ducklake_inlined_data_5_5"),
    _error("inlined-row-twice", NOTES, "UPDATE ducklake_inlined_data_5_5 SET end_snapshot = NULL"),
    _error(
        "inlined-rows-lifetime", NOTES, "UPDATE ducklake_inlined_data_5_5 SET begin_snapshot = 888"
    ),
    _error(
        "inlined-table-shape", NOTES, "ALTER TABLE ducklake_inlined_data_5_5 RENAME COLUMN v TO x"
    ),
    _warning(
        "inlined-table-unregistered",
        NOTES,
        "DELETE FROM ducklake_inlined_data_tables WHERE table_id = 5",
    ),
]
ALL = [
    *HISTORY,
    *LIFETIMES,
    *REFERENCES,
    *_DEFINITIONS,
    *_SETTINGS,
    *_FILES,
    *DELETES,
    *_PARTITIONS,
    *STATISTICS,
    *_INLINED,
]
# One of each kind of query, for the databases that take longer.
SOME = [HISTORY[0], LIFETIMES[2], REFERENCES[3], DELETES[0], DELETES[5], *STATISTICS[2:7]]
