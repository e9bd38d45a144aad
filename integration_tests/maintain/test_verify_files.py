"""What the files of a lake do not bear out of its catalog is found, and so are files too many."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.maintain import verify
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.names import uuid7
from support.foreign import append_foreign, without_ids
from support.lakes import LakeAddress
from support.shared_duck import SharedDuck
from support.sound_lake import copy_of

_DAYS = 24 * 3600
_SUPERFLUOUS = "orphaned-file"


@pytest.fixture
def lake(sound: LakeAddress, tmp_path: Path) -> LakeAddress:
    return copy_of(sound, tmp_path / "copy")


def _faults(lake: LakeAddress, **where: str) -> list[Fault]:
    with lake.open(read_only=True) as catalog:
        return verify(catalog, **where)


def _found(lake: LakeAddress) -> set[tuple[str, str]]:
    return {(fault.fault, fault.relation) for fault in _faults(lake)}


def _path(lake: LakeAddress, table: str, folder: str, which: str = "") -> Path:
    """The path of a table's newest file that meets a condition."""
    ((path,),) = lake.sql(f"SELECT path FROM {table} {which} ORDER BY 1 DESC LIMIT 1")
    return Path(lake.data_path, folder, path)


def _events(lake: LakeAddress) -> Path:
    return _path(lake, "ducklake_data_file", "main/events", "WHERE data_file_id = 11")


def _delete_file(lake: LakeAddress) -> Path:
    where = "WHERE delete_count = 21"
    return _path(lake, "ducklake_delete_file", "sales/orders", where)


def _write_deletes(lake: LakeAddress, deletes: pa.Table) -> None:
    """Put another delete file in the place of one, with its sizes in the catalog."""
    path = _delete_file(lake)
    pq.write_table(deletes, path)
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little")
    lake.sql(
        f"UPDATE ducklake_delete_file SET delete_count = {len(deletes)}, footer_size = {footer}, "
        f"file_size_bytes = {path.stat().st_size} WHERE delete_count = 21"
    )


def _deletes(*positions: int) -> pa.Table:
    return pa.table({"file_path": ["x"] * len(positions), "pos": pa.array(positions, pa.int64())})


_Spoil = Callable[[LakeAddress], object]
_SPOILED: list[tuple[str, str, _Spoil]] = [
    ("file-missing", "main.events", lambda lake: _events(lake).unlink()),
    ("file-unreadable", "main.events", lambda lake: _events(lake).write_bytes(b"PAR1 no more")),
    (
        "file-size-wrong",
        "main.events",
        lambda lake: lake.sql(
            "UPDATE ducklake_data_file SET file_size_bytes = 700 WHERE data_file_id = 11"
        ),
    ),
    (
        "footer-size-wrong",
        "main.events",
        lambda lake: lake.sql(
            "UPDATE ducklake_data_file SET footer_size = 9 WHERE data_file_id = 11"
        ),
    ),
    (
        "field-ids-missing",
        "main.t",
        lambda lake: append_foreign(lake, {"k": 2, "v": "y"}, without_ids, mapped=False),
    ),
    (
        "row-ids-missing",
        "main.events",
        lambda lake: lake.sql(
            "UPDATE ducklake_data_file SET row_id_start = NULL WHERE data_file_id = 11"
        ),
    ),
    (
        "column-type-wrong",
        "main.events",
        lambda lake: lake.sql(
            "UPDATE ducklake_column SET column_type = 'date' WHERE table_id = 6 AND column_id = 1"
        ),
    ),
    (
        "file-statistics-wrong",
        "main.events",
        lambda lake: lake.sql(
            "UPDATE ducklake_file_column_stats SET min_value = '57' "
            "WHERE data_file_id = 12 AND column_id = 1"
        ),
    ),
    ("file-missing", "sales.orders", lambda lake: _delete_file(lake).unlink()),
    (
        "delete-count-wrong",
        "sales.orders",
        lambda lake: lake.sql(
            "UPDATE ducklake_delete_file SET delete_count = 20 WHERE delete_count = 21"
        ),
    ),
    (
        "delete-file-shape",
        "sales.orders",
        lambda lake: _write_deletes(lake, pa.table({"pos": [1, 2]})),
    ),
    (
        "delete-positions-unordered",
        "sales.orders",
        lambda lake: _write_deletes(lake, _deletes(3, 1, 2)),
    ),
    (
        "delete-positions-beyond-file",
        "sales.orders",
        lambda lake: _write_deletes(lake, _deletes(1, 50)),
    ),
    (
        "delete-snapshot-wrong",
        "sales.orders",
        lambda lake: lake.sql(
            "UPDATE ducklake_delete_file SET begin_snapshot = begin_snapshot + 1 "
            "WHERE partial_max IS NOT NULL"
        ),
    ),
    (
        "row-snapshots-missing",
        "main.events",
        lambda lake: lake.sql(
            "UPDATE ducklake_data_file SET partial_max = 20 WHERE data_file_id = 11"
        ),
    ),
]


@pytest.mark.parametrize(
    ("fault", "relation", "spoil"), _SPOILED, ids=[f"{f} of {r}" for f, r, _ in _SPOILED]
)
def test_a_spoiled_file_is_found(
    lake: LakeAddress, fault: str, relation: str, spoil: _Spoil
) -> None:
    spoil(lake)
    assert _found(lake) == {(fault, relation)}


