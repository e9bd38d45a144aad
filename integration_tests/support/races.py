"""Races between two commits over the same base, by DuckDB and by us.

Every race has a schema of its own, all with the same content, and two players: the one who begins
(`mine`), and the one who begins and commits before the first does (`theirs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb

from ducklake_spark.catalog import Catalog
from ducklake_spark.config import CommitSettings
from ducklake_spark.errors import CommitConflictError
from support.lakes import LakeAddress
from support.oracle import connect
from support.race_kinds import KINDS, Kind, Ours, World
from support.reader import read_rows

SCHEMAS = [f"s{at}" for at in range(len(KINDS))]
# DuckDBs that nobody uses: loading the extensions takes longer than a race.
_idle: list[duckdb.DuckDBPyConnection] = []


class Duck:
    """A DuckDB of its own on the lake, whose retries do not wait."""

    def __init__(self, lake: LakeAddress) -> None:
        self.connection = _idle.pop() if _idle else connect()
        self.run("SET ducklake_retry_wait_ms = 1", "SET threads = 1")
        self.run(f"ATTACH 'ducklake:{lake.catalog}' AS lake (DATA_PATH '{lake.data_path}')")
        self.run("USE lake")

    def __enter__(self) -> Duck:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            self.run("USE memory", "DETACH lake")
        except duckdb.Error:  # whatever state it is in, nobody else shall meet it
            self.connection.close()
        else:
            _idle.append(self.connection)

    def run(self, *statements: str, inlining: int | None = None) -> None:
        if inlining is not None:
            self.connection.execute(f"SET ducklake_default_data_inlining_row_limit = {inlining}")
        for statement in statements:
            self.connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()


def prepare(lake: LakeAddress, schemas: Sequence[str]) -> None:
    """The content that all races start from: files A, B and C with two rows of C deleted."""
    with lake.open(), Duck(lake) as duck:
        duck.run("BEGIN", inlining=0)
        for s in schemas:
            duck.run(
                f"CREATE SCHEMA {s}",
                f"CREATE TABLE {s}.t (id INTEGER, v INTEGER)",
                f"CREATE VIEW {s}.w AS SELECT 1 AS x",
            )
            for first in (1, 5, 11):
                duck.run(f"INSERT INTO {s}.t SELECT i, 0 FROM range({first}, {first + 4}) r(i)")
        duck.run("COMMIT", "BEGIN", *(f"DELETE FROM {s}.t WHERE id > 12" for s in schemas))
        duck.run("COMMIT")
        duck.run("BEGIN", inlining=10)
        duck.run(*(f"INSERT INTO {s}.t VALUES (9, 0), (10, 0)" for s in schemas), "COMMIT")


class Player(Protocol):
    """One side of a race."""

    committed: int  # the snapshot made last

    def begin(self, kind: Kind, schema: str, number: int) -> None: ...

    def commit(self) -> Exception | None:
        """None if it landed, else the conflict; any other error is raised."""

    def close(self) -> None: ...


class OurPlayer:
    def __init__(self, lake: LakeAddress) -> None:
        self.catalog = lake.open(commit_settings=CommitSettings(max_attempts=5))

    def begin(self, kind: Kind, schema: str, number: int) -> None:
        assert kind.ours is not None
        self.tx = self.catalog.transaction(author=author(number), message=kind.name)
        kind.ours(Ours(self.tx, schema, number))

    def commit(self) -> Exception | None:
        try:
            self.committed = self.tx.commit().snapshot_id
        except CommitConflictError as error:
            return error
        return None

    def close(self) -> None:
        self.catalog.close()


class DuckPlayer:
    def __init__(self, lake: LakeAddress) -> None:
        self.duck = Duck(lake)

    def begin(self, kind: Kind, schema: str, number: int) -> None:
        self.duck.run("BEGIN")
        self.duck.run(*kind.statements(schema, number), inlining=kind.inlining)
        self.duck.run(f"CALL lake.set_commit_message('{author(number)}', '{kind.name}')")

    def commit(self) -> Exception | None:
        try:
            self.duck.run("COMMIT")
        except duckdb.Error as error:
            if "Transaction conflict" in str(error):
                return error
            raise
        ((self.committed,),) = self.duck.rows("SELECT id FROM lake.last_committed_snapshot()")
        return None

    def close(self) -> None:
        self.duck.close()


def author(number: int) -> str:
    return f"player {number}"


@dataclass
class Outcome:
    """How a race ended: with a conflict or with none, and what should be there now."""

    conflict: Exception | None
    world: World
    snapshot_id: int  # the one that `theirs` made


def play(schema: str, mine: Player, kind: Kind, theirs: Player, other: Kind) -> Outcome:
    """One race: `theirs` commits between the reading of `mine` and its commit."""
    world = World()
    mine.begin(kind, schema, 1)
    theirs.begin(other, schema, 2)
    lost = theirs.commit()
    assert lost is None, f"The first to commit cannot lose: {lost}"
    world.player = 2
    other.effect(world)
    conflict = mine.commit()
    if conflict is None:
        world.player = 1
        kind.effect(world)
    return Outcome(conflict, world, theirs.committed)


# --- what there is afterwards ---


@dataclass(frozen=True)
class Content:
    """A schema's tables with their rows, and its views."""

    tables: Mapping[str, list[tuple[object, ...]]]
    views: frozenset[str]


def expected(world: World) -> Content | None:
    """What the schema should hold; None if it should be gone."""
    tables = {name: sorted(rows.items()) for name, rows in world.tables.items()}
    return Content(tables, frozenset(world.views)) if world.exists else None


def seen_by_duck(duck: Duck, schema: str) -> Content | None:
    """What DuckDB finds in a schema; its count of rows must be that of the rows it reads."""

    def listed(kind: str, wanted: str) -> list[str]:
        where = f"database_name = 'lake' AND schema_name = '{schema}'"
        query = f"SELECT {wanted} FROM duckdb_{kind}() WHERE {where}"
        return [str(row[0]) for row in duck.rows(query)]

    if not listed("schemas", "schema_name"):
        return None
    tables = {}
    for name in listed("tables", "table_name"):
        rows = duck.rows(f"SELECT * FROM {schema}.{name}")
        counted = duck.rows(f"SELECT count(*) FROM {schema}.{name}")
        assert counted == [(len(rows),)], f"DuckDB counts {counted} rows and reads {rows}"
        tables[name] = sorted(row[:2] for row in rows)
    return Content(tables, frozenset(listed("views", "view_name")))


def seen_by_us(catalog: Catalog, schema: str) -> Content | None:
    """What we find in a schema."""
    reader = catalog.at()
    if schema not in [known.name for known in reader.schemas()]:
        return None
    tables = {}
    for entry in reader.tables(schema):
        rows = read_rows(reader, reader.table(entry.name))
        tables[entry.name.name] = sorted((row["id"], row.get("v")) for row in rows)
    return Content(tables, frozenset(view.name.name for view in reader.views(schema)))
