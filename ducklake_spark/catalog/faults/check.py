"""What a check of the catalog is made of, and what it is given to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select

from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity

LAKE = "the lake"
RELATION = "relation_id"
# Databases take only so many parameters.
_MANY = 1_000
FROM_A_BACKUP = "Restore the catalog from a backup."
MAKE_ANEW = (
    "Make the table anew, which gives it statistics of its own: "
    "CREATE OR REPLACE TABLE t AS SELECT * FROM t."
)


# A query whatever its columns, which mypy would have us list.
_Query: TypeAlias = "Select[*tuple[Any, ...]]"


@dataclass(frozen=True, slots=True)
class Scope:
    """What is looked at: the whole lake, or what has one of these ids (tables, their schema)."""

    connection: Connection
    database: CatalogDatabase
    data_path: str
    names: Mapping[int, str]
    ids: frozenset[int] | None = None

    def covers(self, relation_id: int | None) -> bool:
        return self.ids is None or relation_id in self.ids

    def name(self, relation_id: int | None) -> str:
        if relation_id is None:
            return LAKE
        return self.names.get(relation_id, f"object {relation_id}")

    def rows(self, query: _Query) -> Sequence[Row[Any]]:
        """The rows of a query that are about what is looked at, all of them at once: DuckDB
        forgets the rest of a result with the next query.

        A query without a relation is about the lake as a whole.
        """
        if self.ids is None:
            return self.connection.execute(query).all()
        if RELATION not in query.selected_columns:
            return []
        if len(self.ids) > _MANY:
            rows = self.connection.execute(query).all()
            return [row for row in rows if row._mapping[RELATION] in self.ids]
        found = query.subquery()
        narrowed = select(found).where(found.c[RELATION].in_(sorted(self.ids)))
        return self.connection.execute(narrowed).all()


@dataclass(frozen=True, slots=True)
class Check:
    """A query for rows that should not be there, and what is said of each.

    `problem` is a template over the columns of the query; `relation_id` is the column with the id
    of the table, view or schema that has the fault. `keep` decides where SQL cannot, exactly.
    """

    fault: str
    severity: Severity
    query: _Query
    problem: str
    advice: str
    keep: Callable[[Row[Any]], bool] | None = None

    def __call__(self, scope: Scope) -> Iterator[Fault]:
        for row in scope.rows(self.query):
            if self.keep is None or self.keep(row):
                found = row._mapping
                yield Fault(
                    self.severity,
                    self.fault,
                    scope.name(found.get(RELATION)),
                    self.problem.format(**found),
                    self.advice,
                )


# What looks for faults: checks, and functions where a query alone cannot tell.
Finder: TypeAlias = Callable[[Scope], Iterator[Fault]]


def error(fault: str, query: _Query, problem: str, advice: str, **options: Any) -> Check:
    return Check(fault, Severity.ERROR, query, problem, advice, **options)


def warning(fault: str, query: _Query, problem: str, advice: str, **options: Any) -> Check:
    return Check(fault, Severity.WARNING, query, problem, advice, **options)


def of(column: ColumnElement[int]) -> ColumnElement[int]:
    """The column whose id says which relation has the fault."""
    return column.label(RELATION)


def newest_snapshot() -> Any:
    """The id of the newest snapshot, for use in a query."""
    return select(func.max(tables.snapshot.c.snapshot_id)).scalar_subquery()
