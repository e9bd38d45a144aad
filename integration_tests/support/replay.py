"""A serial model of what clients did at the same time: the id of a snapshot is its place in order.

Every client writes down what it did, on what base, and how it ended. Replayed in the order of
snapshots on a plain dictionary, that must give what the lake shows at each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ducklake_spark.catalog import Catalog, LakeReader
from support.reader import read_rows

Ended = Literal["landed", "conflict"]
State = dict[str, frozenset[int]]  # the ids in each table


@dataclass(frozen=True)
class Change:
    """What a commit did to one table; `create` and `drop` come before and after the rows."""

    table: str
    add: frozenset[int] = frozenset()
    remove: frozenset[int] = frozenset()
    create: bool = False
    drop: bool = False


@dataclass(frozen=True)
class Done:
    """One transaction of a client."""

    client: int
    base: int
    ended: Ended
    snapshot: int | None
    changes: tuple[Change, ...]
    attempts: int = 0


@dataclass(frozen=True)
class Read:
    """What a client read at a snapshot, in two scans one after the other."""

    snapshot: int
    first: State
    second: State


@dataclass
class Log:
    """All that one client did and read."""

    done: list[Done] = field(default_factory=list)
    read: list[Read] = field(default_factory=list)


def replayed(start: State, first: int, logs: Iterable[Log]) -> dict[int, State]:
    """The state at each snapshot from `first` on. Fails where no serial order explains the logs."""
    landed = [done for log in logs for done in log.done if done.ended == "landed"]
    states = {first: start}
    for at, done in enumerate(sorted(landed, key=lambda d: d.snapshot or 0), start=first + 1):
        assert done.snapshot == at, f"Snapshot {at} is missing or was reported twice: {done}"
        assert done.base < at, f"{done} landed before its base"
        states[at] = applied(states[at - 1], done)
    return states


def applied(before: State, done: Done) -> State:
    state = dict(before)
    for change in done.changes:
        if change.create:
            assert change.table not in state, f"{done} creates what is there already"
            state[change.table] = frozenset()
        rows = state.get(change.table)
        assert rows is not None, f"{done} needs a table that is gone"
        assert change.remove <= rows, f"{done} deletes rows {change.remove - rows} that are gone"
        assert not change.add & rows, f"{done} adds rows {change.add & rows} a second time"
        state[change.table] = rows - change.remove | change.add
        if change.drop:
            del state[change.table]
    return state


def state_of(reader: LakeReader, schema: str = "main") -> State:
    """The ids that a snapshot shows, table by table."""
    state = {}
    for entry in reader.tables(schema):
        rows = [row["id"] for row in read_rows(reader, reader.table(entry.name))]
        state[entry.name.name] = frozenset(rows)
        assert len(state[entry.name.name]) == len(rows), f"rows of {entry.name} are there twice"
    return state


def check_totals(catalog: Catalog, dump: Mapping[str, list[dict[str, int]]]) -> None:
    """What the catalog counts is what there is, for every table that ever was."""
    files = dump["ducklake_data_file"]
    ids = [row["data_file_id"] for row in files + dump["ducklake_delete_file"]]
    ids = [row["data_file_id"] for row in files]
    ids += [row["delete_file_id"] for row in dump["ducklake_delete_file"]]
    assert len(set(ids)) == len(ids)
    assert max(ids, default=-1) < catalog.snapshot().next_file_id
    snapshots = sorted(row["snapshot_id"] for row in dump["ducklake_snapshot"])
    assert snapshots == list(range(len(snapshots)))
    assert snapshots == sorted(row["snapshot_id"] for row in dump["ducklake_snapshot_changes"])
    assert len(catalog.commits()) == len(snapshots)  # all of them can be parsed
    for stats in dump["ducklake_table_stats"]:
        own = [row for row in files if row["table_id"] == stats["table_id"]]
        ends = sorted((row["row_id_start"], row["record_count"]) for row in own)
        taken = 0
        for start, count in ends:
            assert start == taken, f"row ids of table {stats['table_id']} have a gap or overlap"
            taken += count
        assert stats["next_row_id"] == stats["record_count"] == taken
        assert stats["file_size_bytes"] == sum(row["file_size_bytes"] for row in own)
    live = [row for row in dump["ducklake_delete_file"] if row["end_snapshot"] is None]
    assert len({row["data_file_id"] for row in live}) == len(live)
