"""What the report tells of a lake, put together from a few narrow questions to its catalog."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from ducklake_spark.catalog import Catalog
from ducklake_spark.catalog.usage import SIZE_CLASSES, LakeUsage, TableUsage
from ducklake_spark.report.gains import Gain, gains_of
from ducklake_spark.spec.model import Commit

_LATEST = 200
# Files below this are worth merging where a table has several of them.
_SMALL_CLASSES = SIZE_CLASSES.index(10_000_000) + 1
# A lake's first days are not all there is room for.
_SHORTEST = datetime.timedelta(days=13)
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Skew:
    """A partitioned table: its partitions by size, largest first."""

    name: str
    partitions: tuple[tuple[str, int], ...]

    @property
    def factor(self) -> float:
        """How many times the largest partition is a usual one."""
        usual = median(size for _, size in self.partitions)
        return self.partitions[0][1] / usual if usual else 1.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A snapshot in the history."""

    id: int
    time: datetime.datetime
    changes: str
    author: str | None
    message: str | None
    model: str | None


@dataclass(frozen=True, slots=True)
class LakeFacts:
    """All that is on the page. Tables are ordered by size, largest first; history newest first."""

    address: str
    data_path: str
    made: datetime.datetime
    usage: LakeUsage
    tables: tuple[TableUsage, ...]
    by_size: tuple[int, ...]
    skews: tuple[Skew, ...]
    gains: tuple[Gain, ...]
    history: tuple[Entry, ...]
    snapshots: int
    days: tuple[tuple[datetime.date, int], ...]


def gather(catalog: Catalog) -> LakeFacts:
    """Ask the catalog. No file is opened, and Spark does not run."""
    usage = catalog.usage()
    newest = catalog.snapshot().id
    commits = catalog.commits(after=newest - _LATEST)
    return LakeFacts(
        address=catalog.address,
        data_path=catalog.data_path,
        made=datetime.datetime.now(datetime.UTC),
        usage=usage,
        tables=tuple(sorted(usage.tables, key=lambda table: -table.size_bytes)),
        by_size=tuple(sum(counts) for counts in zip(*_classes(usage.tables), strict=True)),
        skews=_skews(usage.tables),
        gains=gains_of(catalog, usage),
        history=tuple(_entry(commit) for commit in reversed(commits)),
        snapshots=len(usage.growth),
        days=_days(usage.growth),
    )


def _classes(tables: Iterable[TableUsage]) -> list[Sequence[int]]:
    return [[0] * (len(SIZE_CLASSES) + 1), *(table.by_size for table in tables)]


def _days(
    growth: Sequence[tuple[datetime.datetime, int]],
) -> tuple[tuple[datetime.date, int], ...]:
    """How many snapshots each day made, days without one included."""
    made = Counter(time.date() for time, _ in growth)
    last = max(made)
    first = min(*made, last - _SHORTEST)
    days = (first + at * _DAY for at in range((last - first).days + 1))
    return tuple((day, made[day]) for day in days)


def _skews(tables: Iterable[TableUsage]) -> tuple[Skew, ...]:
    """Tables of at least two partitions, the most uneven first."""
    found = [
        Skew(
            str(table.name),
            tuple(
                sorted(
                    ((_partition(key), size) for key, size in table.partitions.items()),
                    key=lambda part: -part[1],
                )
            ),
        )
        for table in tables
        if len(table.partitions) > 1
    ]
    return tuple(sorted(found, key=lambda skew: -skew.factor))


def _partition(key: tuple[str | None, ...]) -> str:
    return " / ".join("NULL" if part is None else part for part in key)


def small_files(table: TableUsage) -> int:
    """Files that a merge could make fewer of."""
    small = sum(table.by_size[:_SMALL_CLASSES])
    # Files of different partitions are never merged.
    return max(small - max(len(table.partitions), 1), 0)


# --- history ---


def _entry(commit: Commit) -> Entry:
    kinds = Counter(change.kind.value.replace("_", " ") for change in commit.changes)
    changes = ", ".join(
        kind if count == 1 else f"{kind} ({count})" for kind, count in kinds.items()
    )
    return Entry(
        commit.snapshot.id,
        commit.snapshot.time,
        changes,
        commit.author,
        commit.message,
        model_of(commit.extra_info),
    )


def model_of(extra_info: str | None) -> str | None:
    """The node of dbt that made a commit, as the adapter writes it down."""
    try:
        facts = json.loads(extra_info or "null")
    except ValueError:
        return None
    node = facts.get("node_id") if isinstance(facts, dict) else None
    return node if isinstance(node, str) else None
