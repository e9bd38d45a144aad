"""The name mapping of files that Spark writes.

Spark could give field ids to columns and struct fields only, and without those of list elements and
map entries DuckDB reads NULL or fails (rules 7 and 8). So it gives none, and a mapping says it all.
"""

from __future__ import annotations

from ducklake_spark.spec.model import Column, MappedName, NameMapping, Table


def mapping_of(table: Table) -> NameMapping:
    """Every column of the table under its own name."""
    return NameMapping(tuple(_mapped(column) for column in table.columns))


def _mapped(column: Column) -> MappedName:
    children = column.children
    # DuckDB matches the one child of a list whatever its name, and calls it so itself.
    if column.type.name == "list":
        element = _mapped(children[0])
        return MappedName(
            column.name,
            column.id,
            (MappedName("list", element.field_id, element.children),),
        )
    return MappedName(column.name, column.id, tuple(_mapped(child) for child in children))
