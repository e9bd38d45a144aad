"""A lake that Spark's SQL is run on, and what DuckDB sees in it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ducklake_spark.lake import Lake
from ducklake_spark.session import Session
from ducklake_spark.sql import Outcome
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle, duck_runs

Rows = list[tuple[Any, ...]]


@dataclass
class SqlLake:
    """Ours and DuckDB's hands on one lake."""

    address: LakeAddress
    lake: Lake

    def rows(self, query: str) -> Rows:
        """The rows of a query, in order."""
        return sorted((tuple(row) for row in self.lake.sql(query).collect()), key=repr)

    def run(self, *statements: str) -> Outcome:
        """What the last of some statements changed."""
        outcome = None
        for statement in statements:
            outcome = self.lake.execute(statement).outcome
        assert outcome is not None
        return outcome

    def duck(self, query: str) -> Rows:
        """The rows that DuckDB finds, in order."""
        with Oracle(self.address) as duck:
            return sorted(duck.rows(query), key=repr)

    def duck_runs(self, *statements: str) -> None:
        duck_runs(self.address, *statements)

    def same(self, query: str) -> Rows:
        """The rows of a query that both must answer alike."""
        ours, theirs = self.rows(query), self.duck(query)
        assert ours == theirs
        return ours

    @contextmanager
    def without_pruning(self) -> Iterator[None]:
        """Every file of a table is read, whatever a query demands."""
        workspace = self.lake._workspace
        workspace.pruning = False
        try:
            yield
        finally:
            workspace.pruning = True

    @property
    def newest(self) -> int:
        return self.lake.catalog().at().snapshot.id


@contextmanager
def sql_lake(session: Session, folder: Path) -> Iterator[SqlLake]:
    """A fresh lake named `lake`, on a session of its own."""
    address = file_lake("sqlite", folder)
    with Lake(session.sibling(), {"lake": address.open()}) as lake:
        yield SqlLake(address, lake)
