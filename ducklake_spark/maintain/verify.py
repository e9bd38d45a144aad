"""A full check of a lake: what its catalog says of itself, and what its files say to that.

It reads and never repairs. Each fault says what to do about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ducklake_spark.catalog import Catalog
from ducklake_spark.errors import NotFoundError
from ducklake_spark.maintain.stored_files import stored_faults
from ducklake_spark.maintain.targets import named
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.names import QualifiedName, fold

# A fault that very many files have is told of so many of them.
_SHOWN = 10


def verify(
    catalog: Catalog,
    *,
    table_name: str | None = None,
    schema: str | None = None,
    files: bool = True,
) -> list[Fault]:
    """What is wrong with the lake, a schema or a table; errors first, and nothing if all is well.

    Without `files` only the catalog is looked at, which takes seconds whatever the size of the
    lake. All snapshots count, not only the newest.
    """
    if table_name is not None:
        name = named(table_name, schema)
        _check_exists(catalog, name)
        schema, table_name = name.schema, name.name
    elif schema is not None:
        catalog.at().schema(schema)
    faults = catalog.faults(schema=schema, table=table_name)
    if files:
        faults += stored_faults(catalog, schema=schema, table=table_name)
    return sorted(_abridged(faults), key=lambda fault: fault.severity is not Severity.ERROR)


def _check_exists(catalog: Catalog, name: QualifiedName) -> None:
    # Not by reading the table: what is wrong with it may be what keeps it from being read.
    near = [entry.name.name for entry in catalog.at().tables(name.schema)]
    if fold(name.name) not in map(fold, near):
        raise NotFoundError(f"Table {name}", near=near, wanted=name.name)


def _abridged(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Of each fault of a relation the first few, and how many more there are."""
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], Fault] = {}
    for fault in faults:
        kind = fault.fault, fault.relation
        counts[kind] += 1
        last[kind] = fault
        if counts[kind] <= _SHOWN:
            yield fault
    for kind, count in counts.items():
        if count > _SHOWN:
            yield replace(last[kind], problem=f"… and {count - _SHOWN:,} more like these.")
