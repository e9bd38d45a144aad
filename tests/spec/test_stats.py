"""Statistics of columns: what DuckDB writes, and what this package may say in its place."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ducklake_spark.spec.predicates import Comparison, might_match
from ducklake_spark.spec.stats import (
    ColumnStats,
    TableColumnStats,
    bounds,
    cover_truncated,
    has_counts,
    holds_only_nulls,
    widen,
    widen_by_all,
)
from ducklake_spark.spec.types import DataType, parse_type
from ducklake_spark.spec.values import format_text, parse_text

INT = parse_type("int32")
VARCHAR = parse_type("varchar")
FLOAT64 = parse_type("float64")


def _file(
    low: str | None,
    high: str | None,
    *,
    values: int | None = 1,
    nulls: int | None = 0,
    nan: bool | None = None,
) -> ColumnStats:
    return ColumnStats(1, 100, values, nulls, low, high, nan)


ALL_NULL = _file(None, None, values=0, nulls=3)
UNKNOWN = _file(None, None)


def _table(
    low: str | None, high: str | None, *, null: bool | None = False, nan: bool | None = None
) -> TableColumnStats:
    return TableColumnStats(1, null, nan, low, high)


# SQL literals of a type, picked at random for each row.
COLUMNS: dict[str, Callable[[random.Random], str]] = {
    "BOOLEAN": lambda rng: rng.choice(("true", "false")),
    "TINYINT": lambda rng: str(rng.randint(-128, 127)),
    "INTEGER": lambda rng: str(rng.randint(-1_000, 1_000)),
    "BIGINT": lambda rng: str(rng.randint(-(2**62), 2**62)),
    "UBIGINT": lambda rng: str(rng.getrandbits(64)),
    "HUGEINT": lambda rng: str(rng.getrandbits(100)),
    "UHUGEINT": lambda rng: str(rng.getrandbits(100)),
    "FLOAT": lambda rng: repr(rng.uniform(-1e9, 1e9)),
    "DOUBLE": lambda rng: rng.choice(("'-0.0'", "0.0", "'inf'", "1e300", repr(rng.random()))),
    "DECIMAL(10,2)": lambda rng: f"{rng.uniform(-1e6, 1e6):.2f}",
    "DECIMAL(30,5)": lambda rng: f"{rng.randint(-(10**20), 10**20)}.5",
    "DATE": lambda rng: rng.choice(
        ("'infinity'", "'0044-03-15 (BC)'", "'12024-01-01'", f"'20{rng.randint(10, 99)}-02-03'")
    ),
    "TIME": lambda rng: f"'{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:00'",
    "TIMETZ": lambda rng: f"'{rng.randint(0, 23):02d}:00:00+0{rng.randint(0, 9)}'",
    "TIMESTAMP": lambda rng: f"make_timestamp({rng.getrandbits(55)})",
    "TIMESTAMP_S": lambda rng: f"make_timestamp({rng.getrandbits(50)})::TIMESTAMP_S",
    "TIMESTAMP_MS": lambda rng: f"make_timestamp({rng.getrandbits(50)})::TIMESTAMP_MS",
    "TIMESTAMP_NS": lambda rng: f"make_timestamp_ns({rng.getrandbits(60)})",
    "TIMESTAMPTZ": lambda rng: rng.choice(("'-infinity'", f"'2024-01-02 0{rng.randint(0, 9)}:00'")),
    "INTERVAL": lambda rng: f"to_days({rng.randint(0, 99)})",
    "VARCHAR": lambda rng: f"repeat('{rng.choice('aZ~é漢')}', {rng.choice((0, 1, 40))})",
    "BLOB": lambda rng: f"'\\x{rng.getrandbits(8):02X}'::BLOB",
    "JSON": lambda rng: f"""'{{"a": {rng.randint(0, 99)}}}'""",
    "UUID": lambda rng: f"'{rng.getrandbits(32):08x}-677c-4bbd-a479-3f349cb785e7'",
    "INTEGER[]": lambda rng: rng.choice(("[]", "[1, NULL]", f"[{rng.randint(-99, 99)}]")),
    "STRUCT(a INTEGER, b STRUCT(c VARCHAR))": (
        lambda rng: f"{{'a': {rng.choice(('NULL', '5', '17'))}, 'b': {{'c': 'x{rng.random()}'}}}}"
    ),
    "MAP(VARCHAR, DOUBLE)": lambda rng: f"MAP {{'k{rng.random()}': {rng.random()}}}",
}


def _insert(rng: random.Random, table: str) -> str:
    """An INSERT of a few rows in which about a third of the columns is wholly NULL."""
    absent = {column for column in COLUMNS if rng.random() < 0.3}
    rows = []
    for _ in range(rng.randint(1, 4)):
        values = (
            "NULL" if column in absent or rng.random() < 0.1 else literal(rng)
            for column, literal in COLUMNS.items()
        )
        rows.append(f"({', '.join(values)})")
    return f"INSERT INTO {table} VALUES {', '.join(rows)}"


def _boolean(stored: int | None) -> bool | None:
    return None if stored is None else bool(stored)


def _leaf_types(lake: Any, table_id: int) -> dict[int, DataType]:
    query = "SELECT column_id, column_type FROM ducklake_column WHERE table_id = ?"
    nested = ("list", "struct", "map")
    rows = lake.catalog(query, table_id)
    return {column: parse_type(text) for column, text in rows if text not in nested}


def _files(lake: Any, table_id: int) -> dict[int, list[ColumnStats]]:
    query = """SELECT column_id, column_size_bytes, value_count, null_count, min_value, max_value,
               contains_nan, extra_stats FROM ducklake_file_column_stats
               WHERE table_id = ? ORDER BY data_file_id"""
    files = defaultdict(list)
    for column, size, values, nulls, low, high, nan, extra in lake.catalog(query, table_id):
        stats = ColumnStats(column, size, values, nulls, low, high, _boolean(nan), extra)
        files[column].append(stats)
    return files


def _rows(lake: Any, table_id: int) -> dict[int, TableColumnStats]:
    query = """SELECT column_id, contains_null, contains_nan, min_value, max_value, extra_stats
               FROM ducklake_table_column_stats WHERE table_id = ?"""
    return {
        column: TableColumnStats(column, _boolean(null), _boolean(nan), low, high, extra)
        for column, null, nan, low, high, extra in lake.catalog(query, table_id)
    }


@pytest.mark.parametrize("seed", range(4))
def test_appends_leave_the_row_that_duckdb_leaves(seed: int, file_lake: Any) -> None:
    rng, table = random.Random(seed), f"appended{seed}"
    columns = ", ".join(f"c{number} {name}" for number, name in enumerate(COLUMNS))
    file_lake.sql(f"CREATE TABLE {table}({columns})")
    table_id = file_lake.table_id(table)
    types = _leaf_types(file_lake, table_id)
    for _ in range(6):
        file_lake.sql(_insert(rng, table))
        files, rows = _files(file_lake, table_id), _rows(file_lake, table_id)
        assert rows.keys() == files.keys() == types.keys()
        for column, row in rows.items():
            ours = widen_by_all(None, files[column], types[column], first_data=True)
            assert ours == row, types[column]


def test_nan_is_remembered_and_bounds_without_it_are_not(file_lake: Any) -> None:
    file_lake.sql("CREATE TABLE nan(x DOUBLE)")
    batches = [("1", "3"), ("'nan'::DOUBLE", "2", "5"), ("'nan'::DOUBLE",), ("4",), ("NULL",)]
    for batch in batches:
        file_lake.sql(f"INSERT INTO nan VALUES {', '.join(f'({value})' for value in batch)}")
    table_id = file_lake.table_id("nan")
    files = _files(file_lake, table_id)[1]
    rows = [widen_by_all(None, files[:n], FLOAT64, first_data=True) for n in range(1, 6)]
    assert [row and (row.min_value, row.max_value, row.contains_nan) for row in rows] == [
        ("1.0", "3.0", False),
        ("1.0", "5.0", True),
        (None, None, True),
        (None, None, True),  # DuckDB says 4.0 to 4.0, and makes no use of it
        (None, None, True),
    ]
    assert _rows(file_lake, table_id)[1] == _table("4.0", "4.0", null=True, nan=True)


@pytest.mark.parametrize(
    ("unbounded", "next_value", "condition"),
    [("repeat('漢', 100)", "b", "x > 'c'"), ("'a' || chr(0) || 'b'", "m", "x < 'c'")],
)
def test_a_removed_row_keeps_duckdbs_answers_right(
    unbounded: str, next_value: str, condition: str, file_lake: Any
) -> None:
    """DuckDB 1.5.5 itself answers 0 here: it takes the bounds of the second file as the table's."""
    insert = f"INSERT INTO unbounded VALUES ('{next_value}')"
    query = f"SELECT count(*) FROM unbounded WHERE {condition}"
    file_lake.sql(
        "CREATE OR REPLACE TABLE unbounded(x VARCHAR)",
        f"INSERT INTO unbounded VALUES ({unbounded})",
    )
    table_id = file_lake.table_id("unbounded")
    [stats] = _files(file_lake, table_id)[1]
    assert _rows(file_lake, table_id)[1] == _table(None, None)
    assert widen(None, stats, VARCHAR, first_data=True) is None

    assert file_lake.sql(insert, query) == [(0,)]
    file_lake.catalog("DELETE FROM ducklake_table_column_stats WHERE table_id = ?", table_id)
    assert file_lake.sql(insert, query) == [(1,)]


