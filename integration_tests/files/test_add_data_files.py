"""Existing Parquet files become part of a table as if DuckDB had added them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.catalog import Catalog
from ducklake_spark.errors import (
    AlreadyExistsError,
    DuckLakeError,
    IncompatibleFileError,
    NotFoundError,
)
from ducklake_spark.files import add_data_files
from support.lakes import LakeAddress
from support.reader import duck_rows, read_rows
from support.shared_duck import SharedDuck

MakeLake = Callable[[str], LakeAddress]
IDS = pa.table({"id": pa.array([1, 2], pa.int32())})
NAMED = IDS.append_column("name", pa.array(["a", None]))
NESTED = pa.table(
    {
        "id": pa.array([1], pa.int32()),
        "s": pa.array(
            [{"a": 1, "b": {"x": ["p", None]}}],
            pa.struct([("a", pa.int32()), ("b", pa.struct([("x", pa.list_(pa.string()))]))]),
        ),
        "l": pa.array([[1, None]], pa.list_(pa.int32())),
        "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
    }
)
NESTED_COLUMNS = "id INTEGER, {}, l INTEGER[], m MAP(VARCHAR, INTEGER)"
S = "s STRUCT(a INTEGER, b STRUCT(x VARCHAR[]))"
STAMPED = IDS.append_column(
    "seen", pa.array([datetime.datetime(2024, 3, 1), datetime.datetime(2025, 3, 31)])
)


@dataclass(frozen=True)
class Case:
    """Files to add to a table: their paths in a folder, and options of the call."""

    columns: str
    files: Mapping[str, pa.Table]
    partitioned_by: str | None = None
    options: Mapping[str, bool] = field(default_factory=dict)


MISSING = {"allow_missing": True}
EXTRA = {"ignore_extra_columns": True}

SAME = {
    "plain": Case("id INTEGER, name VARCHAR", {"a.parquet": NAMED}),
    "names in other cases and orders": Case(
        "id INTEGER, name VARCHAR",
        {"a.parquet": NAMED.select(["name", "id"]).rename_columns(["NAME", "Id"])},
    ),
    "files that share a mapping": Case("id INTEGER", {"a.parquet": IDS, "b.parquet": IDS}),
    "an empty file": Case("id INTEGER", {"a.parquet": IDS.slice(0, 0), "b.parquet": IDS}),
    "field ids that mean something else": Case(
        "id INTEGER, name VARCHAR",
        {
            "a.parquet": NAMED.cast(
                pa.schema(
                    [
                        pa.field("id", pa.int32(), metadata={b"PARQUET:field_id": b"2"}),
                        pa.field("name", pa.string(), metadata={b"PARQUET:field_id": b"1"}),
                    ]
                )
            )
        },
    ),
    "a missing column": Case(
        "id INTEGER, name VARCHAR DEFAULT 'x'", {"a.parquet": IDS}, options=MISSING
    ),
    "an extra column": Case("name VARCHAR", {"a.parquet": NAMED}, options=EXTRA),
    "nested": Case(NESTED_COLUMNS.format(S), {"a.parquet": NESTED}),
    "a missing field": Case(
        NESTED_COLUMNS.format("s STRUCT(a INTEGER, c INTEGER, b STRUCT(x VARCHAR[]))"),
        {"a.parquet": NESTED},
        options=MISSING,
    ),
    "an extra field": Case(
        NESTED_COLUMNS.format("s STRUCT(a INTEGER)"), {"a.parquet": NESTED}, options=EXTRA
    ),
    "hive": Case(
        "id INTEGER, region VARCHAR, d DATE",
        {
            "region=eu/d=2024-01-15/a.parquet": IDS,
            "region=us%20%C3%A9/d=__HIVE_DEFAULT_PARTITION__/b.parquet": IDS,
        },
    ),
    "hive keys that are no columns": Case("id INTEGER", {"region=eu/a.parquet": IDS}),
    "hive, and the column in the file": Case(
        "id INTEGER, name VARCHAR",
        {"name=a/a.parquet": IDS.append_column("name", pa.array(["a", "a"]))},
    ),
    "partitioned": Case(
        "id INTEGER, region VARCHAR, n DECIMAL(5,2)",
        {
            "region=eu/n=1.5/a.parquet": IDS,
            "region=__HIVE_DEFAULT_PARTITION__/n=-2/b.parquet": IDS,
        },
        partitioned_by="n, region",
    ),
    "partitioned by a transform": Case(
        "id INTEGER, seen TIMESTAMP", {"month=3/a.parquet": STAMPED}, partitioned_by="month(seen)"
    ),
    "hive partitioning off": Case(
        "id INTEGER, name VARCHAR",
        {"name=zzz/a.parquet": NAMED},
        options={"hive_partitioning": False},
    ),
}


def written(folder: Path, files: Mapping[str, pa.Table]) -> list[str]:
    paths = [folder / path for path in files]
    for path, data in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(data, path)
    return [str(path) for path in paths]


def made(lake: LakeAddress, case: Case) -> LakeAddress:
    with lake.open(), SharedDuck(lake) as duck:
        pass
    with SharedDuck(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")
        duck.run(f"CREATE TABLE t ({case.columns})")
        if case.partitioned_by:
            duck.run(f"ALTER TABLE t SET PARTITIONED BY ({case.partitioned_by})")
    return lake


def add_by_duckdb(lake: LakeAddress, paths: Sequence[str], options: Mapping[str, bool]) -> None:
    listed = ", ".join(f"{name} => {str(value).lower()}" for name, value in options.items())
    with SharedDuck(lake) as duck:
        for path in paths:
            duck.run("BEGIN" if path == paths[0] else "SELECT 1")
            duck.run(
                f"CALL ducklake_add_data_files('lake', 't', '{path}'{listed and ', ' + listed})"
            )
        duck.run("COMMIT")


def add_by_us(lake: LakeAddress, paths: Sequence[str], options: Mapping[str, bool]) -> None:
    with lake.open() as catalog, catalog.transaction() as tx:
        add_data_files(tx, "t", paths, **options)


TABLES = (
    "ducklake_snapshot_changes",
    "ducklake_data_file",
    "ducklake_file_column_stats",
    "ducklake_table_stats",
    "ducklake_table_column_stats",
    "ducklake_column_mapping",
    "ducklake_name_mapping",
    "ducklake_file_partition_value",
)


def rows_of(lake: LakeAddress) -> dict[str, list[str]]:
    """The catalog's rows about files. The columns of a path have no order in DuckDB's mappings."""
    dump = lake.dump()
    for row in dump["ducklake_name_mapping"]:
        if row["is_partition"]:
            row["column_id"] = None
    return {table: sorted(map(repr, dump[table])) for table in TABLES}


@pytest.mark.parametrize("name", SAME)
def test_the_rows_of_the_catalog_are_those_of_duckdb(
    make_lake: MakeLake, tmp_path: Path, name: str
) -> None:
    case = SAME[name]
    paths = written(tmp_path / "files", case.files)
    ours, theirs = made(make_lake("sqlite"), case), made(make_lake("sqlite"), case)
    add_by_us(ours, paths, case.options)
    add_by_duckdb(theirs, paths, case.options)
    assert rows_of(ours) == rows_of(theirs)
    assert seen(ours) == seen(theirs)


def seen(lake: LakeAddress) -> list[tuple[Any, ...]]:
    """The rows as DuckDB reads them; we read the same."""
    with lake.open() as catalog:
        reader = catalog.at()
        table = reader.table("t")
        ours = read_rows(reader, table)
    with SharedDuck(lake) as duck:
        assert duck_rows(duck, table, "t") == ours
        return duck.rows("SELECT rowid, * FROM t ORDER BY rowid")


def test_duckdb_continues(lake: LakeAddress, tmp_path: Path) -> None:
    case = SAME["partitioned"]
    add_by_us(made(lake, case), written(tmp_path / "files", case.files), {})
    n = Decimal("1.5")
    with SharedDuck(lake) as duck:
        duck.run("INSERT INTO t VALUES (3, 'eu', 1.5)", "DELETE FROM t WHERE id = 1 AND n = 1.5")
        duck.run("UPDATE t SET id = 5 WHERE region IS NULL AND id = 2")
        wanted = [(1, None, -2), (2, "eu", n), (3, "eu", n), (5, None, -2)]
        assert duck.rows("FROM t ORDER BY id") == wanted
        duck.run("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
        assert duck.rows("FROM t ORDER BY id") == wanted
        assert duck.rows("FROM t WHERE region = 'eu' AND n > 1 ORDER BY id") == wanted[1:3]


def test_duckdb_merges_added_files(lake: LakeAddress, tmp_path: Path) -> None:
    case = Case("id INTEGER, name VARCHAR", {"a.parquet": NAMED, "name=x/b.parquet": IDS})
    add_by_us(made(lake, case), written(tmp_path / "files", case.files), {})
    with SharedDuck(lake) as duck:
        duck.run("INSERT INTO t VALUES (3, 'c')")
        before = duck.rows("SELECT rowid, * FROM t ORDER BY ALL")
        duck.run("CALL ducklake_merge_adjacent_files('lake')")
        assert duck.rows("SELECT rowid, * FROM t ORDER BY ALL") == before
        live = "SELECT count(*) FROM ducklake_list_files('lake', 't')"
        assert duck.rows(live) == [(1,)]


def test_a_column_that_only_some_files_have(make_lake: MakeLake, tmp_path: Path) -> None:
    """DuckDB takes the bounds of the files that have it for those of the table."""
    case = Case("id INTEGER, name VARCHAR DEFAULT 'z'", {"a.parquet": IDS, "b.parquet": NAMED})
    lake = made(make_lake("sqlite"), case)
    add_by_us(lake, written(tmp_path, case.files), MISSING)
    assert [row[1:] for row in seen(lake)] == [(1, "z"), (2, "z"), (1, "a"), (2, None)]
    with SharedDuck(lake) as duck:
        assert duck.rows("SELECT max(name), count(*) FROM t WHERE name > 'b'") == [("z", 2)]


def test_floats_have_no_bounds_for_footers_know_nothing_of_nan(
    make_lake: MakeLake, tmp_path: Path
) -> None:
    data = pa.table({"v": pa.array([1.5, float("nan")])})
    lake = made(make_lake("sqlite"), Case("v DOUBLE", {}))
    add_by_us(lake, written(tmp_path, {"a.parquet": data}), {})
    (stats,) = lake.dump()["ducklake_file_column_stats"]
    assert (stats["value_count"], stats["min_value"], stats["max_value"]) == (2, None, None)
    assert lake.dump()["ducklake_table_column_stats"] == []
    with SharedDuck(lake) as duck:
        assert duck.rows("SELECT v, isnan(v) FROM t ORDER BY v")[0] == (1.5, False)
        assert duck.rows("SELECT isnan(max(v)) FROM t") == [(True,)]


def test_a_file_in_the_table_s_directory_has_a_relative_path(make_lake: MakeLake) -> None:
    lake = made(make_lake("sqlite"), Case("id INTEGER", {}))
    paths = written(Path(lake.data_path) / "main" / "t", {"x.parquet": IDS})
    add_by_us(lake, paths, {})
    (row,) = lake.dump()["ducklake_data_file"]
    assert (row["path"], row["path_is_relative"]) == ("x.parquet", 1)
    assert len(seen(lake)) == 2


def test_wildcards(make_lake: MakeLake, tmp_path: Path) -> None:
    lake = made(make_lake("sqlite"), Case("id INTEGER, k VARCHAR", {}))
    files = {f"k={k}/{name}": IDS for k in "ab" for name in ("x1.parquet", "x2.parquet", "y.txt")}
    written(tmp_path, files)
    add_by_us(lake, [f"{tmp_path}/**/x[!2].parquet"], {})
    assert [row[1:] for row in seen(lake)] == [(1, "a"), (2, "a"), (1, "b"), (2, "b")]
    with pytest.raises(NotFoundError, match="z"):
        add_by_us(lake, f"{tmp_path}/*/z*.parquet", {})


# --- types ---

STORED = {
    "boolean": pa.array([True, None]),
    **{
        f"{u}int{bits}": pa.array([1, 100], f"{u}int{bits}")
        for u in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "great uint32": pa.array([1, 2**32 - 1], pa.uint32()),
    "float32": pa.array([0.1, -0.0], pa.float32()),
    "float64": pa.array([0.1, 1e300]),
    "decimal(8,2)": pa.array([Decimal("1.50"), Decimal("-99")], pa.decimal128(8, 2)),
    "decimal(7,1)": pa.array([Decimal("1.5")], pa.decimal128(7, 1)),
    "decimal(12,2)": pa.array([Decimal("1.50")], pa.decimal128(12, 2)),
    "decimal(30,2)": pa.array([Decimal("1.50"), Decimal(-(10**27))], pa.decimal128(30, 2)),
    "varchar": pa.array(["a", "é", None]),
    "dictionary": pa.array(["b", "a"]).dictionary_encode(),
    "large varchar": pa.array(["a"], pa.large_string()),
    "blob": pa.array([b"a\xff", b""]),
    "fixed blob": pa.array([b"abcd"], pa.binary(4)),
    "date": pa.array([datetime.date(1969, 12, 31), datetime.date(2024, 1, 1)]),
    "time": pa.array([datetime.time(1, 2, 3, 4)], pa.time64("us")),
    "time ms": pa.array([datetime.time(1, 2, 3)], pa.time32("ms")),
    "time ns": pa.array([1], pa.time64("ns")),
    **{f"timestamp {u}": pa.array([-1, 10**9], pa.timestamp(u)) for u in ("ms", "us")},
    "timestamp ns": pa.array([1_000_000_000_001_000], pa.timestamp("ns")),
    "timestamptz": pa.array([-1, 10**9], pa.timestamp("us", "Europe/Paris")),
    "null": pa.nulls(2),
    "list of int64": pa.array([[1], []], pa.list_(pa.int64())),
    "fixed list": pa.array([[1, 2]], pa.list_(pa.int32(), 2)),
    "struct": pa.array([{"a": 1}], pa.struct([("a", pa.int64())])),
    "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
}
DECLARED = (
    "BOOLEAN TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT HUGEINT FLOAT "
    "DOUBLE DECIMAL(10,2) DECIMAL(38,2) VARCHAR BLOB JSON UUID DATE TIME TIMETZ TIMESTAMP "
    "TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS TIMESTAMPTZ INTERVAL INTEGER[] BIGINT[] "
    "STRUCT(a:INTEGER) STRUCT(a:BIGINT) MAP(VARCHAR,BIGINT) MAP(INTEGER,BIGINT)"
).split()
# Where our bounds are others: those of files that DuckDB writes; none, as it finds no NaN beyond
# them, and none that are finer than the column.
OTHER_BOUNDS = {
    "boolean": {"BOOLEAN"},
    "blob": {"BLOB"},
    "fixed blob": {"BLOB"},
    "float32": {"FLOAT", "DOUBLE"},
    "float64": {"DOUBLE"},
    "decimal(7,1)": {"DECIMAL(10,2)", "DECIMAL(38,2)"},
    "timestamp us": {"TIMESTAMP_S", "TIMESTAMP_MS"},
    "timestamp ms": {"TIMESTAMP_S"},
}


@pytest.mark.parametrize("stored", STORED)
def test_types_are_taken_and_refused_as_by_duckdb(
    make_lake: MakeLake, tmp_path: Path, stored: str
) -> None:
    columns = {f"t{at}": name.replace(":", " ") for at, name in enumerate(DECLARED)}
    (path,) = written(tmp_path, {"a.parquet": pa.table({"v": STORED[stored]})})
    ours, theirs = make_lake("sqlite"), make_lake("sqlite")
    for lake in (ours, theirs):
        with SharedDuck(lake) as duck:
            duck.run("CALL lake.set_option('data_inlining_row_limit', 0)", "BEGIN")
            duck.run(*(f"CREATE TABLE {name} (v {column})" for name, column in columns.items()))
            duck.run("COMMIT")
    taken = []
    with SharedDuck(theirs) as duck:
        for name in columns:
            try:
                duck.run(f"CALL ducklake_add_data_files('lake', '{name}', '{path}')")
            except duckdb.Error:
                continue
            taken.append(name)
    with ours.open() as catalog:
        mine = [name for name in columns if _is_taken(catalog, name, path)]
    assert [columns[name] for name in mine] == [columns[name] for name in taken]
    for name in mine:
        with SharedDuck(theirs) as duck:
            wanted = duck.rows(f"SELECT v FROM {name}")
        with SharedDuck(ours) as duck:
            assert repr(duck.rows(f"SELECT v FROM {name}")) == repr(wanted)
    same = {name for name in mine if columns[name] not in OTHER_BOUNDS.get(stored, set())}
    assert bounds(ours, same, columns) == bounds(theirs, same, columns)


def _is_taken(catalog: Catalog, name: str, path: str) -> bool:
    try:
        with catalog.transaction() as tx:
            add_data_files(tx, name, path)
    except IncompatibleFileError as error:
        if "Column 'v" in str(error) and path in str(error):
            return False
        raise
    return True


def bounds(
    lake: LakeAddress, names: set[str], columns: Mapping[str, str]
) -> dict[str, list[tuple[Any, ...]]]:
    rows = lake.sql(
        "SELECT table_name, s.* FROM ducklake_table t JOIN ducklake_file_column_stats s "
        "ON s.table_id = t.table_id ORDER BY s.column_id"
    )
    # Files and tables have other ids.
    return {columns[n]: [row[3:] for row in rows if row[0] == n] for n in names}


# --- refusals ---

REFUSED: dict[str, tuple[Case, type[DuckLakeError], str]] = {
    "a missing column": (
        Case("id INTEGER, name VARCHAR", {"a.parquet": IDS}),
        IncompatibleFileError,
        r"lacks column 'name' of main.t.*allow_missing",
    ),
    "missing fields": (
        Case(NESTED_COLUMNS.format("s STRUCT(a INTEGER, c INTEGER)"), {"a.parquet": NESTED}),
        IncompatibleFileError,
        r"lacks column 's.c'",
    ),
    "extra columns": (
        Case("id INTEGER", {"a.parquet": NAMED.append_column("x", pa.array([1, 2]))}),
        IncompatibleFileError,
        r"has columns 'name', 'x', and main.t has not.*ignore_extra_columns",
    ),
    "a wrong type": (
        Case("id INTEGER, name INTEGER", {"a.parquet": NAMED}),
        IncompatibleFileError,
        r"Column 'name' of the file '.*a.parquet' is varchar, and main.t has int32.*cast",
    ),
    "a wrong nested type": (
        Case(NESTED_COLUMNS.format("s STRUCT(a INTEGER, b INTEGER)"), {"a.parquet": NESTED}),
        IncompatibleFileError,
        r"Column 's.b' .* is struct<x: list<.*>>, and main.t has int32",
    ),
    "a decimal with too many digits": (
        Case(
            "d DECIMAL(10,2)",
            {
                "a.parquet": pa.table(
                    {"d": pa.array([Decimal("123456789.5")], pa.decimal128(10, 1))}
                )
            },
        ),
        IncompatibleFileError,
        r"is decimal\(10,1\), and main.t has decimal\(10,2\)",
    ),
    "two columns of one name": (
        Case("id INTEGER", {"a.parquet": pa.table([[1], [2]], names=["id", "ID"])}),
        IncompatibleFileError,
        r"two columns 'id' and 'ID'",
    ),
    "NULL where none may be": (
        Case("id INTEGER, name VARCHAR NOT NULL", {"a.parquet": NAMED}),
        IncompatibleFileError,
        r"Column 'name' of main.t is NOT NULL, and the file .* holds NULL",
    ),
    "nothing where NULL may not be": (
        Case("id INTEGER, name VARCHAR NOT NULL", {"a.parquet": IDS}, options=MISSING),
        IncompatibleFileError,
        r"Column 'name' of main.t is NOT NULL, and the file .* lacks it",
    ),
    "no partition": (
        Case("id INTEGER, k VARCHAR", {"a.parquet": IDS}, "k", MISSING),
        IncompatibleFileError,
        r"partitioned by k, and no folder of .* says k=",
    ),
    "a folder's value of another type": (
        Case("id INTEGER, k INTEGER", {"k=x/a.parquet": IDS}),
        IncompatibleFileError,
        r"gives column 'k' the value 'x', which is no int32",
    ),
    "a folder that contradicts its file": (
        Case("id INTEGER, name VARCHAR", {"name=b/a.parquet": NAMED}),
        IncompatibleFileError,
        r"gives 'name' the value 'b', and the file holds NULL",
    ),
    "a month that contradicts its file": (
        Case("id INTEGER, seen TIMESTAMP", {"month=4/a.parquet": STAMPED}, "month(seen)"),
        IncompatibleFileError,
        r"gives 'seen' the month '4', and the file holds '3'",
    ),
    "a month that is none": (
        Case("id INTEGER, seen TIMESTAMP", {"month=May/a.parquet": STAMPED}, "month(seen)"),
        IncompatibleFileError,
        r"partition key month the value 'May'",
    ),
    "the same file twice": (
        Case("id INTEGER", {"a.parquet": IDS, "./a.parquet": IDS}),
        AlreadyExistsError,
        r"a.parquet' is part of main.t already",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(make_lake: MakeLake, tmp_path: Path, name: str) -> None:
    case, kind, message = REFUSED[name]
    lake = made(make_lake("sqlite"), case)
    before = lake.dump()
    with pytest.raises(kind, match=message):
        add_by_us(lake, written(tmp_path, case.files), case.options)
    assert lake.dump() == before


def test_what_is_no_parquet_file_is_refused(make_lake: MakeLake, tmp_path: Path) -> None:
    lake = made(make_lake("sqlite"), Case("id INTEGER", {}))
    (tmp_path / "a.parquet").write_text("Dear diary")
    with pytest.raises(IncompatibleFileError, match=r"a.parquet' is no Parquet file"):
        add_by_us(lake, [f"{tmp_path}/a.parquet"], {})
    with pytest.raises(NotFoundError, match=r"b.parquet"):
        add_by_us(lake, [f"{tmp_path}/b.parquet"], {})


def test_a_file_is_added_once_only(make_lake: MakeLake, tmp_path: Path) -> None:
    lake = made(make_lake("sqlite"), Case("id INTEGER", {}))
    paths = written(tmp_path, {"a.parquet": IDS})
    add_by_us(lake, paths, {})
    with pytest.raises(AlreadyExistsError, match=r"a.parquet"):
        add_by_us(lake, paths, {})
    with SharedDuck(lake) as duck:
        assert duck.rows("SELECT count(*) FROM t") == [(2,)]
