"""Snapshots that another client expires while a statement reads them: an error, never empty reads.

Each statement runs once undisturbed. Then it runs again and again, and each time the other client
commits and expires all older snapshots at another point between two catalog questions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import ANY

import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.errors import NotFoundError, SnapshotExpiredError
from ducklake_spark.files import truncate
from ducklake_spark.lake import Lake
from ducklake_spark.session import Session
from support.budget import FULL, sampled
from support.expiries import Act, Expiry, expiring_client
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import append

CLIENTS = [("sqlite", "ours"), ("postgres", "duckdb")]
if FULL:
    CLIENTS += [("sqlite", "duckdb"), ("postgres", "ours")]

STEPS = 5  # of each statement
ROWS = [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0)]


@dataclass(frozen=True)
class Case:
    """A statement and what it leaves in `t`, or what it returns if it only reads.

    `{version}` is a snapshot with the same rows. `again`: it may start anew and succeed.
    """

    statement: str
    rows: list[Any] | None = None
    returns: list[Any] | None = None
    again: bool = False
    truncated: bool = False  # before the statement, after {version}

    @property
    def before(self) -> list[Any]:
        return [] if self.truncated else ROWS


CASES = {
    "select": Case("SELECT * FROM t", returns=ROWS),
    "view": Case("SELECT * FROM v", returns=ROWS),
    "time travel": Case("SELECT * FROM t VERSION AS OF {version}", returns=ROWS),
    "change feed": Case(
        "SELECT id, v FROM lake.table_insertions('t', {version}, {version})", returns=ROWS
    ),
    "insert": Case("INSERT INTO t SELECT id + 10, v FROM s", [*ROWS, (11, 1), (13, 1)]),
    "overwrite": Case("INSERT OVERWRITE t SELECT * FROM s", [(1, 1), (3, 1)]),
    "replace where": Case("INSERT INTO t REPLACE WHERE id < 4 SELECT * FROM s",
                          [(1, 1), (3, 1), (4, 0), (5, 0)], again=True),
    "update": Case("UPDATE t SET v = 2 WHERE id > 1", [(1, 0), *((i, 2) for i in range(2, 6))]),
    "delete": Case("DELETE FROM t WHERE id NOT IN (SELECT id FROM s)", [(1, 0), (3, 0)]),
    "merge": Case(
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        [(1, 1), (3, 1)],
    ),
    "create table": Case("CREATE OR REPLACE TABLE t AS SELECT * FROM s", [(1, 1), (3, 1)]),
    "rollback": Case("CALL lake.rollback(snapshot_version => {version}, table_name => 't')", ROWS,
                     truncated=True),
    "merge files": Case("CALL lake.merge_adjacent_files('t')", ROWS, again=True),
}  # fmt: skip


@dataclass
class Setting:
    """A lake with a client of ours, one that expires, and DuckDB as the judge."""

    address: LakeAddress
    lake: Lake
    expire: Act

    def fill(self, case: Case) -> int:
        """Give `t` its rows; return a snapshot that shows them and is not the newest."""
        catalog = self.lake.catalog()
        with catalog.transaction() as tx:
            truncate(tx, "t")  # DuckDB may have deleted rows in the catalog
            append(tx, "t", [{"id": i, "v": 0} for i in range(1, 4)])
            append(tx, "t", [{"id": i, "v": 0} for i in range(4, 6)])
            version = tx.commit().snapshot_id
        with catalog.transaction() as tx:
            append(tx, "other", [{"id": 1}])
            if case.truncated:
                truncate(tx, "t")
        return version

    def run(self, case: Case, version: int, expiry: Expiry) -> list[tuple[Any, ...]] | None:
        """Run the statement; None if a snapshot was expired."""
        statement = case.statement.format(version=version)
        with expiry.during(self.lake.catalog(), self.address.kind):
            try:
                frame = self.lake.sql(statement)
            except SnapshotExpiredError:
                return None
            except NotFoundError:
                if "{version}" in case.statement:  # a snapshot that the statement names
                    return None
                raise
        return sorted(tuple(row) for row in frame.collect())

    def rows(self) -> list[Any]:
        with Oracle(self.address) as duck:
            return sorted(duck.rows("FROM t"))


@pytest.fixture(scope="module", params=CLIENTS, ids="-".join)
def setting(
    request: pytest.FixtureRequest,
    session: Session,
    tmp_path_factory: pytest.TempPathFactory,
    new_database: Callable[[], str],
) -> Iterator[Setting]:
    kind, client = request.param
    folder = tmp_path_factory.mktemp("expired")
    catalog = f"sqlite:{folder}/c.sqlite" if kind == "sqlite" else f"postgres:{new_database()}"
    address = LakeAddress(kind, catalog, f"{folder}/data/")
    with Lake(session.sibling(), {"lake": address.open()}) as lake:
        with lake.catalog().transaction() as tx:
            fields = [Field("id", "int32"), Field("v", "int32")]
            for name in ("t", "s", "other"):
                tx.create_table(name, fields[: 1 if name == "other" else 2])
            append(tx, "s", [{"id": 1, "v": 1}, {"id": 3, "v": 1}])
        lake.sql("CREATE VIEW v AS SELECT * FROM t")
        with expiring_client(address, client, "t", "s") as expire:
            yield Setting(address, lake, expire)


@pytest.mark.parametrize("name", CASES)
def test_no_statement_reads_an_expired_snapshot_as_empty(setting: Setting, name: str) -> None:
    case = CASES[name]
    undisturbed = Expiry(setting.expire, after=sys.maxsize)
    assert setting.run(case, setting.fill(case), undisturbed) == (case.returns or ANY)
    assert case.rows in (None, setting.rows())
    steps = sys.maxsize - undisturbed.after
    expired = 0
    for step in sampled(range(steps), STEPS):
        expiry = Expiry(setting.expire, step)
        returned = setting.run(case, setting.fill(case), expiry)
        assert expiry.has_happened, f"step {step}"
        expired += returned is None
        if returned is None:
            assert setting.rows() == case.before, f"step {step}"
        elif case.returns is not None:
            assert returned == case.returns, f"step {step}"
        else:
            assert case.again, f"step {step}"
            assert setting.rows() == case.rows, f"step {step}"
    assert expired > 0 or case.again