def test_the_statistics_text_of_a_boolean_and_a_blob_is_ours(file_lake: Any) -> None:
    file_lake.sql(
        "CREATE TABLE texts(a BOOLEAN, b BLOB)", r"INSERT INTO texts VALUES (true, '\x00\xFFab')"
    )
    files = _files(file_lake, file_lake.table_id("texts"))
    assert files[1][0].min_value == format_text(True, parse_type("boolean"))
    assert files[2][0].min_value == format_text(b"\x00\xffab", parse_type("blob"))


def test_duckdbs_files_do_not_count_intervals(file_lake: Any) -> None:
    file_lake.sql(
        "CREATE TABLE uncounted(a INTERVAL, b TIMETZ)",
        "INSERT INTO uncounted VALUES (to_days(5), '10:00:00+00'), (NULL, NULL)",
    )
    files = _files(file_lake, file_lake.table_id("uncounted"))
    assert {(f[0].value_count, f[0].null_count) for f in files.values()} == {(0, 0)}
    for column, name in ((1, "interval"), (2, "timetz")):
        assert not has_counts(parse_type(name))
        assert not holds_only_nulls(files[column][0], parse_type(name))


@pytest.mark.parametrize(
    ("type_name", "stats", "expected"),
    [
        ("int32", _file("-5", "7"), (-5, 7)),
        ("int32", _file(None, "7"), (None, 7)),
        ("int32", _file("x", "300000000000"), (None, None)),
        ("boolean", _file("0", "1"), (False, True)),
        ("boolean", _file("false", "true"), (False, True)),
        ("varchar", _file("", "é"), ("", "é")),
        ("date", _file("0044-03-15 (BC)", "infinity"), (-735_160, 2**31 - 1)),
        ("timestamp", _file("2024-01-15", "infinity"), (1_705_276_800_000_000, 2**63 - 1)),
        ("float64", _file("-1.5", "2.5", nan=False), (-1.5, 2.5)),
        ("float64", _file("-inf", "inf", nan=False), (-math.inf, math.inf)),
        ("float64", _file("1.0", "3.0", nan=True), (None, None)),
        ("float64", _file("1.0", "3.0", nan=None), (None, None)),
        ("float64", _file("1.0", "nan", nan=False), (1.0, None)),
        ("float32", _file("0.1", "0.1", nan=False), (0.10000000149011612,) * 2),
        ("blob", _file("00", "FF"), (None, None)),
        ("int128", _file("1", "2"), (None, None)),
        ("uint128", _file("1", "2"), (None, None)),
        ("interval", _file("1 day", "2 days"), (None, None)),
        ("timetz", _file("10:00:00+00", "11:00:00+00"), (None, None)),
        ("json", _file("1", "2"), (None, None)),
        ("variant", _file("1", "2"), (None, None)),
        ("int32[]", _file("1", "2"), (None, None)),
    ],
)
def test_bounds_are_used_only_where_they_hold(
    type_name: str, stats: ColumnStats, expected: tuple[Any, Any]
) -> None:
    assert bounds(stats, parse_type(type_name)) == expected


