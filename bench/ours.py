"""The work that is measured, done by our client."""

from __future__ import annotations

import datetime
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from typing import Any

from big_lake import (
    COLUMN_IDS,
    COLUMNS,
    EVENTS,
    ROWS_PER_FILE,
    Size,
    at_of,
    code_of,
    new_file,
    small_table,
    time_of,
)
from sqlalchemy import event
from timing import Timing, timed

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.spec.predicates import Comparison
from support.lakes import LakeAddress

_EPOCH = datetime.datetime(1970, 1, 1)


class Ours:
    """Our client on a big lake. Each method is a line of the result."""

    def __init__(self, address: LakeAddress, size: Size) -> None:
        self.address = address
        self.size = size
        self.catalog = address.open()
        self._places = count(size.files)
        self._names = count()

    def close(self) -> None:
        self.catalog.close()

    def append_small(self) -> Timing:
        return timed(lambda: self._append(small_table(7)), 40, warm_up=3)

    def append_events(self) -> Timing:
        return timed(lambda: self._append(EVENTS), 20, warm_up=3)

    def _append(self, table: str, files: int = 1) -> None:
        new = [new_file(next(self._places)) for _ in range(files)]
        with self.catalog.transaction() as tx:
            tx.add_files(table, new)

    def append_many(self) -> Timing:
        return timed(lambda: self._append(small_table(9), files=1_000), 3)

    def state(self) -> Timing:
        def ask() -> None:
            reader = self.catalog.at()
            reader.files(reader.table(small_table(8)))

        return timed(ask, 40, warm_up=3)

    def pruned_id(self) -> Timing:
        return self._pruned("id", self._row)

    def pruned_seen(self) -> Timing:
        since = at_of(self._row) - _EPOCH
        return self._pruned("seen", since // datetime.timedelta(microseconds=1))

    def pruned_code(self) -> Timing:
        return self._pruned("code", code_of(self._row))

    def pruned_amount(self) -> Timing:
        return self._pruned("amount", Decimal(self._row) / 100)

    @property
    def _row(self) -> int:
        return self.size.target * ROWS_PER_FILE + ROWS_PER_FILE // 2

    def _pruned(self, column: str, value: Any) -> Timing:
        wanted = Comparison(COLUMN_IDS[column], "=", value)

        def ask() -> None:
            reader = self.catalog.at()
            (file,) = reader.files(reader.table(EVENTS), predicate=wanted)
            assert file.path.endswith("target.parquet")

        return timed(ask, 9, warm_up=2)

    def all_files(self) -> Timing:
        reader = self.catalog.at()
        table = reader.table(EVENTS)
        return timed(lambda: reader.files(table), 3)

    def history(self) -> Timing:
        return timed(self.catalog.commits, 3)

    def snapshot_at(self) -> Timing:
        early = time_of(self.size.snapshots // 2)
        return timed(lambda: self.catalog.snapshot(timestamp=early), 5)

    def list_tables(self) -> Timing:
        return timed(lambda: self.catalog.at().tables("main"), 10)

    def create_tables(self) -> Timing:
        fields = [Field(name, kind) for name, kind in COLUMNS]

        def create() -> None:
            batch = next(self._names)
            with self.catalog.transaction() as tx:
                for i in range(100):
                    tx.create_table(f"ours_{batch}_{i}", fields)

        return timed(create, 3)

    def open(self) -> Timing:
        return timed(lambda: self.address.open().close(), 5)

    # --- notes below the table ---

    def memory(self) -> str:
        reader = self.catalog.at()
        table = reader.table(EVENTS)
        tracemalloc.start()
        files = reader.files(table)
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return f"{len(files):,} files in a list: {kept / 1e6:.0f} MB, {peak / 1e6:.0f} MB at worst"

    def parts_of_a_commit(self, times: int = 40) -> str:
        """Where the time of an appending transaction goes, reads at its beginning included."""
        with _accounting(self.catalog) as spent:
            total = timed(lambda: self._append(small_table(7)), times, warm_up=0)
        statements, commit = (spent[key] * 1000 / times for key in ("statements", "commit"))
        whole = sum(total.samples) / times
        return (
            f"an append on average: {whole:.1f} ms = {statements:.1f} in "
            f"{spent['count'] / times:.0f} statements + {commit:.1f} in COMMIT "
            f"+ {whole - statements - commit:.1f} in Python and the driver"
        )


@contextmanager
def _accounting(catalog: Catalog) -> Iterator[Counter[str]]:
    engine = catalog._store.engine  # a measurement may look inside
    spent: Counter[str] = Counter()
    started = 0.0
    do_commit = engine.dialect.do_commit

    def before(*_: Any) -> None:
        nonlocal started
        started = time.perf_counter()

    def after(*_: Any) -> None:
        spent["statements"] += time.perf_counter() - started  # type: ignore[assignment]
        spent["count"] += 1

    def commit(connection: Any) -> None:
        before()
        do_commit(connection)
        spent["commit"] += time.perf_counter() - started  # type: ignore[assignment]

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "after_cursor_execute", after)
    engine.dialect.do_commit = commit  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        engine.dialect.do_commit = do_commit  # type: ignore[method-assign]
        event.remove(engine, "before_cursor_execute", before)
        event.remove(engine, "after_cursor_execute", after)
