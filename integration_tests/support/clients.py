"""A client that does a bit of everything, as one of many, and writes down what it did.

`run_clients` gives each a process of its own.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import pyarrow.parquet as pq

from ducklake_spark.catalog import Catalog, Field, Transaction
from ducklake_spark.errors import CommitConflictError
from ducklake_spark.spec.model import DataFile
from ducklake_spark.storage.delete_files import read_delete_file
from support.lakes import LakeAddress
from support.parquet import append, delete_positions
from support.replay import Change, Done, Log, Read, state_of

T = TypeVar("T")
A = TypeVar("A")

SHARED = ("a", "b", "c")
_FIELDS = [Field("id", "int32")]
_PRELOADED = ["ducklake_spark.catalog", "psycopg", "pyarrow.parquet", "sqlalchemy.dialects.sqlite"]


def in_processes(work: Callable[[A], T], arguments: Sequence[A]) -> list[T]:
    """Run a function once for each argument, all at the same time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    with ProcessPoolExecutor(len(arguments), mp_context=context) as pool:
        return list(pool.map(work, arguments))


def prepare_shared(lake: LakeAddress) -> int:
    """Make the tables that all clients use; returns the snapshot they start from."""
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            for name in SHARED:
                tx.create_table(name, _FIELDS)
        return catalog.snapshot().id


def run_client(order: tuple[LakeAddress, int, int, int]) -> Log:
    """What a client does, given the lake, its number, how many transactions, and a seed."""
    lake, number, count, seed = order
    with lake.open() as catalog:
        client = _Client(catalog, number, random.Random(f"{seed}-{number}"))
        for _ in range(count):
            client.act()
        return client.log


class _Client:
    def __init__(self, catalog: Catalog, number: int, rng: random.Random) -> None:
        self.catalog = catalog
        self.number = number
        self.rng = rng
        self.log = Log()
        self.own: list[str] = []
        self.next_id = number * 1_000_000

    def act(self) -> None:
        actions = [self.append, self.append, self.append, self.delete, self.delete, self.update]
        actions += [self.overwrite, self.create, self.drop, self.move]
        if self.rng.random() < 0.15:
            self.read()
        tx = self.catalog.transaction(author=f"client {self.number}")
        changes = self.rng.choice(actions)(tx)
        own = [c.table for c in changes if c.create], [c.table for c in changes if c.drop]
        try:
            result = tx.commit()
        except CommitConflictError:
            self.note(tx, "conflict", changes)
            return
        if result.is_new:
            done = Done(
                self.number, tx.snapshot.id, "landed", result.snapshot_id, changes, result.attempts
            )
            self.log.done.append(done)
            self.own = [name for name in (*self.own, *own[0]) if name not in own[1]]

    def note(self, tx: Transaction, ended: str, changes: tuple[Change, ...]) -> None:
        self.log.done.append(Done(self.number, tx.snapshot.id, "conflict", None, changes))

    def read(self) -> None:
        reader = self.catalog.at()
        first = state_of(reader)
        again = self.catalog.at(reader.snapshot.id)
        self.log.read.append(Read(reader.snapshot.id, first, state_of(again)))

    # --- what it does ---

    def new_ids(self) -> frozenset[int]:
        first, self.next_id = self.next_id, self.next_id + self.rng.randint(1, 4)
        return frozenset(range(first, self.next_id))

    def table(self) -> str:
        return self.rng.choice([*SHARED, *self.own])

    def put(self, tx: Transaction, table: str) -> frozenset[int]:
        ids = self.new_ids()
        append(tx, table, [{"id": i} for i in sorted(ids)])
        return ids

    def append(self, tx: Transaction) -> tuple[Change, ...]:
        table = self.table()
        return (Change(table, add=self.put(tx, table)),)

    def take(self, tx: Transaction, table: str) -> frozenset[int]:
        """Delete some rows, or all, of one of the table's files."""
        files = tx.files(tx.table(table))
        if not files:
            return frozenset()
        file = self.rng.choice(files)
        live = live_rows(file)
        gone = self.rng.sample(sorted(live), self.rng.randint(1, len(live)))
        if len(gone) == len(live):
            tx.end_files(table, [file.id])
        else:
            delete_positions(tx, table, file, gone)
        return frozenset(live[position] for position in gone)

    def delete(self, tx: Transaction) -> tuple[Change, ...]:
        table = self.table()
        return (Change(table, remove=self.take(tx, table)),)

    def update(self, tx: Transaction) -> tuple[Change, ...]:
        table = self.table()
        return (Change(table, remove=self.take(tx, table), add=self.put(tx, table)),)

    def overwrite(self, tx: Transaction) -> tuple[Change, ...]:
        table = self.table()
        files = tx.files(tx.table(table))
        gone = frozenset(i for file in files for i in live_rows(file).values())
        tx.truncate(table)
        return (Change(table, remove=gone, add=self.put(tx, table)),)

    def create(self, tx: Transaction) -> tuple[Change, ...]:
        # Sometimes two clients want the same name.
        name = f"own_{self.rng.choice([self.number, 0])}_{self.rng.randint(0, 3)}"
        if tx.find_table(name) is not None:
            return self.append(tx)
        tx.create_table(name, _FIELDS)
        return (Change(name, add=self.put(tx, name), create=True),)

    def drop(self, tx: Transaction) -> tuple[Change, ...]:
        if not self.own:
            return self.append(tx)
        name = self.own[-1]
        tx.drop_table(name)
        return (Change(name, drop=True),)

    def move(self, tx: Transaction) -> tuple[Change, ...]:
        """Rows go from one table to another."""
        source, target = self.rng.sample(SHARED, 2)
        moved = self.take(tx, source)
        if moved:
            append(tx, target, [{"id": i} for i in sorted(moved)])
        return Change(source, remove=moved), Change(target, add=moved)


def live_rows(file: DataFile) -> dict[int, int]:
    """The ids of the rows of a data file that are not deleted, by position."""
    with pq.ParquetFile(file.path) as parquet:
        ids = parquet.read()["id"].to_pylist()
    gone = read_delete_file(file.delete_file)["pos"].to_pylist() if file.delete_file else []
    return {at: ids[at] for at in range(len(ids)) if at not in gone}


if __name__ == "__main__":
    sys.exit("This module is run by in_processes.")
