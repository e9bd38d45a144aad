"""Another client that commits and expires all older snapshots between two catalog questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.maintain import expire_snapshots
from support.faults import observed
from support.lakes import LakeAddress
from support.parquet import append
from support.races import Duck
from support.reader import read_rows

Act = Callable[[], None]


@dataclass
class Expiry:
    """Expires all snapshots but a new one, once, after so many steps of what is watched."""

    act: Act
    after: int
    has_happened: bool = False
    is_writing: bool = False

    def __call__(self, step: str) -> None:
        # Once a commit has taken its snapshot ID, the other client would wait for it.
        self.is_writing = step != "BEGIN" and (self.is_writing or not step.startswith("SELECT"))
        if self.is_writing or self.has_happened:
            return
        self.after -= 1
        if self.after < 0:
            self.has_happened = True
            self.act()

    @contextmanager
    def during(self, catalog: Catalog, kind: str) -> Iterator[None]:
        """Act between two questions; in PostgreSQL, also between two statements of a question.

        SQLite lets nobody write while a question is being read.
        """
        if kind == "sqlite":
            with observed(catalog, after=lambda step: self("BEGIN") if step == "END" else None):
                yield
        else:
            with observed(catalog, before=self):
                yield


@contextmanager
def expiring_client(lake: LakeAddress, client: str, *tables: str) -> Iterator[Act]:
    """Return what has DuckDB, or our client, expire all snapshots but the newest.

    It first replaces the files of the tables by files with the same rows, so that the snapshots
    before would show the tables empty.
    """
    if client == "duckdb":
        with Duck(lake) as duck:
            yield lambda: duck.run(
                *(f"UPDATE main.{table} SET id = id" for table in tables),
                "INSERT INTO main.other VALUES (1)",
                "CALL ducklake_expire_snapshots('lake', older_than => now())",
            )
        return
    with lake.open() as catalog:

        def act() -> None:
            with catalog.transaction() as tx:
                for table in tables:
                    rows = read_rows(tx, tx.table(table))
                    tx.truncate(table)
                    if rows:
                        append(tx, table, rows)
                append(tx, "other", [{"id": 1}])
            expire_snapshots(catalog, older_than="0 seconds")

        yield act


def create_other(catalog: Catalog) -> None:
    """Create the table that the expiring client commits to."""
    with catalog.transaction() as tx:
        tx.create_table("other", [Field("id", "int32")])
