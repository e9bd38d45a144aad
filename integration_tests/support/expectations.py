"""A model of a lake at each snapshot, and the questions whose answers DuckDB must give like it."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from ducklake_spark.catalog import Catalog, SnapshotReader
from ducklake_spark.spec.model import Table
from ducklake_spark.spec.names import QualifiedName, quote
from ducklake_spark.spec.types import parse_type
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.reader import duck_rows_with_ids, read_rows_with_ids

Values = tuple[Any, ...]
_COMPARABLE = (int, float, str, Decimal, datetime.date)


@dataclass(frozen=True)
class Rel:
    """A table or view: its columns and rows."""

    columns: tuple[str, ...]
    rows: tuple[Values, ...]

    def with_rows(self, rows: Iterable[Values]) -> Rel:
        return replace(self, rows=tuple(rows))

    def values(self, column: str) -> list[Any]:
        at = self.columns.index(column)
        return sorted(row[at] for row in self.rows if row[at] is not None)


def rel(columns: str, *rows: Values) -> Rel:
    return Rel(tuple(columns.split()), rows)


@dataclass(frozen=True)
class State:
    """A lake at one snapshot; relations by their names as SQL writes them."""

    schemas: frozenset[str] = frozenset({"main"})
    relations: Mapping[str, Rel] = field(default_factory=dict)
    # DuckDB cannot filter versions from before a promotion: their types are not its statistics'.
    has_filters: bool = True

    def named(self, name: str) -> Rel:
        found = (rel for other, rel in self.relations.items() if parts(other) == parts(name))
        return next(found)

    def changed(self, schemas: Iterable[str] | None, relations: Mapping[str, Rel | None]) -> State:
        kept = {**self.relations, **relations}
        return State(
            self.schemas if schemas is None else frozenset({"main", *schemas}),
            {name: found for name, found in kept.items() if found is not None},
        )


def assert_holds(duck: Oracle, state: State) -> None:
    """The newest snapshot is the state."""
    listed = duck.rows("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'lake'")
    assert {row[0] for row in listed} == state.schemas
    assert _relations(duck) == {parts(name) for name in state.relations}
    for name, known in state.relations.items():
        assert_rows(duck, name, known)
        assert_statistics(duck, name, known)


def parts(name: str) -> tuple[str, str]:
    parsed = QualifiedName.parse(name)
    return parsed.schema, parsed.name


_OF_LAKE = "WHERE database_name = 'lake' AND NOT internal"


def _relations(duck: Oracle) -> set[Values]:
    return set(
        duck.rows(
            f"SELECT schema_name, table_name FROM duckdb_tables() {_OF_LAKE} "
            f"UNION ALL SELECT schema_name, view_name FROM duckdb_views() {_OF_LAKE}"
        )
    )


def assert_rows(duck: Oracle, source: str, known: Rel) -> None:
    found = duck.connection.execute(f"SELECT * FROM {source}")
    assert tuple(column[0] for column in found.description) == known.columns, source
    assert _bag(found.fetchall()) == _bag(known.rows), source
    assert duck.rows(f"SELECT count(*) FROM {source}") == [(len(known.rows),)], source


def _bag(rows: Iterable[Values]) -> Counter[str]:
    return Counter(map(repr, rows))


# --- answers that come from statistics ---


def assert_statistics(duck: Oracle, source: str, known: Rel) -> None:
    """Filters and extremes of the first columns that have an order."""
    columns = [c for c in known.columns if _is_comparable(known, c) and known.values(c)]
    answers: dict[str, Any] = {}
    for column in columns[:2]:
        name, values = quote(column), known.values(column)
        middle = values[len(values) // 2]
        answers |= {
            f"[min({name}), max({name})]": [values[0], values[-1]],
            f"count(*) WHERE {name} IS NULL": len(known.rows) - len(values),
            f"count(*) WHERE {name} >= {_literal(middle)}": sum(v >= middle for v in values),
            f"count(*) WHERE {name} = {_literal(middle)}": values.count(middle),
        }
    if answers:
        queries = [_scalar(source, question) for question in answers]
        found = duck.rows(f"SELECT {', '.join(queries)}")[0]
        assert dict(zip(answers, found, strict=True)) == answers, source
        first = quote(columns[0])
        ordered = duck.rows(f"SELECT {first} FROM {source} ORDER BY {first} NULLS LAST")
        present = [row[0] for row in ordered if row[0] is not None]
        assert present == known.values(columns[0]), source


def _is_comparable(known: Rel, column: str) -> bool:
    at = known.columns.index(column)
    return all(row[at] is None or isinstance(row[at], _COMPARABLE) for row in known.rows)


def _scalar(source: str, question: str) -> str:
    selected, _, condition = question.partition(" WHERE ")
    return f"(SELECT {selected} FROM {source}{condition and f' WHERE {condition}'})"


def _literal(value: Any) -> str:
    if isinstance(value, bool | int | float | Decimal):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


# --- history ---

# What a table is called at each version.
Names = Mapping[int, str]


def names_of_tables(lake: LakeAddress, versions: Iterable[int]) -> dict[int, Names]:
    """The present tables by id, each with its name at every version since it was created."""
    rows = lake.sql(
        "SELECT t.table_id, s.schema_name, t.table_name, t.begin_snapshot, t.end_snapshot "
        "FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id"
    )
    found: dict[int, dict[int, str]] = {}
    for table_id, schema, table, begin, end in rows:
        visible = (v for v in versions if begin <= v and (end is None or v < end))
        names = dict.fromkeys(visible, _sql(QualifiedName(schema, table)))
        found.setdefault(table_id, {}).update(names)
    return {key: names for key, names in found.items() if max(versions) in names}


def assert_history(duck: Oracle, states: Mapping[int, State], tables: Mapping[int, Names]) -> None:
    """The earlier versions of every present table, and what changed from each to the next."""
    newest = max(states)
    for table_id, names in tables.items():
        for version in names.keys() - {newest}:
            source = f"(FROM {names[version]} AT (VERSION => {version}))"
            known = states[version].named(names[version])
            assert_rows(duck, source, known)
            if states[version].has_filters:
                assert_statistics(duck, source, known)
        _assert_changes(duck, names, states)
        _assert_table_info(duck, table_id, names[newest], newest)


def _assert_changes(duck: Oracle, names: Names, states: Mapping[int, State]) -> None:
    together: Counter[Values] = Counter()
    before: Rel | None = None
    for version, name in sorted(names.items()):
        changes = _changes(duck, name, version, version)
        together.update(row[:3] for row in changes)
        after = states[version].named(name)
        _assert_leads_to(before or after.with_rows(()), changes, after)
        before = after
    whole = _changes(duck, names[max(names)], min(names), max(names))
    assert Counter(row[:3] for row in whole) == together


def _assert_leads_to(before: Rel, changes: list[Values], after: Rel) -> None:
    added = _bag(row[3:] for row in changes if row[2] in ("insert", "update_postimage"))
    gone = _bag(row[3:] for row in changes if row[2] in ("delete", "update_preimage"))
    assert len(before.rows) + added.total() - gone.total() == len(after.rows), changes
    if before.columns == after.columns and changes:
        assert _bag(before.rows) + added - gone == _bag(after.rows), changes


def _changes(duck: Oracle, name: str, first: int, last: int) -> list[Values]:
    schema, table = map(_literal, parts(name))
    return duck.rows(f"FROM ducklake_table_changes('lake', {schema}, {table}, {first}, {last})")


def _assert_table_info(duck: Oracle, table_id: int, name: str, newest: int) -> None:
    files = _list_files(duck, QualifiedName.parse(name), newest)
    (info,) = duck.rows(
        "SELECT file_count, file_size_bytes FROM ducklake_table_info('lake') "
        f"WHERE table_id = {table_id}"
    )
    assert info == (len(files), sum(row[1] for row in files)), name


# --- both clients ---


@dataclass(frozen=True)
class SeenTable:
    """A table as our client reads it."""

    table: Table
    rows: list[Any]
    files: list[Values]


@dataclass(frozen=True)
class Seen:
    """A snapshot as our client reads it."""

    version: int
    commits: list[Values]
    tables: Mapping[str, SeenTable]
    views: Iterable[str]


def look(catalog: Catalog) -> Seen:
    """The newest snapshot."""
    reader = catalog.at()
    schemas = [schema.name for schema in reader.schemas()]
    names = [entry.name for schema in schemas for entry in reader.tables(schema)]
    return Seen(
        reader.snapshot.id,
        [(c.snapshot.id, c.snapshot.schema_version, c.author) for c in catalog.commits()],
        {_sql(name): _look_at(reader, reader.table(name)) for name in names},
        [_sql(view.name) for schema in schemas for view in reader.views(schema)],
    )


def _sql(name: QualifiedName) -> str:
    return f"{quote(name.schema)}.{quote(name.name)}"


def _look_at(reader: SnapshotReader, table: Table) -> SeenTable:
    files = [
        (f.path, f.file_size_bytes, *((d.path, d.file_size_bytes) if (d := f.delete_file) else _NO))
        for f in reader.files(table)
    ]
    return SeenTable(table, read_rows_with_ids(reader, table), sorted(files, key=repr))


_NO = (None, None)


def assert_seen_alike(duck: Oracle, seen: Seen) -> None:
    """DuckDB reads that snapshot as our client did; nothing but rows came since."""
    query = "SELECT snapshot_id, schema_version, author FROM lake.snapshots() ORDER BY ALL"
    assert duck.rows(query)[: len(seen.commits)] == seen.commits
    names = {f"{quote(schema)}.{quote(name)}" for schema, name in _relations(duck)}
    assert names == {*seen.tables, *seen.views}
    for name, ours in seen.tables.items():
        source = f"{name} AT (VERSION => {seen.version})"
        assert _columns(duck, ours.table) == _defined(ours.table), name
        assert duck_rows_with_ids(duck, ours.table, source) == ours.rows, name
        assert _list_files(duck, ours.table.name, seen.version) == ours.files, name


def _defined(table: Table) -> list[Values]:
    return [(c.name, str(c.type), c.nullable, c.comment) for c in table.columns]


def _columns(duck: Oracle, table: Table) -> list[Values]:
    rows = duck.rows(
        "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns() "
        f"WHERE database_name = 'lake' AND schema_name = {_literal(table.name.schema)} "
        f"AND table_name = {_literal(table.name.name)} ORDER BY column_index"
    )
    return [(name, str(parse_type(kind)), *others) for name, kind, *others in rows]


def _list_files(duck: Oracle, name: QualifiedName, version: int) -> list[Values]:
    """Paths and sizes of data files and of their delete files."""
    rows = duck.rows(
        "SELECT data_file, data_file_size_bytes, delete_file, delete_file_size_bytes "
        f"FROM ducklake_list_files('lake', {_literal(name.name)}, "
        f"schema => {_literal(name.schema)}, snapshot_version => {version})"
    )
    return sorted(rows, key=repr)
