"""Column types: their text both ways, their parts, and which ones hold all values of another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec.types import (
    PRIMITIVES,
    DataType,
    Primitive,
    children_of,
    decimal,
    list_of,
    map_of,
    parse_type,
    struct_of,
    widens_to,
)

# DuckDB's own names of the types.
SQL = {
    "boolean": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "int128": "HUGEINT", "uint8": "UTINYINT", "uint16": "USMALLINT",
    "uint32": "UINTEGER", "uint64": "UBIGINT", "uint128": "UHUGEINT", "float32": "FLOAT",
    "float64": "DOUBLE", "time": "TIME", "timetz": "TIMETZ", "date": "DATE",
    "timestamp": "TIMESTAMP", "timestamp_s": "TIMESTAMP_S", "timestamp_ms": "TIMESTAMP_MS",
    "timestamp_ns": "TIMESTAMP_NS", "timestamptz": "TIMESTAMPTZ", "interval": "INTERVAL",
    "varchar": "VARCHAR", "blob": "BLOB", "json": "JSON", "uuid": "UUID",
    "decimal(4,2)": "DECIMAL(4,2)", "decimal(10,2)": "DECIMAL(10,2)",
    "decimal(12,4)": "DECIMAL(12,4)", "decimal(38,10)": "DECIMAL(38,10)",
}  # fmt: skip
# The values of each type that are nearest to being lost.
EXTREMES = {
    "int8": ("-128", "127"), "int16": ("-32768", "32767"), "int32": ("-2147483648", "2147483647"),
    "int64": ("-9223372036854775808", "9223372036854775807"), "uint8": ("0", "255"),
    "uint16": ("0", "65535"), "uint32": ("0", "4294967295"), "uint64": ("0",
    "18446744073709551615"),
    "float32": ("3.4028234663852886e38", "1e-45", "nan", "-inf", "0.1"),
    "date": ("0001-01-01", "9999-12-31", "infinity"),
    "timestamp": ("1677-09-21 00:12:44", "9999-12-31 23:59:59.999999", "-infinity"),
    "timestamp_s": ("0001-01-01 00:00:00", "9999-12-31 23:59:59"),
    "timestamp_ms": ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999"),
    "decimal(4,2)": ("-99.99", "0.01"), "decimal(10,2)": ("-99999999.99", "0.01"),
    "decimal(12,4)": ("-99999999.9999", "0.0001"),
}  # fmt: skip
WIDENINGS = [
    (old, new) for old in SQL for new in SQL if widens_to(parse_type(old), parse_type(new))
]


@pytest.fixture(scope="module")
def promotable(file_lake: Any) -> Any:
    """A lake with a table `from_<type>` of extreme values for every type that can be promoted."""
    for old in {old for old, _ in WIDENINGS}:
        values = ", ".join(f"(CAST('{value}' AS {SQL[old]}))" for value in EXTREMES[old])
        file_lake.sql(f"CREATE TABLE {_name(old)} (x {SQL[old]})",
                      f"INSERT INTO {_name(old)} VALUES {values}")  # fmt: skip
    return file_lake


def _name(data_type: str) -> str:
    return f'"from {data_type}"'


@pytest.mark.parametrize(("old", "new"), WIDENINGS)
def test_what_we_call_a_widening_duckdb_accepts_and_no_value_changes(
    promotable: Any, old: str, new: str
) -> None:
    before = promotable.sql(f"SELECT x::{SQL[new]}::VARCHAR FROM {_name(old)}")
    promotable.sql("BEGIN", f"ALTER TABLE {_name(old)} ALTER x TYPE {SQL[new]}")
    try:
        after = promotable.sql(f"SELECT x::VARCHAR FROM {_name(old)}")
        # DuckDB knows no way from milliseconds to seconds but by microseconds.
        way = "::TIMESTAMP" if new == "timestamp_ms" else ""
        back = promotable.sql(f"SELECT x{way}::{SQL[old]}::VARCHAR FROM {_name(old)}")
    finally:
        promotable.sql("ROLLBACK")
    assert after == before
    assert back == promotable.sql(f"SELECT x::VARCHAR FROM {_name(old)}")


@pytest.mark.parametrize("text", sorted(SQL))
def test_the_catalogs_text_of_a_type_is_ours(file_lake: Any, text: str) -> None:
    file_lake.sql(f'CREATE OR REPLACE TABLE "of {text}" (x {SQL[text]})')
    stored = file_lake.catalog(
        "SELECT column_type FROM ducklake_column WHERE table_id = ?",
        file_lake.table_id(f"of {text}"),
    )
    assert stored == [(text,)]
    assert str(parse_type(text)) == text


@pytest.mark.parametrize("text", sorted(SQL))
def test_duckdbs_own_name_of_a_type_is_understood(text: str) -> None:
    assert parse_type(SQL[text]) == parse_type(text)
    assert parse_type(SQL[text].title()) == parse_type(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int32", "int16"), ("int32", "uint32"), ("uint32", "int32"), ("int64", "float64"),
        ("uint64", "float64"), ("uint64", "int64"), ("int64", "int128"), ("int16", "float32"),
        ("float64", "float32"), ("int32", "varchar"), ("varchar", "blob"), ("varchar", "json"),
        ("boolean", "int8"), ("date", "timestamptz"), ("date", "timestamp_ns"),
        ("timestamp", "timestamp_ms"), ("timestamp", "timestamp_ns"), ("timestamp", "date"),
        ("timestamptz", "timestamp"), ("timestamp_s", "timestamptz"), ("int32", "decimal(12,2)"),
        ("decimal(10,2)", "decimal(10,3)"), ("decimal(10,2)", "decimal(9,2)"),
        ("decimal(10,2)", "decimal(12,1)"), ("decimal(10,2)", "float64"), ("uuid", "varchar"),
        ("int32[]", "int64[]"), ("int32", "int32[]"), ("struct(a int)", "struct(a bigint)"),
    ],
)  # fmt: skip
def test_what_could_lose_a_value_is_no_widening(old: str, new: str) -> None:
    assert not widens_to(parse_type(old), parse_type(new))


@pytest.mark.parametrize("text", sorted(SQL))
def test_no_type_widens_to_itself(text: str) -> None:
    assert not widens_to(parse_type(text), parse_type(text))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("int", Primitive("int32")), ("  BIGINT ", Primitive("int64")),
        ("string", Primitive("varchar")),
        ("varchar(20)", Primitive("varchar")), ("char(3)", Primitive("varchar")),
        ("double precision", Primitive("float64")), ("timestamp_us", Primitive("timestamp")),
        ("TIMESTAMP WITH TIME ZONE", Primitive("timestamptz")),
        ("timestamp without time zone", Primitive("timestamp")),
        ("time with time zone", Primitive("timetz")), ("timestamp_ntz", Primitive("timestamp")),
        ("decimal", decimal(18, 3)), ("decimal(5)", decimal(5, 0)),
        ("NUMERIC( 10 , 2 )", decimal(10, 2)),
        ("int[]", list_of(Primitive("int32"))), ("int[][]", list_of(list_of(Primitive("int32")))),
        ("array<int>", list_of(Primitive("int32"))), ("list(int)", list_of(Primitive("int32"))),
        ("map<string, int>", map_of(Primitive("varchar"), Primitive("int32"))),
        ("struct<a: int, b: array<string>>",
         struct_of(("a", Primitive("int32")), ("b", list_of(Primitive("varchar"))))),
        ('struct("a b" int, `c``d` int, "e""f" int)',
         struct_of(("a b", Primitive("int32")), ("c`d", Primitive("int32")),
         ('e"f', Primitive("int32")))),
        ("row(x int)[]", list_of(struct_of(("x", Primitive("int32"))))),
        ("struct(time time, date date, struct struct(map map(int, int)))",
         struct_of(("time", Primitive("time")), ("date", Primitive("date")),
                   ("struct", struct_of(("map", map_of(Primitive("int32"), Primitive("int32"))))))),
    ],
)  # fmt: skip
def test_types_are_understood_as_duckdb_and_spark_write_them(text: str, parsed: DataType) -> None:
    assert parse_type(text) == parsed


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "nothing", "int int", "int[", "int]", "int[3]", "decimal(39,0)", "decimal(0,0)",
        "decimal(5,6)", "decimal(5,-1)", "decimal(a,b)", "decimal(²)", "decimal(5,", "struct()",
        "struct",
        "struct(a)", "struct(a int", "struct(a int,)", "map(int)", "map", "list",
        "map(int, int, int)",
        "array<int", "array<int)", "enum('a')", "union(a int)", "bit", "int;drop", "int--", "'int'",
        "decimal(10,2", "varchar(x)",
    ],
)  # fmt: skip
def test_what_is_no_type_is_refused_and_named(text: str) -> None:
    with pytest.raises(InvalidDefinitionError) as refused:
        parse_type(text)
    assert refused.value.hint


_LEAVES = st.one_of(
    st.sampled_from(sorted(PRIMITIVES - {"decimal"})).map(Primitive),
    st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: decimal(p, s))),
)
_FIELDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
TYPES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        inner.map(list_of),
        st.tuples(inner, inner).map(lambda pair: map_of(*pair)),
        st.lists(st.tuples(_FIELDS, inner), min_size=1, max_size=3).map(lambda f: struct_of(*f)),
    ),
    max_leaves=6,
)


@given(TYPES)
def test_the_text_of_any_type_is_read_back_as_the_same(data_type: DataType) -> None:
    assert parse_type(str(data_type)) == data_type


@given(st.text(max_size=20))
def test_any_text_is_a_type_or_refused_and_nothing_else(text: str) -> None:
    try:
        parse_type(text)
    except InvalidDefinitionError:
        return


def test_nested_types_have_the_children_that_the_catalog_gives_them() -> None:
    number = Primitive("int32")
    assert children_of(list_of(number)) == (("element", number),)
    assert children_of(map_of(number, number)) == (("key", number), ("value", number))
    assert children_of(struct_of(("a", number))) == (("a", number),)
    assert children_of(number) == ()
    assert [t.is_nested for t in (number, list_of(number), struct_of(("a", number)))] == [
        False,
        True,
        True,
    ]
