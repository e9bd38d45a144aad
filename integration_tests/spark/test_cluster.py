"""A real Spark cluster, whose workers die, and do not all see the data path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.clusters import Cluster, Driver, Worker, can_be_blind, wait_until
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.skipif(not can_be_blind(), reason="this user may not unshare mounts"),
]
_TABLES = ("t", "parted", "strict", "many")


@dataclass
class ClusterLake:
    """A lake, and a driver on a cluster of two workers."""

    lake: LakeAddress
    driver: Driver
    workers: list[Worker]

    def ask(self, what: str, **arguments: Any) -> Any:
        return self.driver.ask(what, **self._address, **arguments)

    def begin(self, what: str, **arguments: Any) -> None:
        self.driver.begin(what, **self._address, **arguments)

    @property
    def _address(self) -> dict[str, str]:
        return {"catalog": self.lake.catalog, "data_path": self.lake.data_path}

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with Oracle(self.lake) as duck:
            return duck.rows(query)

    def content(self) -> list[list[tuple[Any, ...]]]:
        """Return the rows that DuckDB reads in each table."""
        with Oracle(self.lake) as duck:
            return [duck.rows(f"SELECT * FROM {table} ORDER BY ALL") for table in _TABLES]

    def files(self) -> set[Path]:
        return {path for path in self.lake.data_folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterLake]:
    folder = tmp_path_factory.mktemp("cluster")
    lake = file_lake("sqlite", folder)
    lake.data_folder.mkdir()
    with Cluster(folder) as cluster:
        workers = [cluster.start_worker(may_be_blind_to=lake.data_folder) for _ in range(2)]
        cluster.wait_for_workers()
        driver = Driver(cluster.settings(), folder / "driver.log")
        with Oracle(lake) as duck:
            duck.run(
                "CALL lake.set_option('data_inlining_row_limit', 0)",
                "CREATE TABLE t AS SELECT i AS id, i % 4 AS part, 'old' AS s FROM range(99) r(i)",
                "CREATE TABLE parted AS FROM t",
                "ALTER TABLE parted SET PARTITIONED BY (part)",
                "CREATE TABLE strict (id BIGINT NOT NULL)",
                "INSERT INTO strict FROM range(100)",
                "CREATE TABLE many (id BIGINT)",
                *(f"INSERT INTO many VALUES ({n})" for n in range(8)),
            )
        yield ClusterLake(lake, driver, workers)
        driver.close()


_NEW = "SELECT id, id % 4 AS part, 'new' AS s FROM range(0, 1000, 1, 4)"
_STATEMENTS = {
    "CTAS": f"CREATE TABLE fresh AS {_NEW}",
    "INSERT": f"INSERT INTO t {_NEW}",
    "INSERT OVERWRITE": f"INSERT OVERWRITE t {_NEW}",
    "REPLACE WHERE": f"INSERT INTO t REPLACE WHERE id >= 0 {_NEW}",
    "into partitions": f"INSERT INTO parted {_NEW}",
    "over partitions": f"INSERT OVERWRITE parted PARTITION (part) {_NEW}",
    "NOT NULL": "INSERT INTO strict SELECT id FROM range(0, 1000, 1, 4)",
    "MERGE inserts": f"MERGE INTO t USING ({_NEW}) s ON t.id = s.id + 1000"
    " WHEN NOT MATCHED THEN INSERT *",
    "MERGE updates": "MERGE INTO parted t USING (SELECT id FROM range(0, 100, 1, 4)) s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = 'new'",
    "UPDATE": "UPDATE parted SET s = 'new'",
    "many small files": "INSERT INTO t SELECT id, 0, 'new' FROM range(0, 1000, 1, 12)",
    "compaction": "CALL lake.merge_adjacent_files(table_name => 'many')",
}
# Of these Spark may give all rows to one task, which may run on the worker that sees all.
_OF_ONE_TASK = ("MERGE updates", "UPDATE", "compaction")


@pytest.mark.parametrize(
    ("case", "blind"),
    [(case, 1) for case in _STATEMENTS if case not in _OF_ONE_TASK]
    + [(case, 2) for case in ("CTAS", "into partitions", *_OF_ONE_TASK)],
)
def test_no_row_is_lost_when_workers_do_not_see_the_data_path(
    on: ClusterLake, case: str, blind: int
) -> None:
    before, files = on.content(), on.files()
    with ExitStack() as blinded:
        for worker in on.workers[:blind]:
            blinded.enter_context(worker.blinded())
        found = on.ask("run", statement=_STATEMENTS[case])
    assert found["code"] == "DL602", found
    assert f"to {on.lake.data_path}main/" in found["message"]
    assert "Make sure that every Spark worker" in found["message"]
    assert on.content() == before
    assert on.rows("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'fresh'") == [(0,)]
    assert on.files() == files


@pytest.mark.parametrize("table", ["survivor", "parted_survivor"])
def test_rows_are_counted_once_when_an_executor_dies(
    on: ClusterLake, table: str, tmp_path: Path
) -> None:
    """Tasks that were done before the executor died run again, as do those that were running."""
    with Oracle(on.lake) as duck:
        duck.run(f"CREATE TABLE {table} (id BIGINT NOT NULL, part BIGINT)")
        if table.startswith("parted"):
            duck.run(f"ALTER TABLE {table} SET PARTITIONED BY (part)")
    on.begin(
        "run_on_slow_rows",
        statement=f"INSERT INTO {table} SELECT id, id % 3 FROM global_temp.slow",
        rows=8000,
        tasks=8,
        folder=str(tmp_path),
    )
    # The first task ends at once, so a third one starts while two wait.
    wait_until(lambda: len(list(tmp_path.iterdir())) == 3, "three tasks")
    on.workers[0].kill_executors()
    (tmp_path / "go").touch()
    assert on.driver.result()[0][1] == 8000
    assert on.rows(f"SELECT count(*), sum(id) FROM {table}") == [(8000, 7999 * 4000)]


_NOW = "java_method('java.lang.System', 'nanoTime')"
_CHANGES = {
    "MERGE": "MERGE INTO t USING (SELECT id, {value} AS s, map(1, id) AS m FROM range(60, 160)) s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s"
    " WHEN NOT MATCHED THEN INSERT (id, s) VALUES (s.id, s.s)",
    "UPDATE": "UPDATE t SET s = {value} WHERE id >= 60",
}


@pytest.mark.parametrize(
    ("case", "value"), [("MERGE", _NOW), ("UPDATE", _NOW), ("MERGE", "concat('new', id)")]
)
def test_rows_that_spark_computes_again_are_the_same_rows(
    on: ClusterLake, case: str, value: str, tmp_path: Path
) -> None:
    """All executors die with what they kept, after the positions to delete are known."""
    before, files = on.rows("SELECT id, s FROM t ORDER BY id"), on.files()
    statement = _CHANGES[case].format(value=value)
    on.begin("run_with_a_break", statement=statement, folder=str(tmp_path))
    wait_until(lambda: (tmp_path / "ready").exists(), "the break")
    for worker in on.workers:
        worker.kill_executors()
    (tmp_path / "go").touch()
    found = on.driver.result()
    after = on.rows("SELECT id, s FROM t ORDER BY id")
    if value == _NOW:
        assert found["code"] == "DL403", found
        assert (after, on.files()) == (before, files)
    else:
        assert after == [(i, "old" if i < 60 else f"new{i}") for i in range(160)]


@pytest.mark.parametrize("blind", [0, 1, 2])
def test_dbt_debug_names_the_workers_that_do_not_see_the_data_path(
    on: ClusterLake, blind: int
) -> None:
    before = on.files()
    with ExitStack() as blinded:
        for worker in on.workers[:blind]:
            blinded.enter_context(worker.blinded())
        found = on.ask("doctor")
        left = [file for worker in on.workers for file in worker.files() if "doctor" in file]
    line = next(line for line in found if line.startswith("data path, from every Spark worker"))
    if not blind:
        assert line.endswith("is writable, and seen from here: 2 executors")
    else:
        assert f"[ERROR] what these executors write to {on.lake.data_path} cannot be" in line
    named = [at for at in range(2) if f"/worker-{at}/" in line]
    assert named == list(range(blind))
    assert (on.files(), left) == (before, [])
