"""The fifteen rules that a writer beside DuckDB must not break (FORMAT 0).

For each: DuckDB gets what we write right, and the very same check fails once the rule is broken,
by an edit of the catalog or by another way of writing. So the check would notice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import duckdb
import psycopg
import pyarrow.parquet as pq
import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.spec.names import QualifiedName
from support.foreign import append_foreign, without_ids, without_ids_of_parts
from support.lakes import KINDS, LakeAddress
from support.oracle import Oracle
from support.parquet import append, delete_positions

ID_NAME = [Field("id", "int32"), Field("name", "varchar")]


@pytest.fixture
def lake(make_lake: Callable[[str], LakeAddress]) -> LakeAddress:
    """A lake of ours on SQLite; most rules are about rows, which are the same everywhere."""
    return make_lake("sqlite")


def _create(lake: LakeAddress, *batches: list[int], fields: list[Field] | None = None) -> None:
    """The table t, with one file for each batch of ids."""
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", fields or ID_NAME)
        for ids in batches:
            _append(lake, ids)


def _append(lake: LakeAddress, ids: list[int], **options: Any) -> None:
    with lake.open() as catalog, catalog.transaction() as tx:
        append(tx, "t", [{"id": i, "name": f"n{i}"} for i in ids], **options)


def _delete(lake: LakeAddress, *positions: int) -> None:
    """From the table's first file."""
    with lake.open() as catalog, catalog.transaction() as tx:
        delete_positions(tx, "t", tx.files(tx.table("t"))[0], positions)


def _see(lake: LakeAddress, query: str, *statements: str) -> list[tuple[Any, ...]]:
    """What a DuckDB of its own sees, after statements of its own."""
    with Oracle(lake) as duck:
        duck.run(*statements)
        return duck.rows(query)


def _ids(rows: list[tuple[Any, ...]]) -> list[Any]:
    return [row[0] for row in rows]


# --- 1 to 5: statistics and caches ---


def test_1_statistics_of_a_table_hold_for_every_snapshot_that_can_be_read(
    lake: LakeAddress,
) -> None:
    _create(lake, [1, 2, 3])
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.truncate("t")
        append(tx, "t", [{"id": 1000}, {"id": 1001}])
    before_the_overwrite = "SELECT id FROM t AT (VERSION => 2) WHERE id < 900 ORDER BY id"
    now = "SELECT id FROM t ORDER BY id"
    assert _ids(_see(lake, before_the_overwrite)) == [1, 2, 3]
    assert _ids(_see(lake, now)) == [1000, 1001]

    lake.sql("UPDATE ducklake_table_column_stats SET min_value = '1000' WHERE column_id = 1")
    assert _ids(_see(lake, before_the_overwrite)) != [1, 2, 3]


def test_2_unknown_statistics_are_a_missing_row(lake: LakeAddress) -> None:
    _create(lake)
    _append(lake, [1, 2], write_statistics=False)
    assert lake.sql("SELECT * FROM ducklake_table_column_stats") == []
    query, insert = "SELECT id FROM t ORDER BY id", f"INSERT INTO t {_values(500, 511)}"
    assert _ids(_see(lake, query, insert)) == [1, 2, *range(500, 511)]

    lake.sql("INSERT INTO ducklake_table_column_stats VALUES (1, 1, 0, NULL, NULL, NULL, NULL)")
    insert = f"INSERT INTO t {_values(600, 611)}"
    assert _ids(_see(lake, query, insert)) != [1, 2, *range(500, 511), *range(600, 611)]


def _values(start: int, end: int) -> str:
    return f"SELECT i, 'x' FROM range({start}, {end}) r(i)"


def test_3_the_first_data_of_a_table_brings_its_statistics(lake: LakeAddress) -> None:
    _create(lake, [1, 2])
    row_ids = "SELECT count(*), count(DISTINCT rowid) FROM t"
    assert _see(lake, row_ids, f"INSERT INTO t {_values(10, 20)}") == [(12, 12)]

    lake.sql("DELETE FROM ducklake_table_stats")
    lake.sql("DELETE FROM ducklake_table_column_stats")
    assert _see(lake, row_ids, f"INSERT INTO t {_values(20, 30)}") != [(22, 22)]


