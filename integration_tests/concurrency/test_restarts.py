"""A real server that restarts, or ends statements and sessions after its own timeouts."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.config import CommitSettings
from ducklake_spark.errors import (
    CatalogTimeoutError,
    CatalogUnavailableError,
    SnapshotExpiredError,
)
from support.faults import observed
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import append
from support.pooler import Pooler, find_pgbouncer
from support.servers import Server

SEED = 20261120
RESTARTS = 6
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def own_lake(server: Server, tmp_path: Path) -> LakeAddress:
    """A lake on the test's own server, with a table t of one row."""
    name = f"lake_{time.monotonic_ns()}"
    server.run(f"CREATE DATABASE {name}")
    address = LakeAddress("postgres", f"postgres:{server.conninfo} dbname={name}", f"{tmp_path}/")
    with address.open() as catalog, catalog.transaction() as tx:
        tx.create_table("t", [Field("id", "int32")])
        append(tx, "t", [{"id": 0}])
    return address


def outages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the package logged; dbt, if another test has loaded it, logs the same once more."""
    records = [r for r in caplog.records if r.name.startswith("ducklake_spark.")]
    return [r.getMessage() for r in records if "does not answer" in r.getMessage()]


# --- restarts ---


def test_reads_wait_for_a_server_that_restarts(
    server: Server, own_lake: LakeAddress, caplog: pytest.LogCaptureFixture
) -> None:
    with own_lake.open() as catalog, ThreadPoolExecutor(4) as pool:
        reader = catalog.at()
        table = reader.table("t")
        caplog.set_level(logging.WARNING)
        with server.away_for(2.0):
            asked = time.monotonic()
            answers = pool.map(
                lambda _: (catalog.snapshot().id, len(reader.files(table))), range(4)
            )
            assert list(answers) == [(1, 1)] * 4
            assert time.monotonic() - asked > 1.0
        (line,) = outages(caplog)
        assert "Waiting for it for up to 120 s" in line
        with server.away_for(0.5):
            assert catalog.snapshot().id == 1
        assert len(outages(caplog)) == 2


def test_a_read_gives_up_when_its_patience_ends(server: Server, own_lake: LakeAddress) -> None:
    with own_lake.open(commit_settings=CommitSettings(give_up_after_s=1.0)) as catalog:
        server.stop()
        try:
            started = time.monotonic()
            with pytest.raises(CatalogUnavailableError, match="did not answer"):
                catalog.snapshot()
            assert 1.0 <= time.monotonic() - started < 5.0
        finally:
            server.start()
        assert catalog.snapshot().id == 1


def test_a_transaction_keeps_its_snapshot_over_a_restart(
    server: Server, own_lake: LakeAddress
) -> None:
    with own_lake.open() as catalog, own_lake.open() as other:
        tx = catalog.transaction()
        assert len(tx.files(tx.table("t"))) == 1
        with other.transaction() as theirs:
            append(theirs, "t", [{"id": 1}])
        with server.away_for(0.5):
            assert tx.snapshot.id == 1
            assert len(tx.files(tx.table("t"))) == 1
        append(tx, "t", [{"id": 2}])
        assert tx.commit().snapshot_id == 3
    with Oracle(own_lake) as duck:
        assert duck.rows("SELECT id FROM t ORDER BY id") == [(0,), (1,), (2,)]


def test_a_session_that_ends_within_an_answer_repeats_all_of_it(
    server: Server, own_lake: LakeAddress
) -> None:
    """Half of the answer from before the loss would not fit the other half."""
    with own_lake.open() as catalog, own_lake.open() as other:
        seen: list[str] = []

        def cut(step: str) -> None:
            seen.append(step)
            if step == "SELECT ducklake_snapshot" and seen.count(step) == 1:
                with other.transaction() as tx:
                    tx.create_table("u", [Field("id", "int32")])
                end_sessions(server, catalog)

        with observed(catalog, after=cut):
            reader = catalog.at()
        assert reader.snapshot.id == 2
        assert [entry.name.name for entry in reader.tables("main")] == ["t", "u"]
        assert seen.count("SELECT ducklake_snapshot") == 2


def end_sessions(server: Server, catalog: Catalog) -> None:
    """End all sessions of a catalog's database but those of nobody else."""
    name = catalog.address.partition("dbname=")[2].split()[0]
    server.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    )


