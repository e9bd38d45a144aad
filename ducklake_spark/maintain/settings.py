"""The options of a lake, and the indexes of its catalog."""

from __future__ import annotations

from dataclasses import dataclass

from ducklake_spark.catalog import Catalog, LakeReader, Transaction
from ducklake_spark.maintain.targets import named, tables_of
from ducklake_spark.spec.options import normalise_option, option_key


@dataclass(frozen=True, slots=True)
class OptionRow:
    """An option by its name and the text of its value."""

    option: str
    value: str | None


def options(
    reader: LakeReader, *, table_name: str | None = None, schema: str | None = None
) -> list[OptionRow]:
    """The options in force for the lake, or for a table."""
    table = reader.table(named(table_name, schema)) if table_name is not None else None
    return [OptionRow(name, value) for name, value in sorted(reader.options(table).items())]


def set_option(
    tx: Transaction,
    *,
    option: str,
    value: object,
    schema: str | None = None,
    table_name: str | None = None,
    dry_run: bool = False,
) -> list[OptionRow]:
    """Set an option of the lake, a schema or a table; NULL removes it."""
    stored = None if value is None else normalise_option(option, value)[1]
    table = named(table_name, schema) if table_name is not None else None
    if dry_run:
        list(tables_of(tx, table_name, schema))  # for the names, which may be wrong
    else:
        tx.set_option(option, value, schema=schema, table=table)
    return [OptionRow(option_key(option), stored)]


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An index of the catalog."""

    index: str


def create_indexes(catalog: Catalog, *, dry_run: bool = False) -> list[IndexRow]:
    """Add the indexes that make narrow reads fast, where the catalog lacks them."""
    return [IndexRow(name) for name in catalog.create_indexes(dry_run=dry_run)]
