"""Faults of what holds for the lake as a whole: its keys, facts and options."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Table, func, select

from ducklake_spark.catalog.faults.check import FROM_A_BACKUP, LAKE, Finder, Scope
from ducklake_spark.catalog.options import FACTS
from ducklake_spark.catalog.versions import current_format
from ducklake_spark.errors import ConfigError
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.options import OPTION_NAMES, normalise_option

_WITH_KEYS: tuple[Table, ...] = (
    tables.snapshot,
    tables.snapshot_changes,
    tables.schema,
    tables.data_file,
    tables.delete_file,
)


def missing_keys(scope: Scope) -> Iterator[Fault]:
    """Two engines notice that they commit at once by a primary key alone (rule 15)."""
    if scope.ids is not None:
        return
    for table in _WITH_KEYS:
        (key,) = table.primary_key.columns
        if not scope.database.has_primary_key(scope.connection, table.name):
            yield Fault(
                Severity.ERROR,
                "primary-key-missing",
                LAKE,
                f"{table.name} has no primary key, so two commits at once overwrite each other.",
                f"Let nobody write, and run: "
                f"ALTER TABLE {table.name} ADD PRIMARY KEY ({key.name}).",
            )
            yield from _duplicates(scope, table)


def _duplicates(scope: Scope, table: Table) -> Iterator[Fault]:
    (key,) = table.primary_key.columns
    twice = select(key, func.count().label("rows")).group_by(key).having(func.count() > 1)
    for row in scope.connection.execute(twice):
        yield Fault(
            Severity.ERROR,
            "duplicate-id",
            LAKE,
            f"{table.name} has {row.rows} rows with {key.name} {row[0]}.",
            FROM_A_BACKUP,
        )


def lake_facts(scope: Scope) -> Iterator[Fault]:
    """Each fact of the lake is said once."""
    m = tables.metadata_table.c
    rows = scope.connection.execute(select(m.key).where(m.scope.is_(None), m.key.in_(FACTS))).all()
    keys = [row.key for row in rows]
    for fact in sorted(FACTS - {"created_by"}):
        if scope.ids is None and keys.count(fact) != 1:
            yield Fault(
                Severity.ERROR,
                "lake-fact",
                LAKE,
                f"ducklake_metadata has {keys.count(fact)} rows for {fact!r}, where one belongs.",
                FROM_A_BACKUP,
            )


def options(scope: Scope) -> Iterator[Fault]:
    """Options have a known name, a value that means something, and something they hold for."""
    m = tables.metadata_table
    for row in scope.connection.execute(select(m).where(m.c.key.not_in(FACTS))):
        if not (scope.ids is None if row.scope is None else scope.covers(row.scope_id)):
            continue
        relation = scope.name(row.scope_id)
        if row.scope not in (None, "schema", "table"):
            problem = f"The option {row.key} has the scope {row.scope!r}: DuckDB cannot attach."
            advice = "Delete its row from ducklake_metadata."
            yield Fault(Severity.ERROR, "option-scope", relation, problem, advice)
        elif not current_format(scope.connection).is_writable:
            continue  # its options may be others, and cannot be set from here
        elif row.key not in OPTION_NAMES:
            problem = f"There is no option {row.key!r}; nobody heeds its value {row.value!r}."
            advice = "Remove it, or upgrade: it may be one of a newer version."
            yield Fault(Severity.WARNING, "option-unknown", relation, problem, advice)
        else:
            try:
                normalise_option(row.key, row.value)
            except ConfigError as error:
                advice = f"Set it again with CALL lake.set_option('{row.key}', …). {error.hint}"
                yield Fault(Severity.ERROR, "option-value", relation, error.message, advice)


FINDERS: tuple[Finder, ...] = (missing_keys, lake_facts, options)
