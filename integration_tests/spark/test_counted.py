"""Every write compares the rows that Spark counted with the rows in the files that it commits."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ducklake_spark.errors import InvalidDefinitionError, RowCountError
from ducklake_spark.storage.filesystem import list_files, remove_file
from support.sql_lakes import SqlLake

# Functions of the package have the names of these modules.
_ROWS = "SELECT id, CASE WHEN isnan(f) THEN -1 ELSE f END FROM t"
_stage = importlib.import_module("ducklake_spark.write.stage")
_move = importlib.import_module("ducklake_spark.write.move")


@pytest.fixture
def table(on: SqlLake) -> SqlLake:
    on.run(
        "CREATE TABLE t (id BIGINT NOT NULL, f DOUBLE, xs ARRAY<INT>)",
        "INSERT INTO t SELECT id, id / 2, array(1) FROM range(40)",
        "INSERT INTO t SELECT id, double('nan'), NULL FROM range(40, 80)",
    )
    return on


@contextmanager
def _refused(on: SqlLake) -> Iterator[None]:
    """Expect a RowCountError that changes neither the table nor the folder of its files."""
    folder = on.lake.catalog().data_path
    before, files = on.same(_ROWS), set(list_files(folder))
    with pytest.raises(RowCountError) as raised:
        yield
    assert raised.value.code == "DL602"
    assert on.same(_ROWS) == before
    assert set(list_files(folder)) == files


def _without_one(folder: str) -> list[str]:
    """A listing of a folder in which one data file is missing."""
    return sorted(path for path in list_files(folder) if path.endswith(".parquet"))[1:]


def _without_later_files() -> Callable[[str], list[str]]:
    """A listing of a folder that never shows more files than it did at first."""
    first: list[str] = []

    def listed(folder: str) -> list[str]:
        first[:] = first or list_files(folder)
        return first

    return listed


def _loses_one(write: Callable[..., Any]) -> Callable[..., Any]:
    """A write by the workers that loses one of their files."""

    def written(*arguments: Any) -> Any:
        paths = write(*arguments)
        remove_file(min(paths))
        return paths

    return written


@pytest.mark.parametrize("tasks", [2, 5])
def test_a_file_that_is_not_in_the_listing(
    table: SqlLake, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    monkeypatch.setattr(_stage, "list_files", _without_one)
    with _refused(table):
        table.run(f"INSERT INTO t SELECT id, NULL, NULL FROM range(0, 100, 1, {tasks})")


def test_a_file_that_is_lost_when_small_files_are_joined(
    table: SqlLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of the query are complete, but the file that joins them is missing."""
    insert = "INSERT INTO t SELECT id, NULL, NULL FROM range(0, 100, 1, 9)"
    monkeypatch.setattr(_stage, "list_files", _without_later_files())
    with _refused(table):
        table.run(insert)
    monkeypatch.undo()
    table.run(insert)
    assert table.same("SELECT count(*) FROM t") == [(180,)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE t SET f = 1",
        "MERGE INTO t USING range(200) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET f = 1",
    ],
)
def test_a_file_that_a_worker_names_and_nobody_else_sees(
    table: SqlLake, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    lossy = _loses_one(_stage.write_with_row_ids)
    monkeypatch.setattr(_stage, "write_with_row_ids", lossy)
    with _refused(table):
        table.run(statement)


@pytest.mark.parametrize("call", ["merge_adjacent_files", "rewrite_data_files"])
@pytest.mark.parametrize("by_workers", [False, True])
def test_a_file_that_a_compaction_loses(
    table: SqlLake, monkeypatch: pytest.MonkeyPatch, call: str, by_workers: bool
) -> None:
    if not by_workers:  # only lists and maps need the workers' own writer
        table.run("ALTER TABLE t DROP COLUMN xs")
        table.run("INSERT INTO t SELECT id, 1 FROM range(9)", "INSERT INTO t VALUES (1, 1)")
    if call == "rewrite_data_files":
        table.rows("CALL lake.set_option('rewrite_delete_threshold', 0)")
        table.run("DELETE FROM t WHERE id % 4 = 1")
    monkeypatch.setattr(_move, "list_files", _without_one)
    monkeypatch.setattr(_move, "write_with_row_ids", _loses_one(_move.write_with_row_ids))
    with _refused(table):
        table.rows(f"CALL lake.{call}('t')")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, 1, NULL FROM range(0)",
        "SELECT id, 1, NULL FROM range(9) WHERE false",
        "SELECT id, 1, NULL FROM range(9) WHERE id > 9",
        "SELECT id, 1, NULL FROM range(9) LIMIT 0",
        "SELECT a.id, 1, NULL FROM range(9) a JOIN range(9) b ON a.id = b.id + 10",
        "SELECT id % 2, count(*), NULL FROM range(9) WHERE id > 9 GROUP BY 1",
        "SELECT * FROM t WHERE id > 1000 ORDER BY id",
    ],
)
def test_no_rows_are_no_loss(table: SqlLake, query: str) -> None:
    for partitioning in ("RESET PARTITIONED BY", "SET PARTITIONED BY (bucket(4, id))"):
        table.run(f"ALTER TABLE t {partitioning}", f"INSERT INTO t {query}")
    assert table.same("SELECT count(*) FROM t") == [(80,)]


def test_nulls_and_nans_are_found_at_the_end_of_the_plan(table: SqlLake) -> None:
    table.run("ALTER TABLE t SET PARTITIONED BY (bucket(4, id))", "ALTER TABLE t SET SORTED BY (f)")
    with pytest.raises(InvalidDefinitionError, match="and 3 of the rows to write have no value"):
        table.run("INSERT INTO t SELECT IF(id % 3 = 0, NULL, id), 1, NULL FROM range(8)")
    table.run("INSERT INTO t SELECT id, IF(id = 4, double('nan'), id), NULL FROM range(80, 88)")
    assert table.same("SELECT count(*) FROM t WHERE isnan(f)") == [(40,)]
