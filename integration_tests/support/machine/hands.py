"""The clients of the lake: two Spark sessions in different time zones, and DuckDB."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from ducklake_spark.lake import Lake
from ducklake_spark.session import Session
from support.lakes import LakeAddress
from support.machine.cells import DUCK, TIMES, UTC, Cell, Dialect, key
from support.machine.model import State, Table
from support.shared_duck import SharedDuck

_local_times: dict[str, Mapping[datetime.datetime, str]] = {}


@dataclass
class OpenTransaction:
    """An open transaction: the state at its start, and the state after its statements so far.

    All fields are None until the first statement: only this one fixes the snapshot.
    """

    snapshot: int | None = None
    base: State | None = None
    view: State | None = None


@dataclass
class SlowRead:
    """A query that is planned but not run yet, and the rows that it must return."""

    frame: DataFrame
    expected: Counter[Any]
    table: str


class Hand:
    """A client of this package."""

    def __init__(self, name: str, session: Session, address: LakeAddress, zone: str) -> None:
        self.name = name
        self.lake = Lake(session.sibling(), {"lake": address.open()})
        self.lake.session.spark.conf.set("spark.sql.session.timeZone", zone)
        self.dialect = Dialect("spark", self._local_times(zone))
        self.open: OpenTransaction | None = None
        self.slow: SlowRead | None = None

    def __repr__(self) -> str:
        return self.name

    def run(self, sql: str) -> None:
        self.lake.execute(sql)

    def read(self, query: str) -> pa.Table:
        return self.lake.sql(query).toArrow()

    def _local_times(self, zone: str) -> Mapping[datetime.datetime, str]:
        """Return the local text of each time that Spark reads back from it in this zone."""
        if zone not in _local_times:
            listed = ", ".join(f"(TIMESTAMP '{t.replace(tzinfo=None)}+00:00')" for t in TIMES)
            rows = self.lake.session.spark.sql(
                "SELECT CAST(t AS STRING) AS local, CAST(CAST(t AS STRING) AS TIMESTAMP) = t AS ok "
                f"FROM VALUES {listed} AS v(t)"
            ).collect()
            _local_times[zone] = {
                time: row.local for time, row in zip(TIMES, rows, strict=True) if row.ok
            }
        return _local_times[zone]

    def close(self) -> None:
        self.lake.close()


class Duck:
    """DuckDB, which attaches the lake again for every statement."""

    name = "duck"
    dialect = DUCK
    open = None

    def __init__(self, address: LakeAddress) -> None:
        self.address = address

    def __repr__(self) -> str:
        return "duck"

    def run(self, sql: str) -> None:
        with SharedDuck(self.address) as duck:
            duck.run_despite_fault(sql)

    def read(self, *queries: str) -> list[pa.Table]:
        with SharedDuck(self.address) as duck:
            return [duck.connection.execute(query).to_arrow_table() for query in queries]


# --- rows that compare ---


def content_of(data: pa.Table) -> Counter[Any]:
    """Return the rows of a result in the form of `Table.content`."""
    columns = [_cells(column) for column in data.columns]
    return Counter(zip(*columns, strict=True)) if columns else Counter()


def _cells(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        # Compare in UTC: Python's and Java's rules differ for old times in other zones.
        column = column.cast(pa.timestamp("us", "UTC"))
        return [None if value is None else value.astimezone(UTC) for value in column.to_pylist()]
    return [key(_plain(value)) for value in column.to_pylist()]


def _plain(value: Any) -> Cell:
    return tuple(value.values()) if isinstance(value, dict) else value


def difference(found: Counter[Any], expected: Counter[Any]) -> str:
    extra, missing = found - expected, expected - found
    return f"expected but missing: {_shown(missing)}; found but not expected: {_shown(extra)}"


def _shown(rows: Counter[Any]) -> str:
    return ", ".join(f"{_abridged(row)} x{n}" for row, n in rows.items()) or "nothing"


def _abridged(row: tuple[Any, ...]) -> str:
    texts = (repr(cell) for cell in row)
    return "(" + ", ".join(t if len(t) < 60 else f"{t[:20]}…{t[-4:]}" for t in texts) + ")"


def columns_of(table: Table) -> str:
    return ", ".join(column.name for column in table.columns)
