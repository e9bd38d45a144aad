"""The options of a lake, and the indexes of its catalog."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ducklake_spark.catalog import Catalog, LakeReader, Option, Transaction, narrowest
from ducklake_spark.errors import ConfigError
from ducklake_spark.maintain.targets import named, tables_of
from ducklake_spark.spec.moments import is_duration
from ducklake_spark.spec.options import description_of, normalise_option, option_key


@dataclass(frozen=True, slots=True)
class OptionRow:
    """An option by the text of its value, and what it is set for."""

    option_name: str
    description: str | None
    value: str | None
    scope: str
    scope_entry: str | None


def options(
    reader: LakeReader, *, table_name: str | None = None, schema: str | None = None
) -> list[OptionRow]:
    """All options that are set; with a table or a schema, those in force for it."""
    stored = reader.stored_options()
    if table_name is not None or schema is not None:
        stored = list(_in_force(reader, stored, table_name, schema))
    names = _entries(reader)
    rows = (_row(option, names.get((option.scope, option.scope_id))) for option in stored)
    return sorted(rows, key=lambda row: (row.option_name, row.scope, row.scope_entry or ""))


def _in_force(
    reader: LakeReader, stored: Iterable[Option], table_name: str | None, schema: str | None
) -> Iterable[Option]:
    wanted: set[tuple[str | None, int | None]] = {(None, None)}
    if table_name is not None:
        table = reader.table(named(table_name, schema))
        wanted |= {("schema", table.schema_id), ("table", table.id)}
    elif schema is not None:
        wanted.add(("schema", reader.schema(schema).id))
    relevant = (option for option in stored if (option.scope, option.scope_id) in wanted)
    return narrowest(relevant).values()


def _entries(reader: LakeReader) -> dict[tuple[str | None, int | None], str]:
    """The names of all that an option may be set for."""
    names: dict[tuple[str | None, int | None], str] = {}
    for schema in reader.schemas():
        names["schema", schema.id] = schema.name
        for table in reader.tables(schema.name):
            names["table", table.id] = f"{schema.name}.{table.name.name}"
    return names


def _row(option: Option, entry: str | None) -> OptionRow:
    scope = (option.scope or "global").upper()
    return OptionRow(option.key, description_of(option.key), option.value, scope, entry)


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
    key = option_key(option)
    entry = f"{table.schema}.{table.name}" if table is not None else schema
    scope = "TABLE" if table is not None else "GLOBAL" if schema is None else "SCHEMA"
    return [OptionRow(key, description_of(key), stored, scope, entry)]


def set_age(catalog: Catalog, option: str) -> str | None:
    """The duration that an option of the lake is set to; DuckDB stores some that are no age."""
    text = catalog.at().options().get(option)
    if text and not is_duration(text):
        raise ConfigError(
            f"The option {option} of the lake is {text!r}, which is no age.",
            hint=f"Set it anew: CALL lake.set_option('{option}', '7 days').",
        )
    return text or None


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An index of the catalog."""

    index: str


def create_indexes(catalog: Catalog, *, dry_run: bool = False) -> list[IndexRow]:
    """Add the indexes that make narrow reads fast, where the catalog lacks them."""
    return [IndexRow(name) for name in catalog.create_indexes(dry_run=dry_run)]
