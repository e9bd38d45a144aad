"""Values of an older definition of a column, as its current definition shows them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.spec.evolution import convert, initial_value, reshape
from ducklake_spark.spec.model import Column
from ducklake_spark.spec.types import children_of, parse_type
from ducklake_spark.spec.values import format_text, parse_text

SQL = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "int128": "HUGEINT", "uint8": "UTINYINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
    "uint128": "UHUGEINT", "float32": "FLOAT", "float64": "DOUBLE", "boolean": "BOOLEAN",
    "date": "DATE", "timestamp": "TIMESTAMP", "timestamp_s": "TIMESTAMP_S",
    "timestamp_ms": "TIMESTAMP_MS", "timestamp_ns": "TIMESTAMP_NS", "timestamptz": "TIMESTAMPTZ",
    "decimal(4,2)": "DECIMAL(4,2)", "decimal(12,4)": "DECIMAL(12,4)",
    "decimal(38,10)": "DECIMAL(38,10)", "varchar": "VARCHAR", "uuid": "UUID",
}  # fmt: skip
TEXTS = {
    "int8": ("-128", "0", "127"), "int32": ("-2147483648", "2147483647"),
    "int64": ("-9223372036854775808", "9007199254740993"), "uint8": ("0", "255"),
    "uint64": ("0", "18446744073709551615"), "boolean": ("true", "false"),
    "float32": ("0.1", "-0.0", "inf", "-inf", "1e-45"), "decimal(4,2)": ("-99.99", "0.01", "0.00"),
    "date": ("1969-12-31", "0001-01-01", "9999-12-31", "infinity", "-infinity", "0044-03-15 (BC)"),
    "timestamp_s": ("1969-12-31 23:59:59", "2024-02-29 12:00:00", "infinity", "-infinity"),
    "timestamp_ms": ("1969-12-31 23:59:59.999", "9999-12-31 23:59:59.999", "infinity"),
    "timestamp": ("9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999", "2024-02-29 12:00:00",
    "-infinity"),
}  # fmt: skip
# Every change of type that DuckDB accepts and inlined rows can have been through.
CHANGES = [
    ("int8", "int16"), ("int8", "int64"), ("int8", "int128"), ("int8", "float32"),
    ("int8", "float64"), ("int8", "decimal(12,4)"), ("int32", "int64"), ("int32", "float64"),
    ("int32", "decimal(38,10)"), ("int64", "int128"), ("int64", "float64"), ("uint8", "int16"),
    ("uint8", "uint128"), ("uint64", "int128"), ("uint64", "float64"), ("boolean", "int8"),
    ("boolean", "uint64"), ("float32", "float64"), ("decimal(4,2)", "decimal(12,4)"),
    ("decimal(4,2)", "decimal(38,10)"), ("decimal(4,2)", "float64"), ("date", "timestamp"),
    ("date", "timestamp_s"), ("date", "timestamp_ms"), ("date", "timestamptz"),
    ("timestamp_s", "timestamp_ms"), ("timestamp_s", "timestamp"), ("timestamp_ms", "timestamp"),
    ("timestamp", "timestamptz"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "text"), [(old, new, text) for old, new in CHANGES for text in TEXTS[old]]
)
def test_a_value_of_a_promoted_type_is_the_one_duckdb_shows(
    duck: duckdb.DuckDBPyConnection, old: str, new: str, text: str
) -> None:
    query = f"SELECT CAST(CAST(CAST('{text}' AS {SQL[old]}) AS {SQL[new]}) AS VARCHAR)"
    ((shown,),) = duck.execute(query).fetchall()
    before, after = parse_type(old), parse_type(new)
    converted = convert(parse_text(text, before), before, after)
    assert type(converted) is type(parse_text(shown, after))
    assert format_text(converted, after) == format_text(parse_text(shown, after), after)


@pytest.mark.parametrize("name", SQL)
def test_a_value_of_the_same_type_is_itself(name: str) -> None:
    marker: Any = object()
    assert convert(marker, parse_type(name), parse_type(name)) is marker


@pytest.mark.parametrize(
    ("old", "new"),
    [("varchar", "int32"), ("int32", "varchar"), ("uuid", "varchar"), ("timestamp", "date"),
     ("float64", "int32"), ("varchar", "json")],
)  # fmt: skip
def test_a_change_that_nobody_can_undo_is_refused_with_the_way_out(old: str, new: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=rf"A {old} .* as {new}.*ducklake_flush_inl"):
        convert("1", parse_type(old), parse_type(new))


def _column(name: str, text: str, first_id: int = 1, **changes: Any) -> Column:
    """A column with its nested fields, ids depth first."""
    counter = iter(range(first_id, first_id + 100))

    def grow(named: str, data_type: Any) -> Column:
        column_id = next(counter)
        children = tuple(grow(n, t) for n, t in children_of(data_type))
        return Column(column_id, named, data_type, column_id, children=children)

    return replace(grow(name, parse_type(text)), **changes)


def test_null_stays_null() -> None:
    column = _column("a", "struct(x int)")
    assert reshape(None, column, column) is None


def test_fields_of_structs_are_known_by_id_not_by_name() -> None:
    old = _column("a", "struct(x int, y int)")
    x, y = old.children
    new = old.with_children((replace(y, name="x"), replace(x, name="y")))
    assert reshape({"x": 1, "y": 2}, old, new) == {"x": 2, "y": 1}


def test_a_field_dropped_is_gone_and_one_added_has_its_initial_default() -> None:
    old = _column("a", "struct(x int, y int)")
    added = Column(7, "z", parse_type("int32"), 7, initial_default="42")
    bare = Column(8, "w", parse_type("varchar"), 8)
    new = old.with_children((old.children[1], added, bare))
    assert reshape({"x": 1, "y": 2}, old, new) == {"y": 2, "z": 42, "w": None}


def test_a_field_of_the_same_name_under_another_id_is_another_field() -> None:
    old = _column("a", "struct(x int, y int)")
    new = old.with_children((old.children[0], replace(old.children[1], id=9)))
    assert reshape({"x": 1, "y": 2}, old, new) == {"x": 1, "y": None}


def test_what_lists_and_maps_hold_is_reshaped_too() -> None:
    old = _column("a", "struct(l struct(x int)[], m map(varchar, tinyint))")
    items, entries = old.children
    element = items.children[0]
    grown = element.with_children(
        (*element.children, Column(20, "y", parse_type("date"), 20, initial_default="1970-01-02"))
    )
    key, value = entries.children
    wider = entries.with_children((key, replace(value, type=parse_type("float64"))))
    new = old.with_children((items.with_children((grown,)), wider))
    before = {"l": [{"x": 1}, None], "m": [("k", 1), ("n", None)]}
    after = {"l": [{"x": 1, "y": 1}, None], "m": [("k", 1.0), ("n", None)]}
    assert reshape(before, old, new) == after
    assert isinstance(reshape(before, old, new)["m"][0][1], float)


@pytest.mark.parametrize(
    ("text", "default", "value"),
    [("int32", "42", 42), ("varchar", "", ""), ("varchar", "bob", "bob"), ("boolean", "true", True),
     ("decimal(5,2)", "1.50", Decimal("1.50")), ("date", "1970-01-02", 1), ("int32", None, None),
     ("int32[]", None, None)],
)  # fmt: skip
def test_rows_from_before_a_column_have_its_initial_default(
    text: str, default: str | None, value: Any
) -> None:
    assert initial_value(_column("a", text, initial_default=default)) == value
