"""Deletion vectors that DuckDB writes into a lake of 1.0 are read, and DuckDB continues ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from ducklake_spark.errors import StorageError
from ducklake_spark.maintain import verify
from ducklake_spark.spec.model import DataFile
from support.lakes import LakeAddress, file_lake
from support.oracle import duck_runs
from support.parquet import delete_positions
from support.reader import read_rows
from support.states import assert_read_alike, row_counts

_DELETES = (
    "CALL lake.set_option('write_deletion_vectors', true)",
    "CREATE TABLE t AS SELECT range AS k FROM range(80000)",
    "DELETE FROM t WHERE k % 3 = 0",  # a bitmap container, and an array
    "DELETE FROM t WHERE k BETWEEN 66000 AND 79990",
    "INSERT INTO t SELECT range FROM range(300000, 300020)",
    "DELETE FROM t WHERE k IN (1, 300004)",
    "UPDATE t SET k = -k WHERE k = 2",
)


@pytest.fixture
def vectors(tmp_path: Path) -> LakeAddress:
    lake = file_lake("sqlite", tmp_path)
    duck_runs(lake, "CALL lake.set_option('data_inlining_row_limit', 0)", *_DELETES)
    assert {row[0] for row in lake.sql("SELECT format FROM ducklake_delete_file")} == {"puffin"}
    return lake


def _live_file(lake: LakeAddress) -> DataFile:
    with lake.open(read_only=True) as catalog:
        return next(f for f in catalog.at().files(catalog.at().table("t")) if f.delete_file)


def test_duckdbs_vectors_are_read(vectors: LakeAddress) -> None:
    states = assert_read_alike(vectors)
    assert row_counts(states)[-1] == len(set(range(80_000)) - _gone()) + 19
    with vectors.open(read_only=True) as catalog:
        # The option is on, and DuckDB 1.5 has lost the time of the earlier deletes.
        assert [fault.fault for fault in verify(catalog, files=True)] == ["option-value"]


def _gone() -> set[int]:
    return {1, *range(0, 80_000, 3), *range(66_000, 79_991)}


def test_both_engines_delete_from_a_file_with_a_vector(vectors: LakeAddress) -> None:
    with vectors.open() as catalog, catalog.transaction() as tx:
        file = next(f for f in tx.files(tx.table("t")) if f.delete_file)
        delete_positions(tx, "t", file, [4, 5, 200])
    states = assert_read_alike(vectors)
    before = row_counts(states)[-1]
    duck_runs(vectors, "DELETE FROM t WHERE k IN (7, 8)")
    states = assert_read_alike(vectors)
    assert row_counts(states)[-1] == before - 2


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied"])
def test_a_damaged_vector_is_an_error(vectors: LakeAddress, damage: str) -> None:
    delete = _live_file(vectors).delete_file
    assert delete is not None
    path = Path(delete.path)
    data = path.read_bytes()
    at = len(data) // 2
    flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    path.write_bytes({"cut": data[:-1], "flipped": flipped, "emptied": b""}[damage])
    with vectors.open(read_only=True) as catalog:
        reader = catalog.at()
        with pytest.raises(StorageError, match="is damaged") as refused:
            read_rows(reader, reader.table("t"))
        assert str(path) in str(refused.value)
        found = {fault.fault for fault in verify(catalog, files=True)}
        assert "file-unreadable" in found


def test_verify_compares_the_catalog_with_a_vector(vectors: LakeAddress) -> None:
    vectors.run(
        "UPDATE ducklake_delete_file SET delete_count = delete_count - 1, "
        "file_size_bytes = file_size_bytes + 1"
    )
    with vectors.open(read_only=True) as catalog:
        found = {fault.fault for fault in verify(catalog, files=True)}
    assert found >= {"delete-count-wrong", "file-size-wrong"}
