"""Which tables an operation is about."""

from __future__ import annotations

from collections.abc import Iterator

from ducklake_spark.catalog import LakeReader
from ducklake_spark.spec.model import Schema, Table
from ducklake_spark.spec.names import QualifiedName


def named(table_name: str, schema: str | None) -> QualifiedName:
    """A table by its bare name in a schema, or without one by `name` or `schema.name`."""
    if schema is not None:
        return QualifiedName(schema, table_name)
    return QualifiedName.parse(table_name)


def schemas_of(reader: LakeReader, schema: str | None) -> list[Schema]:
    """The schema of that name, or all of them."""
    return reader.schemas() if schema is None else [reader.schema(schema)]


def tables_of(
    reader: LakeReader, table_name: str | None = None, schema: str | None = None
) -> Iterator[Table]:
    """The table of that name, or all tables of a schema, or all of the lake."""
    if table_name is not None:
        yield reader.table(named(table_name, schema))
        return
    for found in schemas_of(reader, schema):
        for entry in reader.tables(found.name):
            yield reader.table(entry.name)
