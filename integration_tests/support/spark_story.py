"""Random changes that Spark makes to a table, and what a table is after them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from ducklake_spark.catalog import Catalog
from ducklake_spark.session import Session
from ducklake_spark.write import Clause, append, delete, merge, overwrite, update

Row = tuple[str | None, int | None]


@dataclass
class Story:
    """A table t (k INTEGER, s VARCHAR, d INTEGER) by its keys, which may repeat after appends."""

    random: random.Random
    rows: dict[int, Row] = field(default_factory=dict)
    next_key: int = 0
    done: list[str] = field(default_factory=list)

    # --- the model ---

    def new_rows(self, count: int) -> list[tuple[int, str | None, int | None]]:
        keys = range(self.next_key, self.next_key + count)
        self.next_key += count
        return [(key, *self.value()) for key in keys]

    def value(self) -> Row:
        text = self.random.choice([None, "", "a", "it's", "é/% =", "long " * 5])
        return text, self.random.choice([None, 0, -1, 2**31 - 1])

    def condition(self) -> tuple[str, set[int]]:
        """In both engines' SQL, and the keys it holds for."""
        low = self.random.randrange(self.next_key + 1)
        match self.random.randrange(4):
            case 0:
                return f"k >= {low}", {k for k in self.rows if k >= low}
            case 1:
                return f"k % 5 = {low % 5}", {k for k in self.rows if k % 5 == low % 5}
            case 2:
                return "s IS NULL", {k for k, (s, _) in self.rows.items() if s is None}
            case _:
                return f"k = {low}", self.rows.keys() & {low}

    # --- Spark ---

    def spark_step(self, session: Session, catalog: Catalog) -> None:
        """One transaction of one or two changes."""
        with catalog.transaction() as tx:
            for _ in range(self.random.choice([1, 1, 2])):
                change = self.random.choices(
                    [self._append, self._delete, self._update, self._merge, self._overwrite],
                    [4, 3, 3, 3, 1],
                )[0]
                change(session, tx)

    def _frame(self, session: Session, rows: list[tuple[int, str | None, int | None]]):  # type: ignore[no-untyped-def]
        return session.spark.createDataFrame(rows, "k int, s string, d int")

    def _append(self, session: Session, tx) -> None:  # type: ignore[no-untyped-def]
        rows = self.new_rows(self.random.choice([0, 1, 5, 30]))
        append(tx, "t", self._frame(session, rows))
        self.rows |= {k: (s, d) for k, s, d in rows}
        self.done.append(f"append {len(rows)}")

    def _overwrite(self, session: Session, tx) -> None:  # type: ignore[no-untyped-def]
        rows = self.new_rows(10)
        overwrite(tx, "t", self._frame(session, rows))
        self.rows = {k: (s, d) for k, s, d in rows}
        self.done.append("overwrite")

    def _delete(self, session: Session, tx) -> None:  # type: ignore[no-untyped-def]
        condition, keys = self.condition()
        self.done.append(f"delete {condition}")
        assert delete(session, tx, "t", condition) == len(keys)
        for key in keys:
            del self.rows[key]

    def _update(self, session: Session, tx) -> None:  # type: ignore[no-untyped-def]
        condition, keys = self.condition()
        self.done.append(f"update {condition}")
        changed = update(session, tx, "t", {"s": "concat('u', s)", "d": "15"}, condition)
        assert changed.updated == len(keys)
        for key in keys:
            text = self.rows[key][0]
            self.rows[key] = (None if text is None else f"u{text}", 15)

    def _merge(self, session: Session, tx) -> None:  # type: ignore[no-untyped-def]
        start = max(self.next_key - 4, 0)
        self.next_key = start + 8
        source = [(k, *self.value()) for k in range(start, start + 8)]
        limit, by_source = start + self.random.randrange(4), self.random.random() < 0.4
        clauses = [
            Clause("matched", "delete", f"target.k = {limit}"),
            Clause("matched", "update", None, {"s": "source.s", "d": "source.d"}),
            Clause("not matched", "insert", None, {c: f"source.{c}" for c in ("k", "s", "d")}),
        ]
        if by_source:
            clauses.append(Clause("not matched by source", "update", "target.k < 5", {"s": "'m'"}))
        self.done.append(f"merge {start} to {start + 8}, deletes {limit}, by source {by_source}")
        merge(session, tx, "t", self._frame(session, source), "target.k = source.k", clauses)
        before = dict(self.rows)
        for k, s, d in source:
            if k in before and k == limit:
                del self.rows[k]
            else:
                self.rows[k] = (s, d)
        if by_source:
            for k in before.keys() - {row[0] for row in source}:
                if k < 5:
                    self.rows[k] = ("m", before[k][1])

    # --- DuckDB ---

    def duck_step(self) -> list[str]:
        """One statement of DuckDB's, or its upkeep."""
        match self.random.randrange(6):
            case 4:
                statements = [
                    "CALL ducklake_flush_inlined_data('lake')",
                    "CALL ducklake_merge_adjacent_files('lake')",
                ]
            case 5:
                statements = [
                    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)",
                    self.new_column(),
                ]
            case _:
                return self.duck_write()
        self.done += statements
        return statements

    def duck_write(self) -> list[str]:
        """One statement of DuckDB's that changes rows or columns."""
        condition, keys = self.condition()
        match self.random.randrange(9):
            case 0 | 1:
                for key in keys:
                    del self.rows[key]
                statements = [f"DELETE FROM t WHERE {condition}"]
            case 2 | 3:
                for key in keys:
                    self.rows[key] = ("duck", self.rows[key][1])
                statements = [f"UPDATE t SET s = 'duck' WHERE {condition}"]
            case 4:
                statements = [self.new_column()]
            case _:
                key, count = self.next_key, self.random.choice([3, 20])
                self.next_key += count
                self.rows |= dict.fromkeys(range(key, key + count), ("d", None))
                values = f"SELECT i, 'd', NULL FROM range({key}, {key + count}) r(i)"
                statements = [f"INSERT INTO t (k, s, d) {values}"]
        self.done += statements
        return statements

    def new_column(self) -> str:
        return f"ALTER TABLE t ADD COLUMN c{self.random.randrange(10**6)} INTEGER DEFAULT 7"