def test_4_a_change_of_definitions_is_a_new_schema_version(lake: LakeAddress) -> None:
    _create(lake, [1])
    columns = "SELECT column_name FROM (DESCRIBE t)"
    with Oracle(lake) as duck, lake.open() as catalog:
        assert _ids(duck.rows(columns)) == ["id", "name"]
        with catalog.transaction() as tx:
            tx.add_column("t", Field("seen", "int32"))
        assert _ids(duck.rows(columns)) == ["id", "name", "seen"]

        with catalog.transaction() as tx:
            tx.add_column("t", Field("missed", "int32"))
        version = "(SELECT max(snapshot_id) FROM ducklake_snapshot)"
        lake.sql(f"UPDATE ducklake_snapshot SET schema_version = schema_version - 1 "
                 f"WHERE snapshot_id = {version}")  # fmt: skip
        assert _ids(duck.rows(columns)) == ["id", "name", "seen"]


@pytest.mark.parametrize(
    "change",
    [
        lambda tx: tx.create_schema("s"),
        lambda tx: tx.create_table("u", ID_NAME),
        lambda tx: tx.rename_table("t", "u"),
        lambda tx: tx.drop_table("t"),
        lambda tx: tx.comment_on_table("t", "hello"),
        lambda tx: tx.comment_on_column("t", "id", "hello"),
        lambda tx: tx.set_partitioning("t", ["id"]),
        lambda tx: tx.set_sort_order("t", ["id"]),
        lambda tx: tx.set_column_nullable("t", "id", False),
        lambda tx: tx.create_view("v", "SELECT 1"),
    ],
)
def test_4_every_kind_of_definition_counts(lake: LakeAddress, change: Any) -> None:
    _create(lake)
    with lake.open() as catalog:
        before = catalog.snapshot().schema_version
        with catalog.transaction() as tx:
            change(tx)
        assert catalog.snapshot().schema_version == before + 1


def test_5_data_is_added_under_a_higher_next_file_id(lake: LakeAddress) -> None:
    _create(lake, [1, 2])
    query = "SELECT id FROM t WHERE id >= 0 ORDER BY id"
    with Oracle(lake) as duck:
        assert _ids(duck.rows(query)) == [1, 2]
        _append(lake, [1000])
        assert _ids(duck.rows(query)) == [1, 2, 1000]

        _append(lake, [2000])
        # As if the last commit had taken no file id: DuckDB goes on with the statistics it has.
        lake.sql("UPDATE ducklake_snapshot SET next_file_id = (SELECT next_file_id FROM "
                 "ducklake_snapshot WHERE snapshot_id = 3) WHERE snapshot_id = 4")  # fmt: skip
        assert _ids(duck.rows("SELECT id FROM t WHERE id > 1500")) == []
    assert _ids(_see(lake, "SELECT id FROM t WHERE id > 1500")) == [2000]


# --- 6 to 8: versions, field ids ---


def test_6_every_table_has_its_schema_versions(lake: LakeAddress) -> None:
    _create(lake, [1], [2])
    merge = "SELECT files_processed FROM ducklake_merge_adjacent_files('lake')"
    assert _see(lake, merge) == [(2,)]

    _append(lake, [3])
    lake.sql("DELETE FROM ducklake_schema_versions")
    with pytest.raises(duckdb.InternalException, match="NULL"):
        _see(lake, merge)


@pytest.mark.parametrize("mapped", [True, False])
def test_7_columns_are_found_by_field_id_or_by_a_mapping(lake: LakeAddress, mapped: bool) -> None:
    _create(lake)
    append_foreign(lake, {"id": 1, "name": "old"}, without_ids, mapped=mapped)
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.drop_column("t", "name")
        tx.add_column("t", Field("name", "varchar"))
    right = _see(lake, "SELECT id, name FROM t") == [(1, None)]
    assert right == mapped