def test_the_bounds_of_a_promoted_float_hold(file_lake: Any) -> None:
    """The file says 0.1 and holds 0.10000000149011612; DuckDB finds nothing after the change."""
    file_lake.sql(
        "CREATE TABLE promoted(x FLOAT)",
        "INSERT INTO promoted VALUES (0.1), (-0.3)",
        "ALTER TABLE promoted ALTER x TYPE DOUBLE",
    )
    [stats] = _files(file_lake, file_lake.table_id("promoted"))[1]
    low, high = bounds(stats, FLOAT64)
    values = [value for (value,) in file_lake.sql("SELECT x FROM promoted")]
    assert low <= min(values) < max(values) <= high
    assert file_lake.sql("SELECT count(*) FROM promoted WHERE x = 0.1::FLOAT::DOUBLE") == [(0,)]


@pytest.mark.parametrize(
    ("type_name", "current", "added", "expected"),
    [
        ("int32", _table("9", "9"), _file("10", "10"), _table("9", "10")),
        ("int32", _table("9", "9"), ALL_NULL, _table("9", "9", null=True)),
        ("int32", _table("9", "9"), UNKNOWN, None),
        ("int32", _table("9", "9"), _file("1", None), _table("1", None)),
        ("int32", _table("9", None), _file("1", "10"), _table("1", None)),
        ("int32", _table("9", None), _file(None, "10"), None),
        ("int32", _table("9", None), ALL_NULL, _table("9", None, null=True)),
        ("int32", _table(None, None), _file("1", "1"), None),
        ("int32", _table(None, None, null=True), ALL_NULL, _table(None, None, null=True)),
        ("int32", _table("x", "9"), _file("1", "1"), None),
        ("int32", _table("9", "9"), _file("1", "x"), None),
        ("int32", _table("9", "9"), _file("9", "9", nulls=None), _table("9", "9", null=None)),
        ("int32", _table("9", "9", null=None), _file("9", "9"), _table("9", "9", null=None)),
        ("int32", _table("9", "9"), _file("9", "9", values=None), _table("9", "9")),
        ("int32", None, _file("1", "1"), None),
        ("boolean", _table("false", "false"), _file("1", "1"), _table("0", "1")),
        ("boolean", _table("0", "true"), ALL_NULL, _table("0", "1", null=True)),
        ("decimal(10,2)", _table("9.50", "9.50"), _file("10.00", "10.00"), _table("9.50", "10.00")),
        (
            "timestamp",
            _table("2024-01-15", "2024-01-15"),
            _file("2023-01-01 00:00:00", "2023-01-01 00:00:00"),
            _table("2023-01-01 00:00:00", "2024-01-15"),
        ),
        ("varchar", _table("b", "b"), _file("a", "é"), _table("a", "é")),
        ("blob", _table("0A", "0A"), _file("09", "FF"), _table("09", "FF")),
        ("blob", _table("\\x0A", "\\x0A"), _file("09", "FF"), None),
        ("int128", _table("5", "5"), UNKNOWN, _table(None, None)),
        ("int128", _table(None, None), UNKNOWN, _table(None, None)),
        (
            "float64",
            _table("0.0", "nan", nan=None),
            _file("-1.0", "9.0", nan=False),
            _table("-1.0", "nan", nan=None),
        ),
        (
            "float64",
            _table("-0.0", "0.0", nan=False),
            _file("0.0", "-0.0", nan=True),
            _table("-0.0", "0.0", nan=True),
        ),
        ("variant", _table(None, None), UNKNOWN, None),
    ],
)
def test_a_row_only_widens(
    type_name: str,
    current: TableColumnStats | None,
    added: ColumnStats,
    expected: TableColumnStats | None,
) -> None:
    assert widen(current, added, parse_type(type_name)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([ALL_NULL, _file("5", "6"), ALL_NULL], _table("5", "6", null=True)),
        ([_file("5", "6"), _file("3", "3"), _file("10", "10")], _table("3", "10")),
        ([UNKNOWN, _file("5", "6")], None),
        ([ALL_NULL, UNKNOWN], None),
        ([], None),
    ],
)
def test_first_data_makes_the_row(
    files: Sequence[ColumnStats], expected: TableColumnStats | None
) -> None:
    assert widen_by_all(None, files, INT, first_data=True) == expected


