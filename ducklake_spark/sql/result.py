"""What a statement did."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import VariantVal

from ducklake_spark.errors import QueryError
from ducklake_spark.session import Session
from ducklake_spark.sql.failures import SPARK_ERRORS, query_error

_ROW_CHANGES = {"INSERT", "INSERT OVERWRITE", "UPDATE", "DELETE", "MERGE", "TRUNCATE"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement changed. `snapshot_id` is None where no commit was made: nothing changed,
    or the transaction is still open."""

    operation: str
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    files: int = 0
    bytes: int = 0
    snapshot_id: int | None = None
    rows_left_out: int = 0

    @property
    def rows_affected(self) -> int:
        if self.operation == "INSERT OVERWRITE":
            return self.rows_inserted  # like CREATE OR REPLACE TABLE: not what was there before
        return self.rows_inserted + self.rows_updated + self.rows_deleted

    @property
    def is_row_change(self) -> bool:
        """Whether the statement is one that inserts, updates or deletes rows."""
        return self.operation in _ROW_CHANGES

    def frame(self, session: Session) -> DataFrame:
        """The outcome as the one row of a DataFrame."""
        names = [field.name for field in fields(self)]
        values = [getattr(self, name) for name in names]
        names.insert(1, "rows_affected")
        values.insert(1, self.rows_affected)
        types = ["string"] + ["bigint"] * (len(names) - 1)
        schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
        return session.spark.createDataFrame([tuple(values)], schema)


@dataclass(frozen=True, slots=True)
class Result:
    """Rows, or what was changed."""

    session: Session
    rows: DataFrame | None = None
    outcome: Outcome | None = None

    def fetch(self, limit: int) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names of the columns, and at most so many rows as plain values."""
        frame = self.frame
        try:
            rows = frame.limit(limit).collect()
        except SPARK_ERRORS as error:
            raise query_error(error) from error
        except TypeError as error:  # PySpark's own, before any of its rows is ours
            raise QueryError(
                "A map of the result has lists for keys, which Python knows no map with.",
                hint="Show its entries: map_entries(…).",
            ) from error
        return frame.columns, [tuple(map(_plain, row)) for row in rows]

    @property
    def frame(self) -> DataFrame:
        """The rows; of a change its outcome as one row."""
        if self.rows is not None:
            return self.rows
        return (self.outcome or Outcome("")).frame(self.session)


def _plain(value: Any) -> Any:
    """A value without Spark's own classes."""
    match value:
        case Row():
            return {name: _plain(item) for name, item in value.asDict().items()}
        case list():
            return [_plain(item) for item in value]
        case dict():
            pairs = [(_plain(key), _plain(item)) for key, item in value.items()]
            # Python knows no key that can change, as structs and lists can: pairs they stay.
            is_keyed = not any(isinstance(key, (dict, list)) for key, _ in pairs)
            return dict(pairs) if is_keyed else pairs
        case VariantVal():
            return value.toPython()
    return value
