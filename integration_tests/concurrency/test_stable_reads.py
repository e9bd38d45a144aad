"""What a reader or a transaction has seen stays what it saw, whatever others do meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ducklake_spark.catalog import Catalog, LakeReader, Transaction
from ducklake_spark.errors import CommitConflictError
from ducklake_spark.spec.model import DataFile, InlinedRow
from ducklake_spark.storage.delete_files import stage_delete
from support.faults import observed
from support.lakes import LakeAddress
from support.races import Duck, prepare
from support.reader import read_file

FLUSH = "CALL ducklake_flush_inlined_data('lake', schema_name => 's', table_name => 't')"
MERGE = "CALL ducklake_merge_adjacent_files('lake', 't', schema => 's')"


@pytest.fixture
def lake(shared_lake: LakeAddress) -> LakeAddress:
    """A lake with the table s.t in three files and two inlined rows."""
    prepare(shared_lake, ["s"])
    return shared_lake


@pytest.fixture
def duck(lake: LakeAddress) -> Iterator[Duck]:
    with Duck(lake) as duck:
        duck.run(inlining=0)
        yield duck


def ids_of(reader: LakeReader, files: list[DataFile], inlined: list[InlinedRow]) -> list[int]:
    table = reader.table("s.t")
    (column,) = (column for column in table.columns if column.name == "id")
    rows = [row for file in files for _, row in read_file(file, table, reader.snapshot.id, {})]
    return sorted([row["id"] for row in rows] + [row.values[column.id] for row in inlined])  # type: ignore[type-var]


@pytest.mark.parametrize("statement", [FLUSH, MERGE, "DELETE FROM s.t WHERE id > 7"])
def test_a_reader_sees_every_row_once_while_rows_move(
    lake: LakeAddress, duck: Duck, statement: str
) -> None:
    with lake.open() as catalog:
        reader = catalog.at()
        table = reader.table("s.t")
        files = reader.files(table)
        duck.run(statement)
        assert ids_of(reader, files, reader.inlined_rows(table)) == list(range(1, 13))
        files = reader.files(table)
        assert ids_of(reader, files, reader.inlined_rows(table)) == list(range(1, 13))


def once_files_were_read(act: Callable[[], None]) -> Callable[[str], None]:
    """Listens for the end of the first reading of data files, and acts then."""
    to_come = ["SELECT ducklake_data_file", "END"]

    def listener(step: str) -> None:
        if to_come and step == to_come[0]:
            del to_come[0]
            if not to_come:
                act()

    return listener


def test_a_truncation_that_meets_a_flush_leaves_no_row_or_conflicts(
    lake: LakeAddress, duck: Duck
) -> None:
    with lake.open() as catalog:
        tx = catalog.transaction()
        flush = once_files_were_read(lambda: duck.run(FLUSH))
        with observed(catalog, after=flush):
            tx.truncate("s.t")
        with pytest.raises(CommitConflictError):
            tx.commit()
    assert duck.rows("SELECT count(*) FROM s.t") == [(12,)]


def staged(tx: Transaction, which: int, position: int) -> Callable[[], None]:
    """Write a delete file for one of the data files; returns what registers it."""
    table = tx.table("s.t")
    file = sorted(tx.files(table), key=lambda file: file.row_id_start or 0)[which]
    delete = stage_delete(table, file, [position], tx.snapshot.id + 1)
    return lambda: tx.delete_rows("s.t", {file.id: delete})


def conflict_of(catalog: Catalog, other: Callable[[], None]) -> None:
    """A delete in A whose file was written before another commit, and registered after it."""
    tx = catalog.transaction()
    register = staged(tx, 0, 1)
    other()
    register()
    with pytest.raises(CommitConflictError):
        tx.commit()


def test_a_delete_written_before_another_one_does_not_undo_it(
    lake: LakeAddress, duck: Duck
) -> None:
    duck.run("DELETE FROM s.t WHERE id = 1")
    with lake.open() as catalog:
        conflict_of(catalog, lambda: duck.run("DELETE FROM s.t WHERE id = 3"))
    assert duck.rows("SELECT id FROM s.t WHERE id < 5 ORDER BY id") == [(2,), (4,)]


def test_a_delete_written_before_a_flush_of_deletes_does_not_undo_them(
    lake: LakeAddress, duck: Duck
) -> None:
    duck.run("DELETE FROM s.t WHERE id = 1", inlining=10)
    with lake.open() as catalog:
        conflict_of(catalog, lambda: duck.run(FLUSH))
    assert duck.rows("SELECT id FROM s.t WHERE id < 5 ORDER BY id") == [(2,), (3,), (4,)]


def test_a_delete_from_files_that_were_merged_meanwhile_conflicts(
    lake: LakeAddress, duck: Duck
) -> None:
    with lake.open() as catalog:
        conflict_of(catalog, lambda: duck.run(MERGE))


def test_a_delete_of_inlined_rows_that_were_flushed_meanwhile_conflicts(
    lake: LakeAddress, duck: Duck
) -> None:
    with lake.open() as catalog:
        tx = catalog.transaction()
        table = tx.table("s.t")
        rows = tx.inlined_rows(table)
        duck.run(FLUSH)
        tx.delete_inlined("s.t", [row.row_id for row in rows])
        with pytest.raises(CommitConflictError):
            tx.commit()
