"""Delete files are those that DuckDB writes, and hold any number of positions."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from ducklake_spark.spec.positions import SortedPositions
from ducklake_spark.storage.delete_files import StagedDeleteFile, read_delete_file, stage_delete
from support.lakes import LakeAddress, file_lake
from support.memory import CAN_MEASURE, peak_memory
from support.oracle import Oracle

_SHAPE = "name, type, field_id"
_MANY = 24_000_000


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


def delete(lake: LakeAddress, positions: SortedPositions) -> StagedDeleteFile:
    """Delete rows of a table's only file."""
    with lake.open() as catalog, catalog.transaction() as tx:
        table = tx.table("t")
        (file,) = tx.files(table)
        staged = stage_delete(table, file, positions, tx.snapshot.id + 1)
        tx.delete_rows("t", {file.id: staged})
    return staged


def delete_path(lake: LakeAddress) -> str:
    with lake.open() as catalog:
        (file,) = catalog.at().files(catalog.at().table("t"))
        assert file.delete_file is not None
        return file.delete_file.path


def shape(path: str) -> list[tuple[object, ...]]:
    return duckdb.sql(f"SELECT {_SHAPE} FROM parquet_schema('{path}')").fetchall()[1:]


def test_delete_files_have_the_columns_that_duckdb_gives_them(tmp_path: Path) -> None:
    shapes = []
    for by_duckdb in (True, False):
        folder = tmp_path / str(by_duckdb)
        folder.mkdir()
        lake = file_lake("sqlite", folder)
        with Oracle(lake) as duck:
            duck.run("CREATE TABLE t AS SELECT i AS id FROM range(1000) r(i)")
        for position in (3, 7):
            if by_duckdb:
                with Oracle(lake) as duck:
                    duck.run(
                        "CALL lake.set_option('data_inlining_row_limit', 0)",
                        f"DELETE FROM t WHERE id = {position}",
                    )
            else:
                delete(lake, SortedPositions.of([position]))
            shapes.append(shape(delete_path(lake)))
    assert shapes[:2] == shapes[2:]
    assert [len(columns) for columns in shapes] == [2, 3, 2, 3]


@pytest.mark.skipif(not CAN_MEASURE, reason="Linux tells the peak of a process's memory")
def test_a_file_can_have_millions_of_deleted_rows(lake: LakeAddress) -> None:
    """As texts the paths would take more than the 2 GB that an Arrow array can hold."""
    with Oracle(lake) as duck:
        duck.run(f"CREATE TABLE t AS SELECT i AS id FROM range({_MANY + 1000}) r(i)")
    most = SortedPositions([np.arange(_MANY)])
    with peak_memory() as peak:
        delete(lake, most)
    assert peak.grown < 8 * _MANY
    with peak_memory() as peak:
        staged = delete(lake, SortedPositions.of([5, _MANY, _MANY + 7]))
    assert peak.grown < 20 * _MANY
    assert staged.delete_count == _MANY + 2
    with Oracle(lake) as duck:
        assert duck.value(f"SELECT sum(id - {_MANY}) FROM t") == sum(
            at for at in range(1000) if at not in (0, 7)
        )


def test_positions_in_any_order_are_read(lake: LakeAddress) -> None:
    """DuckDB refuses such a file, and other writers may have left one behind."""
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t AS SELECT i AS id FROM range(1000) r(i)")
    delete(lake, SortedPositions.of([1, 2, 3]))
    path = delete_path(lake)
    duckdb.sql(
        f"COPY (SELECT * FROM read_parquet('{path}') ORDER BY pos DESC) TO '{path}.new' "
        "(FORMAT parquet)"
    )
    Path(f"{path}.new").replace(path)
    staged = delete(lake, SortedPositions.of([0, 2, 900]))
    with lake.open() as catalog:
        (file,) = catalog.at().files(catalog.at().table("t"))
        assert file.delete_file is not None
        assert read_delete_file(file.delete_file)["pos"].to_pylist() == [0, 1, 2, 3, 900]
    assert staged.delete_count == 5
    with Oracle(lake) as duck:
        assert duck.value("SELECT count(*) FROM t") == 995