def test_a_snapshot_that_a_failover_replaced_is_not_read_on(own_lake: LakeAddress) -> None:
    """A standby without the last commit takes over, and somebody commits with the same ID."""
    with own_lake.open() as catalog:
        reader, tx = catalog.at(), catalog.transaction()
        tx.create_table("u", [Field("id", "int32")])
        own_lake.run(
            "UPDATE ducklake_snapshot SET snapshot_time = snapshot_time + INTERVAL '1 second' "
            "WHERE snapshot_id = 1"
        )
        for act in (lambda: reader.find_table("t"), tx.commit):
            with pytest.raises(SnapshotExpiredError, match="failed over"):
                act()
        assert catalog.snapshot().id == 1


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_writers_behind_pgbouncer_survive_restarts(
    server: Server, own_lake: LakeAddress, mode: str
) -> None:
    """Restarts meet commits at random points, so there are several, after random pauses."""
    if find_pgbouncer() is None:
        pytest.skip("pgbouncer is not installed; Debian has it as the package pgbouncer")
    rng = random.Random(SEED)
    print("seed", SEED)
    pooler = Pooler(str(server.folder), mode)
    stop = threading.Event()
    try:
        with own_lake.through(server.conninfo, pooler.conninfo).open() as catalog:

            def write(number: int) -> list[int]:
                made = []
                while not stop.is_set():
                    with catalog.transaction() as tx:
                        append(tx, "t", [{"id": number * 100_000 + len(made)}])
                        made.append(tx.commit().snapshot_id)
                return made

            with ThreadPoolExecutor(4) as pool:
                jobs = [pool.submit(write, number) for number in range(1, 5)]
                for _ in range(RESTARTS):
                    time.sleep(rng.uniform(0.3, 0.9))
                    with server.away_for(rng.uniform(0.0, 0.5)):
                        pass
                time.sleep(0.5)
                stop.set()
                snapshots = sorted(snapshot for job in jobs for snapshot in job.result())
    finally:
        pooler.close()
    assert snapshots == list(range(2, len(snapshots) + 2))
    with Oracle(own_lake) as duck:
        assert duck.value("SELECT count(*) FROM t") == len(snapshots) + 1
        assert duck.value("SELECT count(DISTINCT id) FROM t") == len(snapshots) + 1


# --- timeouts of the server ---


@pytest.fixture
def hurried(own_lake: LakeAddress) -> Callable[[str], LakeAddress]:
    """The same lake, for a role with a setting of its own."""

    def make(setting: str) -> LakeAddress:
        role = f"hurried_{time.monotonic_ns()}"
        own_lake.run(f"CREATE ROLE {role} SUPERUSER LOGIN", f"ALTER ROLE {role} SET {setting}")
        return replace(own_lake, catalog=own_lake.catalog.replace("user=postgres", f"user={role}"))

    return make


def locked(address: LakeAddress, table: str) -> psycopg.Connection[tuple[object, ...]]:
    connection = psycopg.connect(address.catalog.removeprefix("postgres:"))
    connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
    return connection


def test_a_canceled_statement_is_tried_again(
    own_lake: LakeAddress, hurried: Callable[[str], LakeAddress]
) -> None:
    with hurried("statement_timeout = '300ms'").open() as catalog:
        tx = catalog.transaction()
        append(tx, "t", [{"id": 1}])
        for act in (lambda: catalog.snapshot().id, lambda: tx.commit().snapshot_id - 1):
            holder = locked(own_lake, "ducklake_snapshot")
            release = threading.Timer(0.7, holder.close)
            release.start()
            assert act() == 1
            release.join()
    with Oracle(own_lake) as duck:
        assert duck.rows("SELECT id FROM t ORDER BY id") == [(0,), (1,)]


def test_a_statement_that_never_gets_through_names_the_setting(
    own_lake: LakeAddress, hurried: Callable[[str], LakeAddress]
) -> None:
    with hurried("statement_timeout = '100ms'").open() as catalog:
        tx = catalog.transaction()
        append(tx, "t", [{"id": 1}])
        with locked(own_lake, "ducklake_snapshot"):
            for act in (catalog.snapshot, tx.commit):
                with pytest.raises(CatalogTimeoutError) as caught:
                    act()
                assert "its setting statement_timeout" in str(caught.value)
                assert "ALTER ROLE" in str(caught.value)
        assert catalog.snapshot().id == 1


def test_an_idle_session_that_the_server_ends_is_replaced(
    own_lake: LakeAddress, hurried: Callable[[str], LakeAddress]
) -> None:
    with hurried("idle_in_transaction_session_timeout = '200ms'").open() as catalog:
        slow: list[str] = []

        def pause(step: str) -> None:
            slow.append(step)
            if len(slow) == 1:
                time.sleep(0.6)

        with observed(catalog, after=pause):
            assert catalog.at().snapshot.id == 1
        tx = catalog.transaction()
        append(tx, "t", [{"id": 1}])
        slow.clear()
        with observed(catalog, after=pause):
            assert tx.commit().attempts == 2
    with Oracle(own_lake) as duck:
        assert duck.rows("SELECT id FROM t ORDER BY id") == [(0,), (1,)]


def test_a_client_that_is_always_too_slow_is_told_the_setting(
    hurried: Callable[[str], LakeAddress],
) -> None:
    with (
        hurried("idle_in_transaction_session_timeout = '100ms'").open() as catalog,
        observed(catalog, after=lambda _: time.sleep(0.3)),
        pytest.raises(CatalogTimeoutError, match="idle_in_transaction_session_timeout"),
    ):
        catalog.at()
