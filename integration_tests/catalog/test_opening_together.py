"""Several who open or create the same lake at the same moment get one lake, and none an error."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.catalog.dialects import duckdb as duckdb_dialect
from ducklake_spark.errors import CatalogUnavailableError
from support.lakes import KINDS, LakeAddress
from support.oracle import Oracle

MakeLake = Callable[[str], LakeAddress]

# Waits for a line, so that all of them begin together.
_CREATE = """
import sys
from ducklake_spark.catalog import Catalog, Field
print("ready", flush=True)
sys.stdin.readline()
catalog, data_path, schema, name = sys.argv[1:]
with Catalog.open(catalog, data_path=data_path, metadata_schema=schema or None) as lake:
    with lake.transaction() as tx:
        tx.create_table(name, [Field("id", "int32")])
"""
_HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
"""


def _start(script: str, *arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", script, *arguments]
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    return process


def _assert_one_lake(lake: LakeAddress, tables: int) -> None:
    assert lake.sql("SELECT count(*) FROM ducklake_schema") == [(1,)]
    assert lake.sql("SELECT count(*), count(DISTINCT key) FROM ducklake_metadata "
                    "WHERE scope IS NULL") == [(4, 4)]  # fmt: skip
    ids = [row[0] for row in lake.sql("SELECT snapshot_id FROM ducklake_snapshot ORDER BY 1")]
    assert ids == list(range(tables + 1))
    with Oracle(lake) as duck:
        assert (
            duck.value("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake'")
            == tables
        )


def _in_schema(lake: LakeAddress, schema: str | None) -> LakeAddress:
    return LakeAddress(lake.kind, lake.catalog, lake.data_path, schema)


WHERE = [(kind, None) for kind in KINDS] + [("postgres", "new_schema")]


@pytest.mark.parametrize(("kind", "schema"), WHERE)
def test_threads_that_create_the_same_lake_get_the_same_lake(
    make_lake: MakeLake, kind: str, schema: str | None
) -> None:
    lake = _in_schema(make_lake(kind), schema)
    together = threading.Barrier(6)

    def create(number: int) -> None:
        together.wait()
        with lake.open() as catalog, catalog.transaction() as tx:
            tx.create_table(f"t{number}", [Field("id", "int32")])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(create, range(6)))
    _assert_one_lake(lake, tables=6)


def test_threads_open_and_close_one_duckdb_file_all_the_time(make_lake: MakeLake) -> None:
    """DuckDB refuses a file that another thread is just letting go of."""
    lake = make_lake("duckdb")

    def open_and_close(_: int) -> None:
        for _ in range(100):
            with lake.open() as catalog:
                catalog.at()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(open_and_close, range(6)))
    _assert_one_lake(lake, tables=0)


@pytest.mark.parametrize(("kind", "schema"), WHERE)
def test_processes_that_create_the_same_lake_get_the_same_lake(
    make_lake: MakeLake, kind: str, schema: str | None
) -> None:
    lake = _in_schema(make_lake(kind), schema)
    processes = [
        _start(_CREATE, lake.catalog, lake.data_path, schema or "", f"t{number}")
        for number in range(3)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert errors == [""] * 3
    _assert_one_lake(lake, tables=3)


def test_whoever_loses_the_race_is_held_to_the_data_path_of_the_winner(
    make_lake: MakeLake,
) -> None:
    lake = make_lake("sqlite")
    outcomes: list[str] = []
    together = threading.Barrier(4)

    def create(number: int) -> None:
        together.wait()
        try:
            lake.open(data_path=f"{lake.data_path}{number}/").close()
            outcomes.append("opened")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
            outcomes.append(type(error).__name__)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(create, range(4)))
    assert sorted(outcomes) == ["DataPathError"] * 3 + ["opened"]


@pytest.mark.parametrize("kind", KINDS)
def test_one_open_lake_serves_many_threads_at_once(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    with lake.open() as catalog:

        def work(number: int) -> None:
            with catalog.transaction() as tx:
                tx.create_table(f"t{number}", [Field("id", "int32")])
            assert catalog.at().table(f"t{number}").columns

        with ThreadPoolExecutor(20) as threads:
            list(threads.map(work, range(20)))
        assert len(catalog.at().tables("main")) == 20


def test_more_threads_than_connections_are_told_so(make_lake: MakeLake) -> None:
    lake = make_lake("postgres")
    with lake.open() as catalog:
        pool = catalog._store.engine.pool
        pool._timeout = 0.1  # type: ignore[attr-defined]
        held = [pool.connect() for _ in range(15)]
        with pytest.raises(CatalogUnavailableError, match=r"All connections .* fewer threads"):
            catalog.snapshot()
        with pytest.raises(CatalogUnavailableError, match="All connections"):
            catalog.create_indexes()
        for connection in held:
            connection.close()
        assert catalog.snapshot().id == 0


# --- a DuckDB file is one process's at a time ---


def _file(lake: LakeAddress) -> str:
    return str(Path(lake.catalog))


def test_a_file_that_another_process_holds_is_refused_with_the_way_out(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_dialect, "_OPEN_TIMEOUT_S", 0.3)
    lake = make_lake("duckdb")
    lake.open().close()
    holder = _start(_HOLD, _file(lake))
    for options in ({}, {"read_only": True}):
        with pytest.raises(CatalogUnavailableError, match=r"one process at a time.*close") as held:
            lake.open(**options)
        assert _file(lake) in str(held.value)
        assert str(holder.pid) in str(held.value)
    holder.communicate("go\n")
    lake.open().close()


def test_a_file_that_another_process_lets_go_of_is_waited_for(make_lake: MakeLake) -> None:
    lake = make_lake("duckdb")
    with lake.open() as catalog:
        holder = _start(_HOLD, _file(lake))
        threading.Timer(0.5, holder.communicate, ["go\n"]).start()
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
    assert holder.wait(10) == 0


def test_an_open_lake_in_a_file_leaves_the_file_to_others_between_its_own_work(
    make_lake: MakeLake,
) -> None:
    lake = make_lake("duckdb")
    with lake.open() as catalog:
        process = _start(_CREATE, lake.catalog, lake.data_path, "", "theirs")
        assert process.communicate("go\n", timeout=60)[1] == ""
        assert catalog.at().table("theirs")
        with duckdb.connect(_file(lake)) as connection:
            assert connection.execute("SELECT count(*) FROM ducklake_table").fetchone() == (1,)


def test_readers_share_a_file_that_is_open_read_only(make_lake: MakeLake) -> None:
    lake = make_lake("duckdb")
    lake.open().close()
    with lake.open(read_only=True) as one, one._store.connected():
        reader = lake.open(read_only=True)
        assert reader.snapshot().id == 0
