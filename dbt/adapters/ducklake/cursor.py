"""Statements of a connection, and their rows, as dbt asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame

from ducklake_spark.sql import SPARK_ERRORS, Outcome, query_error, split_statements

if TYPE_CHECKING:
    from dbt.adapters.ducklake.engine import Handle

Row = tuple[Any, ...]


class Cursor:
    """Runs texts of one or more statements; the last one's rows are those to fetch."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._frame: DataFrame | None = None
        self._rows: list[Row] | None = None
        self.outcomes: list[Outcome] = []

    def execute(self, sql: str, bindings: Any = None) -> None:
        if bindings:
            # Nothing of ours sends any: seeds come as a view, all else as text.
            raise NotImplementedError("Statements of dbt-ducklake take no bindings.")
        self._frame, self._rows, self.outcomes = None, None, []
        for statement in split_statements(sql):
            self.run_unfetched()
            if statement.upper() == "COMMIT":
                # dbt sends it before hooks outside the transaction, whether or not one is open.
                self.handle.commit_and_go_on()
                continue
            result = self.handle.lake.execute(statement)
            self._frame = result.rows
            if result.outcome is not None:
                self.outcomes.append(result.outcome)

    def run_unfetched(self) -> None:
        """Have Spark compute the rows of the last statement, which nobody wants.

        It does so only when asked, and a hook that is a query may be there to fail.
        """
        if self._frame is None:
            return
        try:
            self._frame.write.format("noop").mode("overwrite").save()
        except SPARK_ERRORS as error:
            raise query_error(error) from error
        self._frame = None

    @property
    def description(self) -> list[tuple[str, Any]] | None:
        if self._frame is None:
            return []
        return [(field.name, field.dataType.simpleString()) for field in self._frame.schema.fields]

    def fetchall(self) -> list[Row]:
        return self._fetched(None)

    def fetchmany(self, count: int) -> list[Row]:
        return self._fetched(count)

    def fetchone(self) -> Row | None:
        if self._rows is None:
            self._rows = self._fetched(None)
        return self._rows.pop(0) if self._rows else None

    def _fetched(self, count: int | None) -> list[Row]:
        if self._frame is None:
            return []
        frame = self._frame if count is None else self._frame.limit(count)
        try:
            # By Arrow: its times have their zone, and do not turn on where this process runs.
            table = frame.toArrow()
        except SPARK_ERRORS as error:
            raise query_error(error) from error
        columns = [_values(column) for column in table.columns]
        return list(zip(*columns, strict=True))

    def close(self) -> None:
        self._frame = None


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type) and not pa.types.is_nested(column.type.key_type):
        # Which are pairs otherwise, as they stay where Python has no such keys.
        return [None if pairs is None else dict(pairs) for pairs in values]
    return values