@pytest.mark.parametrize("written", ["with ids", "with a mapping", "as Spark would alone"])
def test_8_parts_of_lists_and_maps_have_field_ids_too(lake: LakeAddress, written: str) -> None:
    row = {"l": [1, 2], "s": {"a": 5}}
    _create(lake, fields=[Field("l", "int32[]"), Field("s", "struct(a int32)")])
    with lake.open() as catalog, catalog.transaction() as tx:
        if written == "with ids":
            append(tx, "t", [row])
    if written != "with ids":
        append_foreign(lake, row, without_ids_of_parts, mapped=written == "with a mapping")
    right = _see(lake, "SELECT l, s FROM t") == [([1, 2], {"a": 5})]
    assert right == (written != "as Spark would alone")


# --- 9 to 13: files ---


def test_9_a_data_file_has_one_live_delete_file(lake: LakeAddress) -> None:
    _create(lake, [1, 2, 3])
    _delete(lake, 0)
    _delete(lake, 2)
    assert _see(lake, "SELECT id FROM t") == [(2,)]

    columns = "table_id, begin_snapshot, end_snapshot, data_file_id, path, path_is_relative, \
        format, delete_count, file_size_bytes, footer_size, encryption_key, partial_max"
    lake.sql(f"INSERT INTO ducklake_delete_file SELECT delete_file_id + 100, {columns} "
             "FROM ducklake_delete_file")  # fmt: skip
    assert _see(lake, "SELECT id FROM t") != [(2,)]


def test_10_positions_in_a_delete_file_increase(lake: LakeAddress) -> None:
    _create(lake, [1, 2, 3, 4])
    _delete(lake, 3, 0, 0)
    assert _ids(_see(lake, "SELECT id FROM t ORDER BY id")) == [2, 3]

    with lake.open() as catalog:
        reader = catalog.at()
        (file,) = reader.files(reader.table("t"))
    assert file.delete_file
    deletes = pq.read_table(file.delete_file.path)
    pq.write_table(deletes.take([1, 0]), file.delete_file.path)
    lake.sql("UPDATE ducklake_delete_file SET footer_size = NULL")
    with pytest.raises(duckdb.Error, match="sorted and strictly increasing"):
        _see(lake, "SELECT id FROM t ORDER BY id")


@pytest.mark.parametrize(
    "lie",
    [
        "UPDATE ducklake_data_file SET record_count = record_count + 1",
        "UPDATE ducklake_delete_file SET delete_count = delete_count + 1",
    ],
)
def test_11_counts_are_exact(lake: LakeAddress, lie: str) -> None:
    _create(lake, [1, 2, 3, 4], [5, 6])
    _delete(lake, 1)
    _delete(lake, 3)
    query = "SELECT (SELECT count(*) FROM t), len((SELECT list(id) FROM t))"
    assert _see(lake, query) == [(4, 4)]

    lake.sql(lie)
    assert _see(lake, query) != [(4, 4)]


@pytest.mark.parametrize(
    ("table", "lie", "error"),
    [
        ("ducklake_data_file", "file_size_bytes = NULL", "INTERNAL"),
        ("ducklake_data_file", "footer_size = footer_size - 1", "footer length"),
        ("ducklake_data_file", "footer_size = NULL", None),
        ("ducklake_delete_file", "file_size_bytes = NULL", "INTERNAL"),
        ("ducklake_delete_file", "footer_size = NULL", None),
    ],
)
def test_12_sizes_are_there_and_footers_exact(
    lake: LakeAddress, table: str, lie: str, error: str | None
) -> None:
    _create(lake, [1, 2, 3])
    _delete(lake, 1)
    assert _ids(_see(lake, "SELECT id FROM t ORDER BY id")) == [1, 3]
    assert lake.sql(f"SELECT count(*) FROM {table} WHERE footer_size IS NULL") == [(0,)]

    lake.sql(f"UPDATE {table} SET {lie}")
    if error is None:
        assert _ids(_see(lake, "SELECT id FROM t ORDER BY id")) == [1, 3]
    else:
        with pytest.raises(duckdb.Error, match=error):
            _see(lake, "SELECT id FROM t ORDER BY id")


