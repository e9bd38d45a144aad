"""Snapshots that another client expires while they are in use: named errors, never empty reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from sqlalchemy import text

from ducklake_spark.catalog import Catalog, Field, SnapshotReader
from ducklake_spark.errors import CommitUnknownError, SnapshotExpiredError
from ducklake_spark.maintain import expire_snapshots
from support.expiries import Act, create_other, expiring_client
from support.faults import observed
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import append
from support.reader import read_rows

CLIENTS = pytest.mark.parametrize("client", ["ours", "duckdb"])
QUESTIONS: dict[str, Callable[[SnapshotReader], object]] = {
    "tables": lambda r: r.tables("main"),
    "find_table": lambda r: r.find_table("u"),
    "views": lambda r: r.views("main"),
    "find_view": lambda r: r.find_view("w"),
    "macros": lambda r: r.macros("main"),
    "files": lambda r: r.files(r.table("t")),
    "inlined_rows": lambda r: r.inlined_rows(r.table("t")),
    "changes": lambda r: r.changes(r.table("t"), r.snapshot.id),
    "columns_at": lambda r: r.columns_at(r.table("t"), r.snapshot.id),
    "schema_versions": lambda r: r.schema_versions(r.table("t")),
    "inlined_lives": lambda r: r.inlined_lives(r.table("t")),
    "inlined deletes": lambda r: r.files_with_inlined_deletes(r.table("t")),
    "mappings": lambda r: r.mappings(r.table("t")),
    "column_births": lambda r: r.column_births(r.table("t")),
    "former_types": lambda r: r.former_types(r.table("t")),
    "options": lambda r: r.options(r.table("t")),
    "stored_options": lambda r: r.stored_options(),
    "table_stats": lambda r: r.table_stats(r.table("t")),
    "column_stats": lambda r: r.column_stats(r.table("t")),
    "next_column_id": lambda r: r.next_column_id(r.table("t")),
}


def fill(catalog: Catalog) -> None:
    create_other(catalog)
    with catalog.transaction() as tx:
        tx.create_table("t", [Field("id", "int32")])
        append(tx, "t", [{"id": 1}, {"id": 2}])


@CLIENTS
def test_every_question_about_an_expired_snapshot_raises(
    shared_lake: LakeAddress, client: str
) -> None:
    with shared_lake.open() as catalog, expiring_client_of(catalog, shared_lake, client) as expire:
        reader = catalog.at()
        reader.table("t")
        expire()
        for name, question in QUESTIONS.items():
            with pytest.raises(SnapshotExpiredError, match=r"Snapshot 2 .* was expired") as caught:
                question(reader)
            assert "Nothing was changed" in str(caught.value), name
        assert reader.table("t").name.name == "t", "what was read before the expiry is right"


def expiring_client_of(
    catalog: Catalog, lake: LakeAddress, client: str
) -> AbstractContextManager[Act]:
    fill(catalog)
    return expiring_client(lake, client, "t")


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "duckdb"])
def test_a_question_sees_one_state_of_the_catalog(
    make_lake: Callable[[str], LakeAddress], kind: str
) -> None:
    """Without that, the proof that the snapshot exists would prove nothing."""
    lake = make_lake(kind)
    count = text("SELECT count(*) FROM ducklake_snapshot")
    with lake.open() as catalog, lake.open() as other:
        fill(catalog)
        with catalog._store.connected() as connection:
            before = connection.execute(count).scalar_one()
            if kind == "sqlite":  # nobody can write while a question is being read
                path = lake.catalog.removeprefix("sqlite:")
                with (
                    pytest.raises(sqlite3.OperationalError, match="locked"),
                    sqlite3.connect(path, timeout=0) as writer,
                ):
                    writer.execute("DELETE FROM ducklake_snapshot")
            else:
                expire_snapshots(other, older_than="0 seconds")
            assert connection.execute(count).scalar_one() == before


@CLIENTS
def test_a_transaction_over_an_expired_snapshot_cannot_commit(
    shared_lake: LakeAddress, client: str
) -> None:
    with shared_lake.open() as catalog, expiring_client_of(catalog, shared_lake, client) as expire:
        tx = catalog.transaction()
        append(tx, "t", [{"id": 3}])
        expire()
        with pytest.raises(SnapshotExpiredError, match=r"Snapshot 2 .* this transaction reads"):
            tx.commit()
        assert len(read_rows(catalog.at(), catalog.at().table("t"))) == 2
    with Oracle(shared_lake) as duck:
        assert duck.rows("FROM t") == [(1,), (2,)]
        duck.run("INSERT INTO t VALUES (4)")


@pytest.mark.parametrize(
    "hidden", ["DELETE FROM t", "DROP TABLE t", "ALTER TABLE t ADD COLUMN x INT"]
)
@pytest.mark.parametrize("mine", ["append", "delete"])
def test_an_expired_snapshot_after_the_base_hides_a_conflict(
    shared_lake: LakeAddress, hidden: str, mine: str
) -> None:
    with shared_lake.open() as catalog:
        fill(catalog)
        tx = catalog.transaction()
        if mine == "append":
            append(tx, "t", [{"id": 3}])
        else:
            tx.truncate("t")
        with Oracle(shared_lake) as duck:
            duck.run(hidden, "INSERT INTO other VALUES (1)")
            duck.run("CALL ducklake_expire_snapshots('lake', versions => [3])")
            with pytest.raises(SnapshotExpiredError, match=r"Snapshot 3 .* cannot be checked"):
                tx.commit()
            assert duck.snapshots() == [0, 1, 2, 4]
        again = catalog.transaction()
        append(again, "other", [{"id": 3}])
        again.commit()


def test_a_change_feed_whose_first_snapshot_expires_raises(shared_lake: LakeAddress) -> None:
    with shared_lake.open() as catalog:
        fill(catalog)
        with catalog.transaction() as tx:
            append(tx, "t", [{"id": 3}])
        reader = catalog.at()
        table = reader.table("t")
        expire_snapshots(catalog, versions=[2])
        with pytest.raises(SnapshotExpiredError, match="Snapshot 2 "):
            reader.changes(table, 2)


def test_a_snapshot_that_expires_while_a_schema_is_looked_for_is_named(
    shared_lake: LakeAddress,
) -> None:
    """`at` reads the snapshot and its schemas together; later questions are by themselves."""
    with shared_lake.open() as catalog, expiring_client_of(catalog, shared_lake, "ours") as expire:
        base = catalog.snapshot()
        expire()
        tx = catalog.transaction(base=base)
        with pytest.raises(SnapshotExpiredError):
            tx.schemas()


def test_our_own_commit_that_was_expired_before_we_looked_may_have_landed(
    make_lake: Callable[[str], LakeAddress], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to COMMIT got lost; the files of what may be a commit must stay."""
    lake = make_lake("sqlite")
    with lake.open() as catalog, expiring_client_of(catalog, lake, "duckdb") as expire:
        dialect = catalog._store.engine.dialect
        original = dialect.do_commit

        def commit(connection: object) -> None:
            monkeypatch.setattr(dialect, "do_commit", original)
            original(connection)
            expire()
            raise sqlite3.OperationalError("disk I/O error")

        tx = catalog.transaction()
        append(tx, "t", [{"id": 3}])
        monkeypatch.setattr(dialect, "do_commit", commit)
        with pytest.raises(CommitUnknownError, match="may have landed"):
            tx.commit()
        assert tx.may_have_landed
    with Oracle(lake) as duck:
        assert duck.rows("FROM t ORDER BY id") == [(1,), (2,), (3,)]


def test_a_question_costs_one_statement_more(make_lake: Callable[[str], LakeAddress]) -> None:
    lake = make_lake("sqlite")
    steps: list[str] = []
    with lake.open() as catalog:
        fill(catalog)
        reader = catalog.at()
        with observed(catalog, before=steps.append):
            reader.tables("main")
    assert steps == ["BEGIN", "BEGIN", "SELECT ducklake_snapshot", "SELECT ducklake_table"]
