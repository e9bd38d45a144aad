"""Reads and compares name mappings: how columns are found in files without field ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import MappedName, NameMapping, Table

_mapping, _name = tables.column_mapping, tables.name_mapping


def read_mappings(connection: Connection, table_id: int) -> dict[int, NameMapping]:
    """All name mappings of a table, by mapping id."""
    rows = connection.execute(
        select(_mapping.c.type, _name)
        .select_from(_mapping.join(_name, _mapping.c.mapping_id == _name.c.mapping_id))
        .where(_mapping.c.table_id == table_id)
        .order_by(_name.c.mapping_id, _name.c.column_id)
    )
    found: defaultdict[int, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        found[row.mapping_id].append(row)
    return {mapping_id: _assemble(rows) for mapping_id, rows in found.items()}


def required_mapping(
    mappings: Mapping[int, NameMapping], mapping_id: int, table: Table
) -> NameMapping:
    """The name mapping of a file; raises CatalogDamagedError where there is none."""
    if mapping_id not in mappings:
        raise CatalogDamagedError(
            f"A data file of {table.name} has the name mapping {mapping_id}, which does not exist: "
            "its columns cannot be found.",
            hint="Its rows in ducklake_name_mapping are lost; restore the catalog from a backup.",
        )
    return mappings[mapping_id]


def _assemble(rows: list[Row[Any]]) -> NameMapping:
    children: defaultdict[int | None, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        children[row.parent_column].append(row)
    columns = tuple(_entry(row, children) for row in children[None])
    return NameMapping(columns, rows[0].type)


def _entry(row: Row[Any], children: Mapping[int | None, list[Row[Any]]]) -> MappedName:
    return MappedName(
        source_name=row.source_name,
        field_id=row.target_field_id,
        children=tuple(_entry(child, children) for child in children.get(row.column_id, ())),
        is_partition=bool(row.is_partition),
    )


def name_mapping_rows(mapping: NameMapping, mapping_id: int) -> list[dict[str, Any]]:
    """The rows of ducklake_name_mapping: ordinals inside the mapping, depth first (1.15)."""
    rows: list[dict[str, Any]] = []
    _append(rows, mapping.columns, None, mapping_id)
    return rows


def _append(
    rows: list[dict[str, Any]],
    entries: tuple[MappedName, ...],
    parent: int | None,
    mapping_id: int,
) -> None:
    for entry in entries:
        ordinal = len(rows)
        rows.append(
            {
                "mapping_id": mapping_id,
                "column_id": ordinal,
                "source_name": entry.source_name,
                "target_field_id": entry.field_id,
                "parent_column": parent,
                "is_partition": entry.is_partition,
            }
        )
        _append(rows, entry.children, ordinal, mapping_id)
