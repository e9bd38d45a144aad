"""Random histories of a lake as DuckDB statements, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field

import duckdb

from support.lakes import LakeAddress
from support.shared_duck import SharedDuck
from support.values import VALUES

_PROMOTIONS = {
    "TINYINT": "INTEGER",
    "INTEGER": "BIGINT",
    "FLOAT": "DOUBLE",
    "DECIMAL(4,1)": "DECIMAL(18,3)",
    "DATE": "TIMESTAMP",
    "TIMESTAMP": "TIMESTAMPTZ",
}
_STRUCT = "STRUCT(a INTEGER, b VARCHAR)"
_KINDS = ("INTEGER", "VARCHAR", "DOUBLE", "DATE", "BOOLEAN", "INTEGER[]", _STRUCT, *_PROMOTIONS)
_PARTITIONABLE = {"INTEGER", "BIGINT", "VARCHAR", "BOOLEAN", "DATE", "DECIMAL(4,1)"}


@dataclass
class _Table:
    """A table as the history knows it; the column k is always there."""

    name: str
    columns: dict[str, str] = field(default_factory=lambda: {"k": "INTEGER", "v": "VARCHAR"})
    next_key: int = 0


class History:
    """Statements over two tables; each group of them is one transaction."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tables = [_Table("t0"), _Table("t1")]
        self.before = self.tables
        self.names = 0
        self.changes: list[tuple[Callable[[_Table], Iterator[str]], int]] = [
            (self._insert, 8),
            (self._delete, 5),
            (self._update, 4),
            (self._merge, 2),
            (self._overwrite, 1),
            (self._add_column, 3),
            (self._drop_column, 2),
            (self._rename_column, 2),
            (self._promote, 3),
            (self._partition, 2),
            (self._sort, 1),
            (self._replace_table, 1),
            (self._default, 1),
            (self._comment, 1),
        ]
        # DuckDB 1.5.5 damages the lake if these come after another ALTER in one transaction: both
        # names of the table live on, and fields of a struct get the same id.
        self.alone = [*self.changes, (self._rename_table, 1), (self._field, 2)]
        self.upkeep: list[tuple[Callable[[_Table], Iterator[str]], int]] = [
            (self._flush, 3),
            (self._compact, 3),
            (self._rewrite, 2),
            (self._expire, 1),
            (self._inlining, 2),
        ]

    def first(self) -> list[str]:
        """The transaction that everything starts with."""
        return [f"CREATE TABLE {table.name} (k INTEGER, v VARCHAR)" for table in self.tables]

    def next(self) -> list[str]:
        """The statements of the next transaction, or calls of maintenance."""
        self.before = deepcopy(self.tables)
        roll = self.random.random()
        if roll < 0.2:
            return self._some(self.upkeep)
        if roll < 0.8:
            return self._some(self.alone)
        several = [self._some(self.changes) for _ in range(self.random.randint(2, 4))]
        return [statement for statements in several for statement in statements]

    def undo(self) -> None:
        """Forget the last transaction: DuckDB refused it."""
        self.tables = self.before

    def _some(self, kinds: list[tuple[Callable[[_Table], Iterator[str]], int]]) -> list[str]:
        makers, weights = zip(*kinds, strict=True)
        (maker,) = self.random.choices(makers, weights)
        return list(maker(self.random.choice(self.tables)))

    def _name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # --- rows ---

    def _literal(self, kind: str) -> str:
        if self.random.random() < 0.15:
            return "NULL"
        return f"CAST({self.random.choice(VALUES[kind])} AS {kind})"

    def _row(self, table: _Table, key: str) -> str:
        values = [self._literal(kind) for name, kind in table.columns.items() if name != "k"]
        return f"({', '.join([key, *values])})"

    def _insert(self, table: _Table) -> Iterator[str]:
        count = self.random.choice([1, 2, 3, 9, 12, 25])
        keys = range(table.next_key, table.next_key + count)
        table.next_key += count
        rows = ", ".join(self._row(table, str(key)) for key in keys)
        names = ", ".join(["k", *(name for name in table.columns if name != "k")])
        yield f"INSERT INTO {table.name} ({names}) VALUES {rows}"

    def _some_rows(self, table: _Table) -> str:
        top = max(table.next_key, 1)
        keys = sorted(self.random.sample(range(top), min(top, 3)))
        return self.random.choice(
            [
                f"k IN ({', '.join(map(str, keys))})",
                f"k % {self.random.randint(3, 9)} = {self.random.randint(0, 2)}",
                f"k < {self.random.randint(0, top)}",
                "v IS NULL" if "v" in table.columns else "k = 0",
            ]
        )

    def _delete(self, table: _Table) -> Iterator[str]:
        everything = self.random.random() < 0.1
        yield f"DELETE FROM {table.name}" + (
            "" if everything else f" WHERE {self._some_rows(table)}"
        )

    def _update(self, table: _Table) -> Iterator[str]:
        name, kind = self.random.choice(list(table.columns.items()))
        value = "k + 0" if name == "k" else self._literal(kind)
        yield f"UPDATE {table.name} SET {name} = {value} WHERE {self._some_rows(table)}"

    def _merge(self, table: _Table) -> Iterator[str]:
        others = [item for item in table.columns.items() if item[0] != "k"]
        if not others:
            return
        name, kind = self.random.choice(others)
        start = max(table.next_key - 3, 0)
        table.next_key = start + 6
        yield (
            f"MERGE INTO {table.name} t USING (SELECT range AS k FROM range({start}, {start + 6})) "
            f"s ON t.k = s.k WHEN MATCHED THEN UPDATE SET {name} = {self._literal(kind)} "
            f"WHEN NOT MATCHED THEN INSERT (k, {name}) VALUES (s.k, {self._literal(kind)})"
        )

    def _overwrite(self, table: _Table) -> Iterator[str]:
        yield f"DELETE FROM {table.name}"
        yield from self._insert(table)

    # --- definitions ---

    def _add_column(self, table: _Table) -> Iterator[str]:
        name, kind = self._name("c"), self.random.choice(_KINDS)
        table.columns[name] = kind
        default = ""
        if kind in ("INTEGER", "VARCHAR", "DOUBLE", "DATE") and self.random.random() < 0.6:
            default = f" DEFAULT {self.random.choice(VALUES[kind])}"
        yield f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}{default}"

    def _droppable(self, table: _Table) -> list[str]:
        return [name for name in table.columns if name not in ("k", "v")]

    def _drop_column(self, table: _Table) -> Iterator[str]:
        if names := self._droppable(table):
            name = self.random.choice(names)
            del table.columns[name]
            yield f"ALTER TABLE {table.name} DROP COLUMN {name}"

    def _rename_column(self, table: _Table) -> Iterator[str]:
        if names := self._droppable(table):
            old, new = self.random.choice(names), self._name("r")
            table.columns = {new if n == old else n: k for n, k in table.columns.items()}
            yield f"ALTER TABLE {table.name} RENAME COLUMN {old} TO {new}"

    def _promote(self, table: _Table) -> Iterator[str]:
        if names := [n for n, kind in table.columns.items() if kind in _PROMOTIONS and n != "k"]:
            name = self.random.choice(names)
            table.columns[name] = _PROMOTIONS[table.columns[name]]
            kind = table.columns[name]
            yield f"ALTER TABLE {table.name} ALTER {name} SET DATA TYPE {kind}"

    def _field(self, table: _Table) -> Iterator[str]:
        if names := [name for name, kind in table.columns.items() if kind == _STRUCT]:
            name, field = self.random.choice(names), self._name("f")
            del table.columns[name]  # from now on it stays as it is: no value has its type
            change = self.random.choice(
                [
                    f"ADD COLUMN {name}.{field} INTEGER",
                    f"RENAME COLUMN {name}.a TO {field}",
                    f"DROP COLUMN {name}.b",
                ]
            )
            yield f"ALTER TABLE {table.name} {change}"

    def _partition(self, table: _Table) -> Iterator[str]:
        names = [name for name, kind in table.columns.items() if kind in _PARTITIONABLE]
        key = self.random.choice(names)
        choices = [f"SET PARTITIONED BY ({key})", f"SET PARTITIONED BY (bucket(3, {key}))"]
        yield f"ALTER TABLE {table.name} {self.random.choice([*choices, 'RESET PARTITIONED BY'])}"

    def _sort(self, table: _Table) -> Iterator[str]:
        yield f"ALTER TABLE {table.name} SET SORTED BY (k DESC)"

    def _rename_table(self, table: _Table) -> Iterator[str]:
        old, table.name = table.name, self._name("t_")
        yield f"ALTER TABLE {old} RENAME TO {table.name}"

    def _replace_table(self, table: _Table) -> Iterator[str]:
        table.columns, table.next_key = {"k": "INTEGER", "v": "VARCHAR"}, 15
        yield (
            f"CREATE OR REPLACE TABLE {table.name} AS "
            "SELECT range::INTEGER AS k, 'new ' || range AS v FROM range(15)"
        )

    def _default(self, table: _Table) -> Iterator[str]:
        value = self.random.choice(VALUES["VARCHAR"])
        yield f"ALTER TABLE {table.name} ALTER v SET DEFAULT {value}"

    def _comment(self, table: _Table) -> Iterator[str]:
        yield f"COMMENT ON COLUMN {table.name}.k IS 'comment {self.random.random()}'"

    # --- upkeep ---

    def _flush(self, table: _Table) -> Iterator[str]:
        yield "CALL ducklake_flush_inlined_data('lake')"

    def _compact(self, table: _Table) -> Iterator[str]:
        yield "CALL ducklake_merge_adjacent_files('lake')"

    def _rewrite(self, table: _Table) -> Iterator[str]:
        yield "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)"

    def _expire(self, table: _Table) -> Iterator[str]:
        version = self.random.randint(1, 6)
        yield f"CALL ducklake_expire_snapshots('lake', versions => [{version}])"
        yield "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)"

    def _inlining(self, table: _Table) -> Iterator[str]:
        limit = self.random.choice([0, 3, 10])
        yield (
            f"CALL lake.set_option('data_inlining_row_limit', {limit}, "
            f"table_name => '{table.name}')"
        )


def play(lake: LakeAddress, history: History, transactions: int = 16) -> list[str]:
    """Run so many transactions of a history with DuckDB; the statements that it did not refuse."""
    done = []
    refused = []
    with SharedDuck(lake) as duck:
        duck.run("BEGIN", *history.first(), "COMMIT")
        for _ in range(transactions):
            statements = history.next()
            several = len(statements) > 1 and not statements[0].startswith("CALL")
            group = ["BEGIN", *statements, "COMMIT"] if several else statements
            try:
                duck.run(*group)
            except (duckdb.InternalException, duckdb.FatalException):
                raise
            except duckdb.Error as error:
                refused.append(f"{group}: {error}")
                history.undo()
                with suppress(duckdb.TransactionException):  # a failed COMMIT has ended it
                    duck.run("ROLLBACK")
            else:
                done += group
    assert len(refused) < transactions / 2, refused
    return done
