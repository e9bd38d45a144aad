"""The same work, or what comes closest, done by DuckDB's own extension."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import duckdb
from big_lake import COLUMNS, EVENTS, ROWS_PER_FILE, Size, at_of, code_of, small_table, time_of
from timing import Timing, clocked, timed

from support.lakes import LakeAddress
from support.oracle import connect

Work = Callable[[duckdb.DuckDBPyConnection], object]
_TYPES = {
    "int64": "BIGINT",
    "int32": "INTEGER",
    "float64": "DOUBLE",
    "decimal(12,2)": "DECIMAL(12, 2)",
}


class Duck:
    """DuckDB on a big lake. Each method gives the time of work on an attached lake, and the time
    with ATTACH before it, when nothing of the catalog is known yet."""

    def __init__(self, address: LakeAddress, size: Size) -> None:
        self.address = address
        self.size = size
        self._numbers = count(10_000_000_000)

    def append_small(self) -> tuple[Timing, Timing]:
        return self._both(lambda c: c.execute(self._insert(small_table(7))), 7)

    def append_events(self) -> tuple[Timing, Timing]:
        return self._both(lambda c: c.execute(self._insert(EVENTS)), 5)

    def _insert(self, table: str) -> str:
        n = next(self._numbers)
        return (
            f"INSERT INTO {table} VALUES ({n}, '2030-01-01 00:00:00', '2030-01-01', 'O-{n}', "
            f"1.50, 1.5, 1, true, 'Maria', '{'8' * 32}')"
        )

    def state(self) -> tuple[Timing, Timing]:
        name = small_table(8)

        def ask(connection: duckdb.DuckDBPyConnection) -> None:
            connection.execute(f"DESCRIBE {name}").fetchall()
            connection.execute(f"FROM ducklake_list_files('lake', '{name}')").fetchall()

        return self._both(ask, 7)

    def pruned_id(self) -> tuple[Timing, Timing]:
        return self._pruned(f"id = {self._row}")

    def pruned_seen(self) -> tuple[Timing, Timing]:
        return self._pruned(f"seen = '{at_of(self._row)}'")

    def pruned_code(self) -> tuple[Timing, Timing]:
        return self._pruned(f"code = '{code_of(self._row)}'")

    def pruned_amount(self) -> tuple[Timing, Timing]:
        return self._pruned(f"amount = {self._row // 100}.{self._row % 100:02d}")

    @property
    def _row(self) -> int:
        return self.size.target * ROWS_PER_FILE + ROWS_PER_FILE // 2

    def _pruned(self, condition: str) -> tuple[Timing, Timing]:
        def ask(connection: duckdb.DuckDBPyConnection) -> None:
            found = connection.execute(f"SELECT id FROM {EVENTS} WHERE {condition}").fetchall()
            assert found == [(self._row,)]

        return self._both(ask, 5)

    def all_files(self) -> tuple[Timing, Timing]:
        return self._query(f"FROM ducklake_list_files('lake', '{EVENTS}')", 3)

    def history(self) -> tuple[Timing, Timing]:
        return self._query("FROM lake.snapshots()", 3)

    def snapshot_at(self) -> tuple[Timing, Timing]:
        early = time_of(self.size.snapshots // 2)
        return self._query(f"DESCRIBE FROM {small_table(8)} AT (TIMESTAMP => '{early}')", 3)

    def list_tables(self) -> tuple[Timing, Timing]:
        return self._query("SHOW TABLES", 5)

    def create_tables(self) -> tuple[Timing, Timing]:
        columns = ", ".join(f"{name} {_TYPES.get(kind, kind)}" for name, kind in COLUMNS)

        def create(connection: duckdb.DuckDBPyConnection) -> None:
            batch = next(self._numbers)
            connection.execute("BEGIN")
            for i in range(100):
                connection.execute(f"CREATE TABLE duck_{batch}_{i} ({columns})")
            connection.execute("COMMIT")

        return self._both(create, 2)

    def open(self) -> tuple[None, Timing]:
        return None, self._cold(lambda _: None)[1]

    def _query(self, query: str, times: int) -> tuple[Timing, Timing]:
        return self._both(lambda connection: connection.execute(query).fetchall(), times)

    def _both(self, work: Work, times: int) -> tuple[Timing, Timing]:
        connection, cold = self._cold(work)
        try:
            return timed(lambda: work(connection), times), cold
        finally:
            connection.close()

    def _cold(self, work: Work, times: int = 3) -> tuple[duckdb.DuckDBPyConnection, Timing]:
        where = f"(DATA_PATH '{self.address.data_path}')"
        attach = f"ATTACH 'ducklake:{self.address.catalog}' AS lake {where}"
        samples = []
        for at in range(times):
            connection = connect()

            def begin_and_work(connection: duckdb.DuckDBPyConnection = connection) -> None:
                connection.execute(attach)
                connection.execute("USE lake")
                work(connection)

            samples.append(clocked(begin_and_work))
            if at < times - 1:
                connection.close()
        return connection, Timing(tuple(samples))
