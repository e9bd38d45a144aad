"""Random configurations of dbt snapshots, and random histories of the rows they look at."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import duckdb

STEPS = 4
_DAY = "2024-03-{:02}"
_COLUMN_NAMES = {
    "dbt_valid_from": "started",
    "dbt_valid_to": "Ended At",
    "dbt_scd_id": "version_id",
    "dbt_updated_at": "changed",
    "dbt_is_deleted": "is gone",
}
_FOREVER = "cast('9999-12-31 00:00:00' as timestamp)"

Key = tuple[int | None, str | None]
Version = tuple[Any, ...]


@dataclass
class Row:
    """The columns of a source row that can change; `day` is the day of `updated`."""

    v: str | None
    w: int | None
    day: int | None

    def copy(self) -> Row:
        return Row(self.v, self.w, self.day)


@dataclass
class SnapshotCase:
    """One dbt snapshot and the rows that its query returns at each step."""

    seed: int
    config: dict[str, Any]
    steps: list[list[tuple[Key, Row]]] = field(default_factory=list)
    column_since: int | None = None  # the step from which the source has one more column

    @property
    def name(self) -> str:
        return f"history_{self.seed}"

    def text(self) -> str:
        """The snapshot block. The rows depend on the dbt variable `step`."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config.items())
        lines = [f"{{% snapshot {self.name} %}}", f"{{{{ config({arguments}) }}}}"]
        for number in range(len(self.steps)):
            lines += [f"{{% if var('step') == {number} %}}", self._query(number), "{% endif %}"]
        return "\n".join([*lines, "{% endsnapshot %}", ""])

    def _query(self, number: int) -> str:
        extra = self.column_since is not None and number >= self.column_since
        selects = [_select(key, row, extra) for key, row in self.steps[number]]
        nothing = _select((0, ""), Row("", 0, 1), extra) + " where 1 = 0"
        return "\nunion all ".join(selects or [nothing])

    @property
    def meta(self) -> list[str]:
        """The columns of dbt in the snapshot table: from, to, version, updated, deleted."""
        chosen = self.config.get("snapshot_meta_column_names", {})
        names = list(_COLUMN_NAMES)
        if self.config["hard_deletes"] != "new_record":
            names.remove("dbt_is_deleted")
        return [chosen.get(name, name).strip('`"') for name in names]

    def __str__(self) -> str:
        shown = "\n".join(f"  {number}: {rows}" for number, rows in enumerate(self.steps))
        return f"{self.name} {self.config} column_since={self.column_since}\n{shown}"


def _select(key: Key, row: Row, extra: bool) -> str:
    values = {
        "k1": (key[0], "int"),
        "k2": (key[1], "string"),
        "v": (row.v, "string"),
        "w": (row.w, "int"),
        "updated": (row.day and _DAY.format(row.day), "timestamp"),
    }
    if extra:
        values["extra"] = (row.w, "int")
    casts = (
        f"cast({'null' if value is None else repr(value)} as {kind}) as {name}"
        for name, (value, kind) in values.items()
    )
    return "select " + ", ".join(casts)


def cases(seeds: Iterable[int]) -> list[SnapshotCase]:
    """One case per seed."""
    return [_case(seed) for seed in seeds]


def _case(seed: int) -> SnapshotCase:
    choose = random.Random(seed)
    config = _config(choose, seed)
    case = SnapshotCase(seed, config)
    is_list = isinstance(config["unique_key"], list)
    keys: list[Key] = [(number, text) for number in (1, 2, 3, 4) for text in "ab"]
    keys = keys if is_list else [(number, "a") for number in range(1, 9)]
    if is_list and choose.random() < 0.5:
        keys += [(3, None), (None, "c")]
    elif choose.random() < 0.2:
        keys += [(None, "a")]
    there: dict[Key, Row] = {}
    left: dict[Key, Row] = {}
    for _ in range(STEPS):
        _step(choose, keys, there, left)
        case.steps.append([(key, row.copy()) for key, row in there.items()])
    if case.steps[0] and choose.random() < 0.3:  # the source once had a key twice
        key, row = case.steps[0][0]
        case.steps[0].append((key, row.copy()))
    if choose.random() < 0.2:
        case.column_since = choose.randrange(1, STEPS)
    return case


def _config(choose: random.Random, seed: int) -> dict[str, Any]:
    # Nine consecutive seeds have every pair of strategy and hard_deletes.
    strategy = ("check", "timestamp", "check")[(seed + seed // 3) % 3]
    config: dict[str, Any] = {
        "unique_key": choose.choice(["k1", ["k1", "k2"]]),
        "strategy": strategy,
        "hard_deletes": ("ignore", "invalidate", "new_record")[seed % 3],
    }
    if strategy == "check":
        config["check_cols"] = choose.choice(["all", ["v"], ["v", "w"]])
    if strategy == "timestamp" or choose.random() < 0.7:
        config["updated_at"] = "updated"
    if choose.random() < 0.3:
        config["dbt_valid_to_current"] = _FOREVER
    if choose.random() < 0.3:
        names = _COLUMN_NAMES.values()
        plain = [name.replace(" ", "_").lower() for name in names]
        config["snapshot_meta_column_names"] = dict(zip(_COLUMN_NAMES, plain, strict=True))
    return config


def _step(
    choose: random.Random, keys: list[Key], there: dict[Key, Row], left: dict[Key, Row]
) -> None:
    """Let rows come, change, leave and return."""
    for key in keys:
        row = there.get(key)
        if row is None and key in left and choose.random() < 0.6:
            row = there[key] = left.pop(key)
            if choose.random() < 0.6:
                continue  # it returns as it was
        elif row is None:
            if choose.random() < 0.5 and key not in left:
                there[key] = Row("x", choose.choice([1, None]), choose.choice([5, 5, None]))
            continue
        if choose.random() < 0.25:
            left[key] = there.pop(key)
            continue
        if choose.random() < 0.5:
            row.v = choose.choice(["x", "y", None])
        if choose.random() < 0.3:
            row.w = choose.choice([1, 2, None])
        if choose.random() < 0.5:
            row.day = choose.choice([row.day, (row.day or 5) + 1, (row.day or 5) - 1])


def versions(duck: duckdb.DuckDBPyConnection, table: str, case: SnapshotCase) -> Counter[Version]:
    """The rows of a snapshot table, comparable between engines.

    Times of the runs become their rank. A version's ID becomes the number of rows that share it.
    """
    times = ["updated", *(name for name in case.meta[:4] if name != case.meta[2])]
    parts = ["k1", "k2", "v", "w"]
    parts += [f'cast(cast("{name}" as timestamp) as varchar)' for name in times]
    parts.append(f'count(*) over (partition by "{case.meta[2]}")')
    parts += [f'cast("{name}" as varchar)' for name in case.meta[4:]]
    parts += ["extra"] if case.column_since is not None else []
    rows = duck.execute(f"SELECT {', '.join(parts)} FROM {table}").fetchall()
    moments = {value for row in rows for value in row[5:8] if _is_of_a_run(value)}
    ranks = {value: f"run {rank}" for rank, value in enumerate(sorted(moments))}
    return Counter(tuple(ranks.get(value, value) for value in row) for row in rows)


def _is_of_a_run(value: str | None) -> bool:
    return value is not None and not value.startswith(("2024-", "9999-"))
