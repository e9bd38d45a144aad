"""Reads views and macros at a snapshot."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from ducklake_spark.catalog.definitions import SCHEMA, grouped, named, visible, with_tags
from ducklake_spark.catalog.versions import current_format
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import (
    COMMENT,
    Macro,
    MacroImplementation,
    MacroParameter,
    Schema,
    View,
)
from ducklake_spark.spec.names import QualifiedName, fold

_VIEW_NAMED = named(tables.view, "view_id", "view_name")
_VIEWS = (
    with_tags(tables.view, tables.tag, tables.tag.c.object_id == tables.view.c.view_id)
    .where(tables.view.c.schema_id == SCHEMA)
    .order_by(tables.view.c.view_id)
)


_VIEW_COLUMN_TAGS = select(
    tables.view_column_tag.c.view_id,
    tables.view_column_tag.c.column_name,
    tables.view_column_tag.c.key,
    tables.view_column_tag.c.value,
).where(visible(tables.view_column_tag))


def list_views(connection: Connection, snapshot_id: int, schema: Schema) -> list[View]:
    parameters = {"snapshot_id": snapshot_id, "schema_id": schema.id}
    found = grouped(connection.execute(_VIEWS, parameters), "view_id")
    comments = _view_column_comments(connection, snapshot_id)
    return [_view(row, schema, tags | comments[row.view_id]) for row, tags in found]


def _view_column_comments(connection: Connection, snapshot_id: int) -> Mapping[int, dict[str, str]]:
    """Return the comments of the columns of views, by view, as tags of the views.

    Version 1.0 has no place for them, so dbt-ducklake keeps them there as tags.
    """
    found: defaultdict[int, dict[str, str]] = defaultdict(dict)
    if current_format(connection).has_view_columns:
        for row in connection.execute(_VIEW_COLUMN_TAGS, {"snapshot_id": snapshot_id}):
            if row.key == COMMENT and row.value is not None:
                found[row.view_id][View.column_key(row.column_name)] = row.value
    return found


def find_view(connection: Connection, snapshot_id: int, schema: Schema, name: str) -> View | None:
    parameters = {"snapshot_id": snapshot_id, "schema_id": schema.id, "name": name}
    for row, tags in grouped(connection.execute(_VIEW_NAMED, parameters), "view_id"):
        if fold(row.view_name) == fold(name):
            comments = _view_column_comments(connection, snapshot_id)
            return _view(row, schema, tags | comments[row.view_id])
    return None


def _view(row: Row[Any], schema: Schema, tags: Mapping[str, str]) -> View:
    aliases = row.column_aliases
    return View(
        id=row.view_id,
        uuid=row.view_uuid,
        schema_id=schema.id,
        name=QualifiedName(schema.name, row.view_name),
        sql=row.sql,
        dialect=row.dialect,
        column_aliases=parse_aliases(aliases) if aliases else (),
        tags=tags,
        begin_snapshot=row.begin_snapshot,
    )


_ALIAS = re.compile(r'"(?:[^"]|"")*"|[^,"\s][^,"]*')


def parse_aliases(text: str) -> tuple[str, ...]:
    """The names in ``"a","b c"``, which other clients may write without quotes."""
    return tuple(_bare(alias.strip()) for alias in _ALIAS.findall(text))


def _bare(alias: str) -> str:
    return alias[1:-1].replace('""', '"') if alias.startswith('"') else alias


_MACROS = (
    with_tags(tables.macro, tables.tag, tables.tag.c.object_id == tables.macro.c.macro_id)
    .where(tables.macro.c.schema_id == SCHEMA)
    .order_by(tables.macro.c.macro_id)
)


def list_macros(connection: Connection, snapshot_id: int, schema: Schema) -> list[Macro]:
    rows = connection.execute(_MACROS, {"snapshot_id": snapshot_id, "schema_id": schema.id}).all()
    return [
        Macro(
            id=row.macro_id,
            schema_id=schema.id,
            name=QualifiedName(schema.name, row.macro_name),
            implementations=_implementations(connection, row.macro_id),
            tags=tags,
        )
        for row, tags in grouped(rows, "macro_id")
    ]


def _implementations(connection: Connection, macro_id: int) -> tuple[MacroImplementation, ...]:
    i, p = tables.macro_impl, tables.macro_parameters
    parameters: defaultdict[int, list[MacroParameter]] = defaultdict(list)
    for row in connection.execute(
        select(p).where(p.c.macro_id == macro_id).order_by(p.c.impl_id, p.c.column_id)
    ):
        parameters[row.impl_id].append(
            MacroParameter(
                row.parameter_name, row.parameter_type, row.default_value, row.default_value_type
            )
        )
    rows = connection.execute(select(i).where(i.c.macro_id == macro_id).order_by(i.c.impl_id))
    return tuple(
        MacroImplementation(row.dialect, row.sql, row.type, tuple(parameters[row.impl_id]))
        for row in rows
    )
