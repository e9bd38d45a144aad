"""A whole lake at every snapshot, as our client reads it and as DuckDB does, for comparison."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import unified_diff
from pprint import pformat
from typing import Any

import duckdb

from ducklake_spark.catalog import Catalog, SnapshotReader
from ducklake_spark.spec.changes import Change, ChangeKind
from ducklake_spark.spec.model import Column, Commit, Default, Macro, Table, View
from ducklake_spark.spec.names import QualifiedName, quote, split_identifier
from ducklake_spark.spec.types import parse_type
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.reader import Row, duck_rows_with_ids, read_rows_with_ids
from support.shared_duck import SharedDuck

Named = dict[tuple[str, str], Any]

_NAME = r'(?:"(?:[^"]|"")*"|[^\s",()]+)'
_VIEW = re.compile(rf"CREATE VIEW {_NAME} (?:\(({_NAME}(?:, {_NAME})*)\) )?AS (.*);", re.DOTALL)
_DUCK_CHANGES = {
    "schemas_created": ChangeKind.CREATED_SCHEMA,
    "schemas_dropped": ChangeKind.DROPPED_SCHEMA,
    "tables_created": ChangeKind.CREATED_TABLE,
    "tables_dropped": ChangeKind.DROPPED_TABLE,
    "tables_altered": ChangeKind.ALTERED_TABLE,
    "tables_inserted_into": ChangeKind.INSERTED_INTO_TABLE,
    "tables_deleted_from": ChangeKind.DELETED_FROM_TABLE,
    "views_created": ChangeKind.CREATED_VIEW,
    "views_dropped": ChangeKind.DROPPED_VIEW,
    "views_altered": ChangeKind.ALTERED_VIEW,
    "flushed_inlined": ChangeKind.INLINE_FLUSH,
    "scalar_macros_created": ChangeKind.CREATED_SCALAR_MACRO,
    "scalar_macros_dropped": ChangeKind.DROPPED_SCALAR_MACRO,
    "table_macros_created": ChangeKind.CREATED_TABLE_MACRO,
    "table_macros_dropped": ChangeKind.DROPPED_TABLE_MACRO,
}
_NAMED = {
    ChangeKind.CREATED_TABLE,
    ChangeKind.CREATED_VIEW,
    ChangeKind.CREATED_SCALAR_MACRO,
    ChangeKind.CREATED_TABLE_MACRO,
}


@dataclass
class LakeState:
    """What a reader sees at one snapshot; tables, views and macros by schema and name."""

    schemas: list[str] = field(default_factory=list)
    tables: Named = field(default_factory=dict)
    views: Named = field(default_factory=dict)
    macros: Named = field(default_factory=dict)
    files: Named = field(default_factory=dict)
    rows: dict[tuple[str, str], list[tuple[int, Row]]] = field(default_factory=dict)


def our_states(lake: LakeAddress) -> dict[int, LakeState]:
    """Return what our client sees of a lake at every snapshot."""
    with kept_open(lake), lake.open(read_only=True) as catalog:
        commits = catalog.commits()
        tables = {c.snapshot.id: _our_tables(catalog.at(c.snapshot)) for c in commits}
        return {c.snapshot.id: _our_state(catalog, c, tables[c.snapshot.id]) for c in commits}


def assert_read_alike(lake: LakeAddress) -> dict[int, LakeState]:
    """Our client and DuckDB see the same lake at every snapshot; returns what they see."""
    with kept_open(lake), lake.open(read_only=True) as catalog:
        commits = catalog.commits()
        tables = {c.snapshot.id: _our_tables(catalog.at(c.snapshot)) for c in commits}
        ours = {c.snapshot.id: _our_state(catalog, c, tables[c.snapshot.id]) for c in commits}
        _assert_found_by_time(catalog, commits)
    _assert_same_definitions(lake, commits, ours)
    with SharedDuck(lake) as duck:
        duck.run("BEGIN")  # what DuckDB knows of the catalog, it forgets with a transaction
        assert_same("commits", [_commit(commit) for commit in commits], _duck_commits(duck))
        for version, state in ours.items():
            for name, table in tables[version].items():
                place = f"of {name} at {version}"
                source = f"{duck.name}.{quote(name[0])}.{quote(name[1])} AT (VERSION => {version})"
                if name not in state.rows:
                    continue
                rows = duck_rows_with_ids(duck, table, source)
                assert_same(f"rows {place}", state.rows[name], rows)
                assert_same(f"files {place}", state.files[name], _duck_files(duck, name, version))
        duck.run("COMMIT")
    return ours


@contextmanager
def kept_open(lake: LakeAddress) -> Iterator[None]:
    """Spares our client, which opens a DuckDB file anew for every question, most of the work."""
    if lake.kind != "duckdb":
        yield
        return
    with duckdb.connect(lake.catalog, read_only=True):
        yield


def _assert_same_definitions(
    lake: LakeAddress, commits: list[Commit], ours: dict[int, LakeState]
) -> None:
    known: dict[int, dict[str, Any]] = {}
    for snapshot in (commit.snapshot for commit in commits):
        # Snapshots of one schema version have the same definitions: DuckDB itself counts on it.
        if snapshot.schema_version not in known:
            with SharedDuck(lake, snapshot.id) as duck:
                known[snapshot.schema_version] = _definitions(_duck_definitions(duck))
        what, theirs = f"definitions at {snapshot.id}", known[snapshot.schema_version]
        assert_same(what, _definitions(ours[snapshot.id]), theirs)


def _definitions(state: LakeState) -> dict[str, Any]:
    return {
        "schemas": state.schemas,
        "tables": state.tables,
        "views": state.views,
        "macros": state.macros,
    }


def assert_same(what: str, ours: object, theirs: object) -> None:
    """Equality that says what differs, and shows no more than that."""
    if ours != theirs:
        texts = (pformat(side, width=120).splitlines() for side in (theirs, ours))
        shown = list(unified_diff(*texts, "DuckDB", "ours", lineterm="", n=1))
        raise AssertionError("\n".join([f"{what} differ:", *shown[:60]]))


def row_counts(states: dict[int, LakeState], name: str = "t") -> list[int]:
    """How many rows a table of the schema main has at each snapshot."""
    return [len(state.rows.get(("main", name), [])) for state in states.values()]


# --- ours ---


def _our_tables(reader: SnapshotReader) -> dict[tuple[str, str], Table]:
    entries = [entry for schema in reader.schemas() for entry in reader.tables(schema.name)]
    return {(e.name.schema, e.name.name): reader.table(e.name) for e in entries}


def _our_state(catalog: Catalog, commit: Commit, tables: dict[tuple[str, str], Table]) -> LakeState:
    reader = catalog.at(commit.snapshot.id)
    state = LakeState(schemas=sorted(schema.name for schema in reader.schemas()))
    for schema in state.schemas:
        state.views |= {(schema, v.name.name): _view(v) for v in reader.views(schema)}
        state.macros |= {(schema, m.name.name): _macro(m) for m in reader.macros(schema)}
    for name, table in tables.items():
        state.tables[name] = (table.comment, [_column(column) for column in table.columns])
        # Where DuckDB's flush left a file with two delete files, DuckDB shows its rows twice.
        if not any(file.further_deletes for file in reader.files(table)):
            state.rows[name] = read_rows_with_ids(reader, table)
        state.files[name] = _our_files(reader, table)
    return state


def _column(column: Column) -> tuple[Any, ...]:
    default = _default(column.default)
    return column.name, str(column.type), column.nullable, default, column.comment


def _default(default: Default) -> str | None:
    if default.is_none or default.value is None:
        return None
    if default.kind == "expression":
        return default.value
    return "'" + default.value.replace("'", "''") + "'"


def _view(view: View) -> tuple[str, tuple[str, ...], str | None]:
    return view.sql, view.column_aliases, view.comment


def _macro(macro: Macro) -> list[tuple[str, list[str], str]]:
    return sorted(
        ("macro" if i.kind == "scalar" else "table_macro", [p.name for p in i.parameters], i.sql)
        for i in macro.implementations
    )


def _our_files(reader: SnapshotReader, table: Table) -> list[tuple[Any, ...]]:
    return sorted(
        (
            (file.path, file.file_size_bytes, file.footer_size)
            + (
                (None, None, None)
                if (d := file.delete_file) is None
                else (d.path, d.file_size_bytes, d.footer_size)
            )
            for file in reader.files(table)
        ),
        key=repr,
    )


def _commit(commit: Commit) -> tuple[Any, ...]:
    snapshot = commit.snapshot
    changes = sorted(str(change) for change in commit.changes)
    said = (commit.author, commit.message, commit.extra_info)
    return snapshot.id, snapshot.time, snapshot.schema_version, changes, *said


def _assert_found_by_time(catalog: Catalog, commits: list[Commit]) -> None:
    for commit in commits:
        found = catalog.snapshot(timestamp=commit.snapshot.time)
        newest = max(c.snapshot.id for c in commits if c.snapshot.time <= commit.snapshot.time)
        assert found.id == newest
        assert catalog.at(commit.snapshot.id).snapshot == commit.snapshot


# --- DuckDB's ---


def _duck_commits(duck: Oracle) -> list[tuple[Any, ...]]:
    rows = duck.rows(
        "SELECT snapshot_id, snapshot_time, schema_version, changes, author, commit_message, "
        f"commit_extra_info FROM {duck.name}.snapshots() ORDER BY snapshot_id"
    )
    return [(*row[:3], _duck_changes(row[3]), *row[4:]) for row in rows]


def _duck_changes(changes: dict[str, list[str]]) -> list[str]:
    return sorted(
        str(_duck_change(kind, target)) for kind, targets in changes.items() for target in targets
    )


def _duck_change(kind: str, target: str) -> Change:
    known = _DUCK_CHANGES.get(kind) or ChangeKind(kind)
    if known in _NAMED:
        return Change(known, QualifiedName.parse(target))
    return Change(known, target if known is ChangeKind.CREATED_SCHEMA else int(target))


def _duck_definitions(duck: Oracle) -> LakeState:
    def listed(columns: str, function: str) -> list[tuple[Any, ...]]:
        own = f"database_name = '{duck.name}' AND NOT internal"
        return duck.rows(f"SELECT {columns} FROM {function}() WHERE {own}")

    columns = defaultdict(list)
    for schema, table, _, column, kind, nullable, default, comment in sorted(
        listed(
            "schema_name, table_name, column_index, column_name, data_type, is_nullable, "
            "column_default, comment",
            "duckdb_columns",
        )
    ):
        default = None if default == "NULL" else default
        columns[schema, table].append((column, str(parse_type(kind)), nullable, default, comment))
    state = LakeState(schemas=sorted(row[0] for row in listed("schema_name", "duckdb_schemas")))
    for schema, table, comment in listed("schema_name, table_name, comment", "duckdb_tables"):
        state.tables[schema, table] = (comment, columns[schema, table])
    for schema, view, sql, comment in listed(
        "schema_name, view_name, sql, comment", "duckdb_views"
    ):
        state.views[schema, view] = (*_view_parts(sql), comment)
    macros = defaultdict(list)
    for schema, macro, kind, parameters, sql in listed(
        "schema_name, function_name, function_type, parameters, macro_definition",
        "duckdb_functions",
    ):
        macros[schema, macro].append((kind, parameters, sql))
    state.macros = {key: sorted(found) for key, found in macros.items()}
    return state


def _view_parts(statement: str) -> tuple[str, tuple[str, ...]]:
    match = _VIEW.fullmatch(statement)
    assert match is not None, statement
    aliases = re.findall(_NAME, match[1] or "")
    return match[2], tuple(part for alias in aliases for part in split_identifier(alias))


def _duck_files(duck: Oracle, name: tuple[str, str], version: int) -> list[tuple[Any, ...]]:
    schema, table = (part.replace("'", "''") for part in name)
    rows = duck.rows(
        "SELECT data_file, data_file_size_bytes, data_file_footer_size, "
        "delete_file, delete_file_size_bytes, delete_file_footer_size "
        f"FROM ducklake_list_files('{duck.name}', '{table}', schema => '{schema}', "
        f"snapshot_version => {version})"
    )
    return sorted(rows, key=repr)
