"""What a MERGE does with each joined row: which clause applies, and what it writes.

A condition is evaluated for the rows that its clause is about and that no earlier clause has taken,
and for no others: `WHEN NOT MATCHED AND 1 / x > 0` must not divide by the zero of a matched row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.scan import PLACE, ROW_ID
from ducklake_spark.spec.model import Table
from ducklake_spark.spec.names import backticked, fold

ACTION = "_ducklake_action"
IN_SOURCE = "_ducklake_in_source"
_SIDE = "_ducklake_side"
_SOURCE_ROW, _TARGET_ROW = "_ducklake_source_row", "_ducklake_target_row"

Values = Mapping[str, Expression | str]
When = Literal["matched", "not matched", "not matched by source"]
_SIDES: tuple[When, ...] = ("matched", "not matched", "not matched by source")


@dataclass(frozen=True, slots=True)
class Clause:
    """One WHEN of a MERGE: `values` are expressions over both sides, by target column.

    An error has a `message`, which may be left out.
    """

    when: When
    then: Literal["update", "delete", "insert", "do nothing", "error"]
    condition: Expression | str | None = None
    values: Values = field(default_factory=dict)
    message: str | None = None


def outcomes(
    table: Table,
    joined: DataFrame,
    clauses: Sequence[Clause],
    target_alias: str,
    source_alias: str,
) -> DataFrame:
    """Return place, id and action of each row to change, and what a clause writes as a struct.

    Clauses for rows of one side know the columns of that side alone, so the other side is packed
    into a struct meanwhile.
    """
    whens = {clause.when for clause in clauses}
    judging = _Judging(table, clauses)
    target = [f"{backticked(target_alias)}.{backticked(c.name)}" for c in table.columns]
    rows = judging.judge(joined.withColumn(_SIDE, _side()), "matched", target_alias)
    known = [PLACE, ROW_ID, _SIDE, ACTION]
    rows = rows.select(
        *known,
        *judging.written,
        F.struct(*target).alias(_TARGET_ROW),
        F.struct(f"{backticked(source_alias)}.*").alias(_SOURCE_ROW),
    )
    if "not matched by source" in whens:
        known_now = [*known, *judging.written, _SOURCE_ROW]
        rows = rows.select(*known_now, f"{_TARGET_ROW}.*").alias(target_alias)
        rows = judging.judge(rows, "not matched by source", target_alias)
        rows = rows.select(*known, *judging.written, _SOURCE_ROW)
    if "not matched" in whens:
        known_now = [*known, *judging.written]
        rows = rows.select(*known_now, f"{_SOURCE_ROW}.*").alias(source_alias)
        rows = judging.judge(rows, "not matched", source_alias)
    return rows.where(F.col(ACTION) >= 0).select(PLACE, ROW_ID, ACTION, *judging.written)


def _side() -> Expression:
    """Return which side a joined row has, as an index of the sides.

    Spark moves filters below a join, where they see rows of one side that have a match. It never
    moves a filter past a value that is not deterministic, such as this number, which is never
    negative.
    """
    return (
        F.when(F.monotonically_increasing_id() < 0, -1)
        .when(F.col(PLACE).isNull(), _SIDES.index("not matched"))
        .when(F.col(IN_SOURCE).isNull(), _SIDES.index("not matched by source"))
        .otherwise(_SIDES.index("matched"))
    )


class _Judging:
    """The clauses of a MERGE, and the columns with what they write so far."""

    def __init__(self, table: Table, clauses: Sequence[Clause]) -> None:
        self._table = table
        self._clauses = clauses
        self.written: list[str] = []

    def judge(self, rows: DataFrame, when: When, alias: str) -> DataFrame:
        """Add the action of the rows of one side, and what its clauses write."""
        before = F.col(ACTION) if ACTION in rows.columns else F.lit(-1)
        is_mine = F.col(_SIDE) == _SIDES.index(when)
        rows = rows.withColumn(ACTION, F.when(is_mine, self._action(when)).otherwise(before))
        new = {}
        for at, clause in enumerate(self._clauses):
            if clause.when == when and clause.then in ("update", "insert"):
                values = self._values(clause, alias)
                new[written(at)] = F.when(F.col(ACTION) == at, F.struct(*values))
        self.written += new
        return rows.withColumns(new) if new else rows

    def _values(self, clause: Clause, alias: str) -> list[Expression]:
        if clause.then == "update":
            return new_values(self._table, clause.values, alias)
        given = values_by_id(self._table, clause.values)
        columns = (c for c in self._table.columns if c.id in given)
        return [expression(given[c.id]).alias(c.name) for c in columns]

    def _action(self, when: When) -> Expression:
        """The number of the first clause that applies to a row of a side, -1 for none."""
        action = F.lit(-1)
        for at, clause in reversed(list(enumerate(self._clauses))):
            if clause.when == when:
                applies = F.lit(True)
                if clause.condition is not None:
                    applies = applies & expression(clause.condition)
                action = F.when(applies, self._acting(at, clause)).otherwise(action)
        return action

    def _acting(self, at: int, clause: Clause) -> Expression:
        if clause.then == "do nothing":
            return F.lit(-1)
        if clause.then == "error":
            message = clause.message or f"MERGE into {self._table.name}: a row is {clause.when}"
            return F.raise_error(F.lit(message)).cast("int")
        return F.lit(at)


def written(at: int) -> str:
    """Return the name of the column with what a clause writes."""
    return f"_ducklake_written_{at}"


def new_values(table: Table, values: Values, alias: str | None = None) -> list[Expression]:
    """Return every column of the table: unchanged, unless there is a new value for it."""
    given = values_by_id(table, values)
    prefix = f"{backticked(alias)}." if alias else ""
    return [
        expression(given.get(c.id, F.col(f"{prefix}{backticked(c.name)}"))).alias(c.name)
        for c in table.columns
    ]


def values_by_id(table: Table, values: Values) -> dict[int, Expression | str]:
    """Return the values by the ids of their columns."""
    columns = {fold(column.name): column.id for column in table.columns}
    return {columns.get(fold(n)) or table.column(n).id: value for n, value in values.items()}


def expression(value: Expression | str) -> Expression:
    """Return SQL text as an expression."""
    return F.expr(value) if isinstance(value, str) else value
