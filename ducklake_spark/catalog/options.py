"""Reads DuckLake options: lake-wide, of a schema, of a table; the narrowest one counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import BigInteger, Connection, and_, bindparam, or_, select

from ducklake_spark.spec import tables

Scope = Literal["schema", "table"] | None

# Facts about the lake that share the table with its options.
FACTS = frozenset({"version", "created_by", "data_path", "encrypted"})

_m = tables.metadata_table.c
# No id is NULL, so a scope without one in the parameters has no rows.
_OPTIONS = select(tables.metadata_table).where(
    or_(
        _m.scope.is_(None),
        and_(_m.scope == "schema", _m.scope_id == bindparam("schema_id", type_=BigInteger)),
        and_(_m.scope == "table", _m.scope_id == bindparam("table_id", type_=BigInteger)),
    )
)


@dataclass(frozen=True, slots=True)
class Option:
    """One stored option; `scope_id` is a schema's or table's id."""

    key: str
    value: str
    scope: Scope
    scope_id: int | None


def read_options(
    connection: Connection, *, schema_id: int | None = None, table_id: int | None = None
) -> list[Option]:
    """The lake's options, with those of one schema and one table if asked for."""
    rows = connection.execute(_OPTIONS, {"schema_id": schema_id, "table_id": table_id})
    return [
        Option(row.key, row.value, row.scope, row.scope_id) for row in rows if row.key not in FACTS
    ]


def read_all_options(connection: Connection) -> list[Option]:
    """All that is set anywhere, and the facts about the lake."""
    rows = connection.execute(select(tables.metadata_table))
    return [Option(row.key, row.value, row.scope, row.scope_id) for row in rows]


def narrowest(options: Iterable[Option]) -> dict[str, Option]:
    """Of each option the one that counts: that with the narrowest scope."""
    breadth = {None: 0, "schema": 1, "table": 2}
    ordered = sorted(options, key=lambda option: breadth[option.scope])
    return {option.key: option for option in ordered}


def in_force(options: Iterable[Option]) -> Mapping[str, str]:
    """The values that count."""
    return {key: option.value for key, option in narrowest(options).items()}
