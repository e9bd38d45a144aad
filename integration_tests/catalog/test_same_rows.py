"""For the same statement we write the rows that DuckDB writes, table by table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.files import add_data_files
from ducklake_spark.spec.names import quote
from support.lakes import KINDS, LakeAddress
from support.shared_duck import SharedDuck
from support.twin_types import HISTORIES, TYPES_AND_VALUES
from support.twins import Row, Rows, Twins

Settle = Callable[[Row], Row | None]


def forget(*columns: str, **where: Any) -> Settle:
    """Leave out columns, in rows with these values."""

    def settle(row: Row) -> Row:
        if any(row[name] != value for name, value in where.items()):
            return row
        return {name: value for name, value in row.items() if name not in columns}

    return settle


def leave_out(**where: Any) -> Settle:
    """Leave out rows with these values."""
    return lambda row: None if all(row[name] == value for name, value in where.items()) else row


def of_nested_fields(row: Row) -> Row:
    if row["parent_column"] is None and row["column_type"] != "struct":
        return row
    return forget("nulls_allowed", "default_value_type")(row)


def of_columns(*types: str, settle: Settle) -> Settle:
    """Settle the rows about columns of some types."""
    return lambda row: settle(row) if row["column"].endswith(types) else row


def without_passing_names(row: Row) -> Row:
    changes = row["changes_made"].replace('created_table:"main"."t__tmp",', "")
    return row | {"changes_made": changes.replace('created_table:"main"."t3",', "")}


@dataclass(frozen=True)
class Difference:
    """Rows that differ on purpose: why, and what makes them equal; None: one has no such row."""

    why: str
    table: str
    settle: Settle
    history: str


EVERYWHERE = "every history"
# Columns in their order with type and nullability, then primary keys.
DEFINITIONS = {
    "sqlite": [
        # SQLite would allow NULL as key; ours says NOT NULL.
        'SELECT m.name, c.cid, c.name, c.type, c."notnull" OR c.pk, c.pk, c.dflt_value '
        "FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'",
    ],
    "postgres": [
        "SELECT table_name, ordinal_position, column_name, data_type, is_nullable, column_default, "
        "character_maximum_length FROM information_schema.columns WHERE table_schema = 'public'",
        "SELECT conname, conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace",
    ],
    "duckdb": [
        "SELECT table_name, column_index, column_name, data_type, is_nullable, column_default "
        "FROM duckdb_columns() WHERE NOT internal",
        "SELECT table_name, constraint_type, constraint_column_names FROM duckdb_constraints()",
    ],
}
ODD_COLUMNS = {
    "s": 'STRUCT(a INTEGER, "B c" VARCHAR[])',
    "m": "MAP(VARCHAR, INTEGER)",
    **dict.fromkeys(("Abc", "Name", "select", "Select it", "ä", "$1"), "INTEGER"),
    **dict.fromkeys(("qualify", "Pivot", "lambda", "show", "describe", "window"), "INTEGER"),
}
BOUNDS = ("min_value", "max_value")
DIFFERENCES = (
    Difference(
        "each client signs the lakes that it creates",
        "ducklake_metadata",
        forget("value", key="created_by"),
        EVERYWHERE,
    ),
    Difference(
        "tables of ours ask DuckDB to write no rows into the catalog",
        "ducklake_metadata",
        leave_out(key="data_inlining_row_limit", scope="table"),
        EVERYWHERE,
    ),
    Difference(
        "a name that a table bears within a commit only is seen by nobody",
        "ducklake_snapshot_changes",
        without_passing_names,
        "tables",
    ),
    Difference(
        "DuckDB puts NULL in place of a removed comment, we just end it",
        "ducklake_tag",
        leave_out(value=None),
        "tables",
    ),
    Difference(
        "as for tables",
        "ducklake_column_tag",
        leave_out(value=None),
        "tables",
    ),
    Difference(
        "we end the comment of a column that is dropped, DuckDB lets it dangle",
        "ducklake_column_tag",
        forget("end_snapshot", value="goes"),
        "columns",
    ),
    Difference(
        "what DuckDB says here of fields that ALTER touched varies, and nobody reads it",
        "ducklake_column",
        of_nested_fields,
        "nested columns",
    ),
    Difference(
        "we write a literal in the type of its column, DuckDB as it was typed",
        "ducklake_column",
        forget("default_value", column_type="decimal(5,2)", initial_default="1.50"),
        "defaults",
    ),
    Difference(
        "true is a literal to us, and an expression to DuckDB",
        "ducklake_column",
        forget("initial_default", "default_value", "default_value_type", column_type="boolean"),
        "defaults",
    ),
    Difference(
        "DuckDB counts 0 values and 0 NULLs in 0 bytes whatever there is; we say it is unknown",
        "ducklake_file_column_stats",
        of_columns(
            "timetz",
            "interval",
            settle=forget("column_size_bytes", "value_count", "null_count"),
        ),
        "types",
    ),
    Difference(
        "as for files",
        "ducklake_table_column_stats",
        of_columns("timetz", "interval", settle=forget("contains_null")),
        "types",
    ),
    Difference(
        "bounds of JSON text serve no reader",
        "ducklake_file_column_stats",
        of_columns("json", settle=forget(*BOUNDS)),
        "types",
    ),
    Difference(
        "as for files, and DuckDB must not begin them",
        "ducklake_table_column_stats",
        of_columns("json", settle=leave_out()),
        "types",
    ),
    Difference(
        "Parquet footers have no bounds beside NaN, and no reader uses them",
        "ducklake_file_column_stats",
        forget(*BOUNDS, contains_nan=True),
        "types",
    ),
    Difference(
        "as for files",
        "ducklake_table_column_stats",
        forget(*BOUNDS, contains_nan=True),
        "types",
    ),
    Difference(
        "a text with NUL, which SQLite and PostgreSQL cannot hold, makes bounds unknown to us",
        "ducklake_file_column_stats",
        of_columns("s varchar", settle=forget(*BOUNDS)),
        "types",
    ),
    Difference(
        "as for files, and DuckDB must not begin them anew",
        "ducklake_table_column_stats",
        of_columns("s varchar", settle=leave_out()),
        "types",
    ),
    Difference(
        "DuckDB writes booleans of files it did not write in another way than its own",
        "ducklake_file_column_stats",
        of_columns(" boolean", settle=forget(*BOUNDS)),
        "existing files",
    ),
    Difference(
        "as for files",
        "ducklake_table_column_stats",
        of_columns(" boolean", settle=forget(*BOUNDS)),
        "existing files",
    ),
)


@pytest.fixture
def twins(request: pytest.FixtureRequest, make_lake: Callable[[str], LakeAddress]) -> Twins:
    twins = Twins(make_lake(request.param), make_lake(request.param))
    twins.begin()
    return twins


on_every_catalog = pytest.mark.parametrize("twins", KINDS, indirect=True)


@on_every_catalog
@pytest.mark.parametrize("name", HISTORIES)
def test_a_statement_writes_the_same_rows(twins: Twins, name: str) -> None:
    assert_same_rows(twins, "before all", name)
    for sql, act in HISTORIES[name]:
        twins.step(sql, act)
        assert_same_rows(twins, sql, name)
    assert_still_different(twins, name)


@on_every_catalog
def test_existing_files_are_added_with_the_same_rows(twins: Twins, tmp_path: Path) -> None:
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for path in paths:
        pq.write_table(_existing_rows(), path)
    history = "existing files"
    columns = {
        "id": "INTEGER",
        "s": "STRUCT(a INTEGER, l VARCHAR[])",
        "m": "MAP(VARCHAR, INTEGER)",
        "b": "BOOLEAN",
    }
    create = f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in columns.items())})"
    fields = [Field(name, kind) for name, kind in columns.items()]
    twins.step(create, lambda tx, _: tx.create_table("t", fields))
    for path in paths:  # the second time, the mapping is there
        sql = f"CALL ducklake_add_data_files('lake', 't', '{path}')"
        twins.step(sql, lambda tx, _, path=path: add_data_files(tx, "t", str(path)))
        assert_same_rows(twins, sql, history)
    assert_still_different(twins, history)


def _existing_rows() -> pa.Table:
    struct = pa.struct([("a", pa.int32()), ("l", pa.list_(pa.string()))])
    return pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "s": pa.array([{"a": 1, "l": ["x", None]}, None], struct),
            "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())),
            "b": [True, False],
        }
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_lake_of_ours_has_the_tables_of_a_lake_of_duckdb(
    make_lake: Callable[[str], LakeAddress], kind: str
) -> None:
    theirs, ours = make_lake(kind), make_lake(kind)
    with SharedDuck(theirs), ours.open():
        pass
    assert len(theirs.tables()) == 28
    assert definitions(ours) == definitions(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_changed_columns_get_the_inlined_table_that_duckdb_makes(
    make_lake: Callable[[str], LakeAddress], kind: str
) -> None:
    theirs, ours = make_lake(kind), make_lake(kind)
    for lake in (theirs, ours):
        with SharedDuck(lake) as duck:
            duck.run("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1)")
    columns = {f"c{at}": row[1] for at, row in enumerate(TYPES_AND_VALUES)} | ODD_COLUMNS
    alters = [f"ALTER TABLE t ADD COLUMN {quote(n)} {_sql(c)}" for n, c in columns.items()]
    with SharedDuck(theirs) as duck:
        duck.run("BEGIN", *alters, "COMMIT")
    with ours.open() as catalog, catalog.transaction() as tx:
        for name, data_type in columns.items():
            tx.add_column("t", Field(name, data_type))
    assert definitions(ours) == definitions(theirs)
    registered = "SELECT * FROM ducklake_inlined_data_tables ORDER BY schema_version"
    assert ours.sql(registered) == theirs.sql(registered)
    with SharedDuck(ours) as duck:
        duck.run('INSERT INTO t (id, "Abc", "Name") VALUES (2, 7, 8)')
        found = duck.rows('SELECT id, "Abc", "Name" FROM t ORDER BY id')
        assert found == [(1, None, None), (2, 7, 8)]


def _sql(data_type: str) -> str:
    return next((row[0] for row in TYPES_AND_VALUES if row[1] == data_type), data_type)


def definitions(lake: LakeAddress) -> list[object]:
    return [lake.tables(), *(sorted(lake.sql(q), key=repr) for q in DEFINITIONS[lake.kind])]


def assert_same_rows(twins: Twins, sql: str, history: str) -> None:
    theirs, ours = (settled(rows, known_in(history)) for rows in twins.rows())
    assert theirs.keys() == ours.keys()
    for table in theirs:
        assert ours[table] == theirs[table], f"{table} after {sql}"


def known_in(history: str) -> list[Difference]:
    return [known for known in DIFFERENCES if known.history in (history, EVERYWHERE)]


def settled(rows: Rows, known: list[Difference]) -> dict[str, list[str]]:
    """The rows of each table, as texts in order, less what may differ."""
    found = {}
    for table, entries in rows.items():
        left: list[Row] = entries
        for difference in known:
            if difference.table == table:
                left = [row for row in map(difference.settle, left) if row is not None]
        found[table] = sorted(map(repr, left))
    return found


def assert_still_different(twins: Twins, history: str) -> None:
    theirs, ours = twins.rows()
    for difference in DIFFERENCES:
        if difference.history == history:
            others = [d for d in known_in(history) if d is not difference]
            assert settled(theirs, others) != settled(ours, others), f"not so: {difference}"
