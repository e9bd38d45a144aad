"""The columns of what a view reads, for whoever must know their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ducklake_spark.catalog import find_schema
from ducklake_spark.scan import shown_type
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.sql.column_types import Columns
from ducklake_spark.sql.workspace import Relation

if TYPE_CHECKING:
    from ducklake_spark.sql.scope import Scope


def columns_for(scope: Scope, home: str, schema: str | None = None) -> Columns:
    """Return the function that lists the columns of a relation that a view names.

    `home` is the lake of the view. Names without a schema are those of `schema`.
    """

    def columns(parts: Sequence[str]) -> Mapping[str, str] | None:
        if len(parts) == 1 and schema is not None:
            parts = (schema, *parts)
        lake = home if len(parts) == 2 else scope.workspace.lake_named(parts[0])
        if lake is None or len(parts) not in (2, 3):
            return None
        relation = Relation(lake, QualifiedName(*parts[-2:]))
        key = (relation, scope.reader(lake).snapshot.id)
        if key not in scope.shapes:
            scope.shapes[key] = _columns(scope, relation)
        return scope.shapes[key]

    return columns


def _columns(scope: Scope, relation: Relation) -> Mapping[str, str] | None:
    reader = scope.reader(relation.lake)
    if find_schema(reader, relation.name.schema) is None:
        return None
    if (table := reader.find_table(relation.name)) is not None:
        return {column.name: shown_type(column).simpleString() for column in table.columns}
    if (view := reader.find_view(relation.name)) is not None:
        fields = scope.view_rows(relation, view, reader).schema.fields
        return {field.name: field.dataType.simpleString() for field in fields}
    return None
