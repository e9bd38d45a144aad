"""Somebody else holds the SQLite file: we wait for it, and say what to do if it lasts."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import pytest

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.catalog.dialects import sqlite as dialect
from ducklake_spark.config import CommitSettings
from ducklake_spark.errors import CatalogUnavailableError, CommitContentionError
from support.far_duck import FarDuck
from support.lakes import LakeAddress

HELD_S = 2.0
READ = "BEGIN; SELECT * FROM ducklake_snapshot"
WRITE = "BEGIN IMMEDIATE"
EXCLUSIVE = "BEGIN EXCLUSIVE"


@pytest.fixture
def lake(make_lake: Callable[[str], LakeAddress]) -> LakeAddress:
    lake = make_lake("sqlite")
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.create_table("t", [Field("id", "int32")])
    return lake


@contextmanager
def held(lake: LakeAddress, how: str) -> Iterator[threading.Event]:
    """Another connection holds the file for some seconds, and did nothing once it is set free."""
    path = lake.catalog.removeprefix("sqlite:")
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for statement in how.split("; "):
        other.execute(statement).fetchall()

    free = threading.Event()

    def release() -> None:
        time.sleep(HELD_S)
        free.set()
        other.rollback()

    thread = threading.Thread(target=release)
    thread.start()
    try:
        yield free
    finally:
        thread.join()
        other.close()


def commit(catalog: Catalog) -> int:
    with catalog.transaction() as tx:
        tx.comment_on_table("t", "now")
        return tx.commit().snapshot_id


@pytest.mark.parametrize("how", [READ, WRITE, EXCLUSIVE])
def test_a_commit_waits_for_whoever_holds_the_file(lake: LakeAddress, how: str) -> None:
    with lake.open() as catalog:
        tx = catalog.transaction()
        tx.comment_on_table("t", "later")
        with held(lake, how) as free:
            assert tx.commit().snapshot_id == 2
            assert free.is_set()


@pytest.mark.parametrize("how", [READ, WRITE, EXCLUSIVE])
def test_a_read_waits_if_it_must(lake: LakeAddress, how: str) -> None:
    with lake.open() as catalog, held(lake, how) as free:
        assert catalog.at().table("t").name.name == "t"
        assert free.is_set() or how != EXCLUSIVE


def test_a_commit_waits_for_an_open_transaction_of_duckdb(lake: LakeAddress) -> None:
    with FarDuck(lake) as duck, lake.open() as catalog, ThreadPoolExecutor(1) as pool:
        duck.run("BEGIN", "FROM t")
        landing = pool.submit(commit, catalog)
        assert wait([landing], timeout=HELD_S).not_done
        duck.run("ROLLBACK")
        assert landing.result() == 2


def test_duckdb_commits_between_the_reads_of_a_transaction_of_ours(lake: LakeAddress) -> None:
    with FarDuck(lake) as duck, lake.open() as catalog:
        tx = catalog.transaction()
        tx.files(tx.table("t"))
        duck.run("CREATE TABLE u (id INTEGER)")
        assert tx.find_table("u") is None
        tx.comment_on_table("t", "seen")
        assert tx.commit().snapshot_id == 3


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself waits less than the tests' holders hold."""
    monkeypatch.setattr(dialect, "_BUSY_TIMEOUT_S", 0.1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", [READ, WRITE, EXCLUSIVE])
def test_a_commit_says_what_to_do_about_a_file_that_stays_held(lake: LakeAddress, how: str) -> None:
    settings = CommitSettings(give_up_after_s=0.3)
    with lake.open(commit_settings=settings) as catalog:
        tx = catalog.transaction()
        tx.comment_on_table("t", "never")
        with held(lake, how), pytest.raises(CommitContentionError) as caught:
            tx.commit()
        assert "held the catalog" in str(caught.value)
        assert "fewer writers at once" in str(caught.value)
        assert "database is locked" not in str(caught.value)
        assert catalog.snapshot().id == 1
        assert commit(catalog) == 2


@pytest.mark.usefixtures("impatient")
def test_a_read_says_what_to_do_about_a_file_that_stays_held(lake: LakeAddress) -> None:
    with lake.open() as catalog:
        with held(lake, EXCLUSIVE), pytest.raises(CatalogUnavailableError) as caught:
            catalog.snapshot()
        assert "another process" in str(caught.value)
        assert "database is locked" not in str(caught.value)
        assert catalog.snapshot().id == 1
