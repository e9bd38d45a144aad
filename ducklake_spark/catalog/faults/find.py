"""Runs the checks of the catalog in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, select

from ducklake_spark.catalog.dialects import CatalogDatabase
from ducklake_spark.catalog.faults import (
    counts,
    data_files,
    definitions,
    deletes,
    history,
    inlined,
    lifetimes,
    partitions,
    paths,
    references,
    settings,
    statistics,
)
from ducklake_spark.catalog.faults.check import Finder, Scope
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault
from ducklake_spark.spec.names import QualifiedName, fold

_FINDERS: tuple[Finder, ...] = (
    *settings.FINDERS,
    *history.FINDERS,
    *lifetimes.FINDERS,
    *references.FINDERS,
    *definitions.FINDERS,
    *data_files.FINDERS,
    *deletes.FINDERS,
    *partitions.FINDERS,
    *counts.FINDERS,
    *statistics.FINDERS,
    *inlined.FINDERS,
    *paths.FINDERS,
)


def find_faults(
    connection: Connection,
    database: CatalogDatabase,
    data_path: str,
    *,
    schema: str | None = None,
    table: str | None = None,
) -> Iterator[Fault]:
    """What is wrong in the catalog, or with one schema or table of it, past ones included."""
    names = relation_names(connection)
    ids = None
    if schema is not None:
        wanted = fold(schema) if table is None else QualifiedName(schema, table).folded
        ids = frozenset(
            i for i, name in names.items() if wanted in (name.folded, fold(name.schema))
        )
    shown = {i: str(name) if name.name else name.schema for i, name in names.items()}
    scope = Scope(connection, database, data_path, shown, ids)
    for find in _FINDERS:
        yield from find(scope)


def relation_names(connection: Connection) -> dict[int, QualifiedName]:
    """The newest name of everything that ever had an id; that of a schema has no second part."""
    s = tables.schema.c
    query = select(s.schema_id, s.schema_name)
    schemas: dict[int, str] = {row.schema_id: row.schema_name for row in connection.execute(query)}
    found = {i: QualifiedName(name, "") for i, name in schemas.items()}
    for stored, kind in ((tables.table, "table"), (tables.view, "view"), (tables.macro, "macro")):
        c = stored.c
        named = select(c[f"{kind}_id"], c.schema_id, c[f"{kind}_name"]).order_by(c.begin_snapshot)
        rows: Iterable[Any] = connection.execute(named)
        for object_id, schema_id, name in rows:
            found[object_id] = QualifiedName(schemas.get(schema_id, f"schema {schema_id}"), name)
    return found