@pytest.mark.parametrize(
    ("fault", "change"),
    [
        ("partial-max-wrong", "partial_max = NULL"),
        ("partial-max-wrong", "partial_max = partial_max - 1"),
        ("begin-snapshot-wrong", "begin_snapshot = begin_snapshot + 1"),
    ],
)
def test_a_merged_file_with_wrong_snapshots_is_found(
    lake: LakeAddress, fault: str, change: str
) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE m AS SELECT i FROM range(20) r(i)",
            "INSERT INTO m SELECT i FROM range(20) r(i)",
            "INSERT INTO m SELECT i FROM range(20) r(i)",
            "CALL ducklake_merge_adjacent_files('lake', 'm')",
        )
    assert _found(lake) == set()
    lake.sql(f"UPDATE ducklake_data_file SET {change} WHERE partial_max IS NOT NULL")
    assert _found(lake) == {(fault, "main.m")}


def _rewritten(lake: LakeAddress) -> Path:
    """The only data file of a table m after a rewrite by DuckDB: its row ids are 15 to 19."""
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE m (i BIGINT)",
            "CALL lake.set_option('data_inlining_row_limit', 0, table_name => 'm')",
            "INSERT INTO m SELECT i FROM range(20) r(i)",
            "DELETE FROM m WHERE i < 15",
            "CALL ducklake_rewrite_data_files('lake', 'm', delete_threshold => 0.1)",
        )
    return _path(lake, "ducklake_data_file", "main/m", "WHERE row_id_start IS NULL")


def test_row_ids_in_a_file_that_new_rows_would_get_again_are_found(lake: LakeAddress) -> None:
    _rewritten(lake)
    found = _found(lake)
    table = "(SELECT table_id FROM ducklake_data_file WHERE row_id_start IS NULL)"
    lake.sql(f"UPDATE ducklake_table_stats SET next_row_id = 19 WHERE table_id = {table}")
    assert _found(lake) - found == {("row-ids-beyond-counter", "main.m")}


def test_rows_without_an_id_in_a_file_with_row_ids_are_found(lake: LakeAddress) -> None:
    path = _rewritten(lake)
    found = _found(lake)
    rows, size = pq.read_table(path), path.stat().st_size
    at = rows.schema.get_field_index("_ducklake_internal_row_id")
    ids = pa.array([None, *rows.column(at).to_pylist()[1:]], pa.int64())
    pq.write_table(rows.set_column(at, rows.schema.field(at), ids), path)
    lake.sql(
        f"UPDATE ducklake_table_stats SET file_size_bytes = {path.stat().st_size} "
        f"WHERE file_size_bytes = {size}"
    )
    lake.sql(
        f"UPDATE ducklake_data_file SET file_size_bytes = {path.stat().st_size}, "
        "footer_size = NULL WHERE row_id_start IS NULL"
    )
    assert _found(lake) - found == {("row-ids-missing", "main.m")}


def test_a_wrong_count_of_rows_is_found(lake: LakeAddress) -> None:
    lake.sql("UPDATE ducklake_data_file SET record_count = 21 WHERE data_file_id = 12")
    found = _found(lake)
    # The catalog alone shows it too: statistics and row ids are of another number of rows.
    assert ("record-count-wrong", "main.events") in found
    assert ("file-statistics-impossible", "main.events") in found


def test_rows_that_are_deleted_twice_are_found(lake: LakeAddress) -> None:
    path = _events(lake).parent / "twice-delete.parquet"
    pq.write_table(_deletes(2, 30), path)
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little")
    lake.sql(
        "INSERT INTO ducklake_delete_file (delete_file_id, table_id, begin_snapshot, data_file_id, "
        "path, path_is_relative, format, delete_count, file_size_bytes, footer_size) "
        f"VALUES (13, 6, 20, 11, '{path.name}', 1, 'parquet', 2, {path.stat().st_size}, {footer})"
    )
    lake.sql("UPDATE ducklake_snapshot SET next_file_id = 20 WHERE snapshot_id = 24")
    lake.sql("DELETE FROM ducklake_data_file WHERE data_file_id = 13")
    lake.sql("DELETE FROM ducklake_file_column_stats WHERE data_file_id = 13")
    assert _found(lake) == {("deleted-twice", "main.events")}


def test_files_that_nobody_knows_are_orphans_once_they_are_old(lake: LakeAddress) -> None:
    folder = Path(lake.data_path, "main/events")
    old, young = (folder / f"ducklake-{uuid7()}.parquet" for _ in range(2))
    others = [folder / name for name in ("export.parquet", "notes.txt")]
    long_ago = time.time() - 3 * _DAYS
    for path in (old, young, *others):
        path.write_bytes(b"whatever")
    for path in (old, *others):
        os.utime(path, (long_ago, long_ago))
    (fault,) = _faults(lake)
    assert (fault.fault, fault.severity) == (_SUPERFLUOUS, Severity.WARNING)
    assert str(old) in fault.problem
    assert _faults(lake, schema="main") == []


def test_files_that_wait_for_their_deletion_are_no_orphans(lake: LakeAddress) -> None:
    long_ago = time.time() - 3 * _DAYS
    for path in Path(lake.data_path).rglob("*.parquet"):
        os.utime(path, (long_ago, long_ago))
    assert _faults(lake) == []


def test_errors_come_first(lake: LakeAddress) -> None:
    lake.sql("DELETE FROM ducklake_sort_expression")
    _events(lake).unlink()
    assert [fault.severity for fault in _faults(lake)] == [Severity.ERROR, Severity.WARNING]