def test_a_row_without_bounds_is_believed_only_with_proof() -> None:
    current, added = _table(None, None, null=True), _file("5", "6")
    assert widen(current, added, INT) is None
    assert widen(current, added, INT, only_nulls=True) == _table("5", "6", null=True)
    files = [ALL_NULL, added, _file("1", "1")]
    expected = _table("1", "6", null=True)
    assert widen_by_all(current, files, INT, only_nulls=True) == expected


def test_extra_statistics_survive() -> None:
    current = TableColumnStats(1, False, None, "1", "2", "extra")
    assert widen(current, _file("3", "3"), INT) == replace(current, max_value="3")


# --- bounds of version 1.1 ---


@pytest.mark.parametrize(
    ("stored", "covered"),
    [
        ("us", "ut"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff", None),
        ("", None),
        (None, None),
    ],
)
def test_an_upper_bound_that_may_be_cut_off_covers_what_it_begins(
    stored: str | None, covered: str | None
) -> None:
    text = parse_type("varchar")
    stats = cover_truncated(_file("a", stored), text)
    assert (stats.min_value, stats.max_value) == ("a", covered)
    for operator, value in (("=", f"{stored}x"), (">", stored), (">=", f"{stored}z")):
        if stored is not None:
            demand = Comparison(1, operator, value)  # type: ignore[arg-type]
            assert might_match(demand, {1: stats}, {1: text})
    assert cover_truncated(_file("1", "5"), parse_type("int64")) == _file("1", "5")


@pytest.mark.parametrize("type_name", ["timestamptz", "timestamptz_ns"])
def test_a_bound_with_a_zone_but_without_saying_so_is_not_used(type_name: str) -> None:
    data_type = parse_type(type_name)
    low, high = "2024-01-01 00:00:00", "2024-01-02 00:00:00+00"
    found = bounds(_file(low, high), data_type)
    assert found == (None, parse_text(high, data_type))
    assert bounds(_file("-infinity", "infinity"), data_type) != (None, None)
