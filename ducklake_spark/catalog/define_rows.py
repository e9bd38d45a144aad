"""Changed definitions as rows of the catalog (FORMAT 1.4, 1.6, 1.8, 1.17, 1.18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete

from ducklake_spark.catalog.batch import Batch, differences
from ducklake_spark.catalog.local_changes import Entry, LocalChanges, changed
from ducklake_spark.spec import tables
from ducklake_spark.spec.changes import Change
from ducklake_spark.spec.changes import ChangeKind as Kind
from ducklake_spark.spec.model import Column, Macro, Schema, Table, View
from ducklake_spark.spec.names import QualifiedName, quote
from ducklake_spark.spec.types import DataType, Primitive, parse_type, widens_to


def add_definitions(batch: Batch, changes: LocalChanges) -> None:
    """Collect the rows of all changed schemas, tables, views and options."""
    for _, schema in changed(changes.schemas):
        _add_schema(batch, schema)
    for _, table in changed(changes.tables):
        _add_table(batch, table)
    for _, view in changed(changes.views):
        _add_view(batch, view)
    for _, macro in changed(changes.macros):
        _add_macro(batch, macro)
    for (key, scope, scope_id), value in changes.options.items():
        _add_option(batch, key, scope, scope_id, value)


def _note(batch: Batch, kind: Kind, target: int | str | QualifiedName) -> None:
    batch.changes.append(Change(kind, target))
    batch.changes_schema = True


def _add_schema(batch: Batch, entry: Entry[Schema]) -> None:
    if entry.current is None:
        assert entry.base is not None  # noqa: S101 - else nothing has changed
        _note(batch, Kind.DROPPED_SCHEMA, entry.base.id)
        batch.end(tables.schema, tables.schema.c.schema_id == entry.base.id)
        return
    schema = entry.current
    _note(batch, Kind.CREATED_SCHEMA, schema.name)
    batch.begin(
        tables.schema,
        schema_id=batch.catalog_id(schema.id),
        schema_uuid=schema.uuid,
        schema_name=schema.name,
        path=schema.path.path,
        path_is_relative=schema.path.is_relative,
    )


# --- tables ---

# All that ends with a table.
_PARTS = (
    tables.table,
    tables.column,
    tables.column_tag,
    tables.data_file,
    tables.delete_file,
    tables.partition_info,
    tables.sort_info,
)


def _add_table(batch: Batch, entry: Entry[Table]) -> None:
    before, after = entry.base, entry.current
    if after is None:
        if before is not None:
            _drop_table(batch, before.id)
        return
    table_id = batch.catalog_id(after.id)
    if before is None or before.name != after.name:
        _name_table(batch, before, after, table_id)
    altered = [
        _add_columns(batch, before, after, table_id),
        _add_partition(batch, before, after, table_id),
    ]
    silent = [
        _add_sort(batch, before, after, table_id),
        _add_tags(batch, before, after, table_id),
        _add_column_tags(batch, before, after, table_id),
    ]
    if before is None or before.name != after.name or any(altered):
        version = {"schema_version": batch.head.schema_version + 1}  # this commit changes it
        batch.begin(tables.schema_versions, table_id=table_id, **version)
    # The reference logs layout and comments as changes of their own, also of a new table.
    if any((*altered, *silent)) or (before is None and after.partition_fields):
        _note(batch, Kind.ALTERED_TABLE, table_id)


def _drop_table(batch: Batch, table_id: int) -> None:
    _note(batch, Kind.DROPPED_TABLE, table_id)
    for part in _PARTS:
        batch.end(part, part.c.table_id == table_id)
    batch.end(tables.tag, tables.tag.c.object_id == table_id)


def _name_table(batch: Batch, before: Table | None, after: Table, table_id: int) -> None:
    _note(batch, Kind.CREATED_TABLE, after.name)
    if before is not None:
        batch.end(tables.table, tables.table.c.table_id == table_id)
    batch.begin(
        tables.table,
        table_id=table_id,
        table_uuid=after.uuid,
        schema_id=batch.catalog_id(after.schema_id),
        table_name=after.name.name,
        path=after.path.path,
        path_is_relative=after.path.is_relative,
    )


def _add_columns(batch: Batch, before: Table | None, after: Table, table_id: int) -> bool:
    old = _column_rows(before) if before else {}
    new = _column_rows(after)
    ends, begins = differences(old, new)
    if ends:
        c = tables.column.c
        batch.end(tables.column, c.table_id == table_id, c.column_id.in_(ends))
    gone = [column_id for column_id in ends if column_id not in new]
    if gone:
        c = tables.column_tag.c
        batch.end(tables.column_tag, c.table_id == table_id, c.column_id.in_(gone))
    for column_id in begins:
        batch.begin(tables.column, table_id=table_id, **new[column_id])
    retyped = [i for i in begins if i in old and _misleads(old[i], new[i])]
    if retyped:
        _forget_statistics(batch, table_id, retyped)
    return bool(ends or begins) and before is not None


# Statistics keep the text they were written with, and these texts say something else under the
# new type: 0.1 as a float is not 0.1 as a double, and a time without a zone depends on the reader.
_MISLEADING = {("float32", "float64"), ("timestamp", "timestamptz")}


def _misleads(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    types = old["column_type"], new["column_type"]
    if types[0] == types[1]:
        return False
    # A narrower type, of a rollback, may not even be able to hold them.
    return types in _MISLEADING or not widens_to(parse_type(types[0]), parse_type(types[1]))


def _forget_statistics(batch: Batch, table_id: int, column_ids: list[int]) -> None:
    """Unknown statistics are always safe; wrong ones lose rows (rules 1 and 2)."""
    for stats in (tables.table_column_stats, tables.file_column_stats):
        of_column = (stats.c.table_id == table_id, stats.c.column_id.in_(column_ids))
        batch.statements.append(delete(stats).where(*of_column))


def _column_rows(table: Table) -> dict[int, dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = {}

    def add(column: Column, parent: int | None) -> None:
        rows[column.id] = {
            "column_id": column.id,
            "column_order": column.order,
            "column_name": column.name,
            "column_type": column_type_text(column.type),
            "initial_default": column.initial_default,
            "default_value": column.default.value,
            "nulls_allowed": column.nullable,
            "parent_column": parent,
            "default_value_type": column.default.kind,
            "default_value_dialect": column.default.dialect,
        }
        for child in column.children:
            add(child, column.id)

    for column in table.columns:
        add(column, None)
    return rows


def column_type_text(data_type: DataType) -> str:
    """What column_type holds: nested types by their kind, their parts are rows of their own."""
    return str(data_type) if isinstance(data_type, Primitive) else data_type.name


def _add_partition(batch: Batch, before: Table | None, after: Table, table_id: int) -> bool:
    old = before.partition if before else None
    if after.partition == old or after.partition is None:
        return False
    info = tables.partition_info
    if old is not None:
        batch.end(info, info.c.table_id == table_id)
    partition_id = batch.catalog_id(after.partition.id)
    batch.begin(info, partition_id=partition_id, table_id=table_id)
    for at, key in enumerate(after.partition.fields):
        batch.add(
            tables.partition_column,
            partition_id=partition_id,
            table_id=table_id,
            partition_key_index=at,
            column_id=key.column_id,
            transform=str(key.transform),
        )
    return before is not None


def _add_sort(batch: Batch, before: Table | None, after: Table, table_id: int) -> bool:
    old = before.sort if before else None
    if after.sort == old:
        return False
    info = tables.sort_info
    if old is not None:
        batch.end(info, info.c.table_id == table_id)
    if after.sort is not None:
        # A rename rewrites the expressions under a new id.
        fresh = after.sort.id < 0 or old is None or after.sort.id != old.id
        sort_id = batch.catalog_id(after.sort.id) if fresh else batch.new_catalog_id()
        batch.begin(info, sort_id=sort_id, table_id=table_id)
        for at, key in enumerate(after.sort.keys):
            batch.add(
                tables.sort_expression,
                sort_id=sort_id,
                table_id=table_id,
                sort_key_index=at,
                expression=key.expression,
                dialect=key.dialect,
                sort_direction="DESC" if key.descending else "ASC",
                null_order="NULLS_FIRST" if key.nulls_first else "NULLS_LAST",
            )
    return True


def _add_tags(
    batch: Batch, before: Table | View | None, after: Table | View | Macro, of: int
) -> bool:
    ends, begins = differences(before.tags if before else {}, after.tags)
    t = tables.tag.c
    if ends:
        batch.end(tables.tag, t.object_id == of, t.key.in_(ends))
    for key in begins:
        batch.begin(tables.tag, object_id=of, key=key, value=after.tags[key])
    return bool(ends or begins)


def _add_column_tags(batch: Batch, before: Table | None, after: Table, table_id: int) -> bool:
    old = _tags_by_column(before) if before else {}
    new = _tags_by_column(after)
    kept = {column.id for column in after.walk()}
    ends, begins = differences({k: v for k, v in old.items() if k[0] in kept}, new)
    t = tables.column_tag.c
    for column_id, key in ends:
        batch.end(tables.column_tag, t.table_id == table_id, t.column_id == column_id, t.key == key)
    known = {column.id for column in before.walk()} if before else set()
    for column_id, key in begins:
        if before is not None and column_id not in known:
            # One that comes back, and DuckDB leaves the tags of a dropped column as they are.
            mine = (t.table_id == table_id, t.column_id == column_id, t.key == key)
            batch.end(tables.column_tag, *mine)
        batch.begin(
            tables.column_tag,
            table_id=table_id,
            column_id=column_id,
            key=key,
            value=new[column_id, key],
        )
    return bool(ends or begins)


def _tags_by_column(table: Table) -> Mapping[tuple[int, str], str]:
    return {(c.id, key): value for c in table.walk() for key, value in c.tags.items()}


# --- views and options ---


def _add_view(batch: Batch, entry: Entry[View]) -> None:
    before, after = entry.base, entry.current
    if after is None:
        if before is not None:
            _note(batch, Kind.DROPPED_VIEW, before.id)
            batch.end(tables.view, tables.view.c.view_id == before.id)
            batch.end(tables.tag, tables.tag.c.object_id == before.id)
        return
    view_id = batch.catalog_id(after.id)
    if before is None or before.name != after.name:
        _note(batch, Kind.CREATED_VIEW, after.name)
        _write_view(batch, before, after, view_id)
    if _add_tags(batch, before, after, view_id):
        _note(batch, Kind.ALTERED_VIEW, view_id)


def _write_view(batch: Batch, before: View | None, after: View, view_id: int) -> None:
    if before is not None:
        batch.end(tables.view, tables.view.c.view_id == view_id)
    batch.begin(
        tables.view,
        view_id=view_id,
        view_uuid=after.uuid,
        schema_id=batch.catalog_id(after.schema_id),
        view_name=after.name.name,
        dialect=after.dialect,
        sql=after.sql,
        column_aliases=",".join(quote(alias) for alias in after.column_aliases),
    )


def _add_macro(batch: Batch, entry: Entry[Macro]) -> None:
    before, after = entry.base, entry.current
    if before is not None:
        kind = Kind.DROPPED_TABLE_MACRO if _gives_table(before) else Kind.DROPPED_SCALAR_MACRO
        _note(batch, kind, before.id)
        batch.end(tables.macro, tables.macro.c.macro_id == before.id)
        batch.end(tables.tag, tables.tag.c.object_id == before.id)
    if after is None:
        return
    kind = Kind.CREATED_TABLE_MACRO if _gives_table(after) else Kind.CREATED_SCALAR_MACRO
    _note(batch, kind, after.name)
    macro_id = batch.catalog_id(after.id)
    schema_id = batch.catalog_id(after.schema_id)
    batch.begin(tables.macro, schema_id=schema_id, macro_id=macro_id, macro_name=after.name.name)
    for impl_id, known in enumerate(after.implementations):
        of = {"macro_id": macro_id, "impl_id": impl_id}
        batch.add(tables.macro_impl, **of, dialect=known.dialect, sql=known.sql, type=known.kind)
        for column_id, parameter in enumerate(known.parameters):
            batch.add(
                tables.macro_parameters,
                **of,
                column_id=column_id,
                parameter_name=parameter.name,
                parameter_type=parameter.type,
                default_value=parameter.default,
                default_value_type=parameter.default_type,
            )
    _add_tags(batch, None, after, macro_id)


def _gives_table(macro: Macro) -> bool:
    return any(implementation.kind == "table" for implementation in macro.implementations)


def _add_option(
    batch: Batch, key: str, scope: str | None, scope_id: int | None, value: str | None
) -> None:
    """Options have no history: what is set replaces what was."""
    m = tables.metadata_table.c
    real_id = None if scope_id is None else batch.catalog_id(scope_id)
    same_scope = m.scope.is_(None) if scope is None else m.scope == scope
    same_id = m.scope_id.is_(None) if real_id is None else m.scope_id == real_id
    batch.statements.append(delete(tables.metadata_table).where(m.key == key, same_scope, same_id))
    if value is not None:
        batch.add(tables.metadata_table, key=key, value=value, scope=scope, scope_id=real_id)
