"""Compares the files of a lake with what the catalog says of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ducklake_spark.catalog import Catalog
from ducklake_spark.catalog.inventory import TableFiles
from ducklake_spark.maintain.cleanup import DELETE, age_limit
from ducklake_spark.maintain.data_file_faults import data_file_faults
from ducklake_spark.maintain.delete_file_faults import delete_file_faults
from ducklake_spark.maintain.file_fault import MISSING, FileFault, not_allowed
from ducklake_spark.maintain.orphans import orphaned_files
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.names import QualifiedName, fold
from ducklake_spark.spec.paths import Area

_THREADS = 16  # they wait for the store most of the time


def stored_faults(catalog: Catalog, *, schema: str | None, table: str | None) -> list[Fault]:
    """What is wrong with the files of the lake, or of a schema or table of it."""
    names = catalog.relations()
    found: list[tuple[str, FileFault]] = []
    for files in catalog.table_files():
        name = names.get(files.table_id)  # None: created since the names were read
        if name is not None and _is_wanted(name, schema, table):
            found += [(str(name), fault) for fault in _table_faults(files, catalog.area)]
    faults = [fault.of(relation) for relation, fault in _still_there(catalog, found)]
    return faults + (list(_orphans(catalog)) if schema is None else [])


def _is_wanted(name: QualifiedName, schema: str | None, table: str | None) -> bool:
    return (schema is None or fold(name.schema) == fold(schema)) and (
        table is None or fold(name.name) == fold(table)
    )


def _table_faults(files: TableFiles, area: Area) -> Iterator[FileFault]:
    known = [file for file in files.data_files if area.contains(file.path)]
    with ThreadPoolExecutor(_THREADS) as pool:
        check = partial(data_file_faults, columns=files.columns, next_row_id=files.next_row_id)
        data = pool.map(check, known)
        deletes = pool.map(
            lambda pair: delete_file_faults(*pair),
            [pair for pair in files.delete_files if area.contains(pair[1].path)],
        )
        for found in (*data, *deletes):
            yield from found
    paths = [file.path for file in files.data_files]
    paths += [delete.path for _, delete in files.delete_files]
    yield from (not_allowed(path) for path in paths if not area.contains(path))


def _still_there(
    catalog: Catalog, found: list[tuple[str, FileFault]]
) -> Iterator[tuple[str, FileFault]]:
    """A file may have been expired and removed while this went on."""
    if any(fault.fault == MISSING for _, fault in found):
        current = set[str]()
        for files in catalog.table_files():
            current.update(file.path for file in files.data_files)
            current.update(delete.path for _, delete in files.delete_files)
        found = [
            (r, fault) for r, fault in found if fault.fault != MISSING or fault.path in current
        ]
    yield from found


def _orphans(catalog: Catalog) -> Iterator[Fault]:
    """Report files of stopped writers: no row mentions them, and they are too old for a commit."""
    limit = age_limit(catalog, None, cleanup_all=False)
    for file in orphaned_files(catalog, limit, exclusive_data_path=True):
        if file.action == DELETE and not file.path.endswith("/"):
            yield Fault(
                Severity.WARNING,
                "orphaned-file",
                "the lake",
                f"{file.path} of {file.size_bytes:,} bytes is in the data path, and no snapshot "
                "of this lake knows it: a writer that was stopped left it, or another lake uses "
                "the same folder.",
                "CALL lake.delete_orphaned_files() removes it if this package wrote it for this "
                "lake. If no other lake uses the data path, add exclusive_data_path => true to "
                "remove the files of DuckDB too.",
            )