def test_13_rows_have_ids_of_their_own(lake: LakeAddress) -> None:
    _create(lake, [1, 2], [3])
    assert _ids(_see(lake, "SELECT rowid FROM t ORDER BY rowid")) == [0, 1, 2]
    assert _see(lake, "SELECT count(*) FROM t", "UPDATE t SET name = 'x' WHERE id = 3") == [(3,)]

    lake.sql("UPDATE ducklake_data_file SET row_id_start = NULL")
    assert _ids(_see(lake, "SELECT id FROM t ORDER BY id")) == [1, 2, 3]
    for needs_row_ids in ("SELECT rowid FROM t", "UPDATE t SET name = 'y' WHERE id = 1"):
        with pytest.raises(duckdb.Error, match="row_id_start"):
            _see(lake, needs_row_ids)


# --- 14 and 15: commits ---


def _race(lake: LakeAddress, name: str, edit: str | None = None) -> None:
    """DuckDB begins and inserts, we create a table and a view, and DuckDB commits."""
    with Oracle(lake) as duck:
        duck.run("SET ducklake_retry_wait_ms = 1", "BEGIN", f"INSERT INTO t {_values(70, 90)}")
        with lake.open() as catalog, catalog.transaction() as tx:
            tx.create_table(QualifiedName("main", name), ID_NAME)
            tx.create_view(QualifiedName("main", f"{name} too"), "SELECT 1")
        if edit:
            lake.sql(edit)
        duck.run("COMMIT")


@pytest.mark.parametrize("changes", ["created_table:5", "exploded:1", "inserted_into_table:x"])
def test_14_what_a_commit_did_is_said_in_words_that_duckdb_knows(
    lake: LakeAddress, changes: str
) -> None:
    _create(lake, [1])
    _race(lake, 'odd "name", "')
    assert _see(lake, "SELECT count(*) FROM t") == [(21,)]

    last = "(SELECT max(snapshot_id) FROM ducklake_snapshot)"
    lie = f"UPDATE ducklake_snapshot_changes SET changes_made = '{changes}' "
    with pytest.raises(duckdb.Error):
        _race(lake, "another", f"{lie} WHERE snapshot_id = {last}")


KEYS = {
    "ducklake_snapshot": "snapshot_id",
    "ducklake_snapshot_changes": "snapshot_id",
    "ducklake_schema": "schema_id",
    "ducklake_data_file": "data_file_id",
    "ducklake_delete_file": "delete_file_id",
}


def _refuses_twins(lake: LakeAddress, table: str) -> bool:
    try:
        lake.sql(f"INSERT INTO {table} SELECT * FROM {table}")
    except (sqlite3.IntegrityError, duckdb.ConstraintException, psycopg.errors.UniqueViolation):
        return True
    return False


def _drop_key(lake: LakeAddress, table: str) -> None:
    if lake.kind == "postgres":
        lake.sql(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey")
        return
    lake.sql(f"CREATE TABLE copied AS SELECT * FROM {table}")
    lake.sql(f"DROP TABLE {table}")
    lake.sql(f"ALTER TABLE copied RENAME TO {table}")


@pytest.mark.parametrize("kind", KINDS)
def test_15_primary_keys_guard_every_commit(
    make_lake: Callable[[str], LakeAddress], kind: str
) -> None:
    lake = make_lake(kind)
    _create(lake, [1, 2, 3])
    _delete(lake, 0)
    assert {table: _refuses_twins(lake, table) for table in KEYS} == dict.fromkeys(KEYS, True)

    for table in KEYS:
        _drop_key(lake, table)
    assert {table: _refuses_twins(lake, table) for table in KEYS} == dict.fromkeys(KEYS, False)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_15_without_them_two_commits_become_the_same_snapshot(
    make_lake: Callable[[str], LakeAddress], kind: str
) -> None:
    lake = make_lake(kind)
    _create(lake, [1])
    twins = "SELECT snapshot_id FROM ducklake_snapshot_changes GROUP BY 1 HAVING count(*) > 1"
    _race(lake, "guarded")
    assert lake.sql(twins) == []
    assert lake.sql("SELECT max(snapshot_id) FROM ducklake_snapshot") == [(4,)]

    for table in KEYS:
        _drop_key(lake, table)
    _race(lake, "unguarded")
    assert lake.sql(twins) == [(5,)]
