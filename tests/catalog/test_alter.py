"""Changes to a table's definition, one by one, and what each refusal says."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from ducklake_spark.catalog import Field, alter
from ducklake_spark.errors import (
    AlreadyExistsError,
    DuckLakeError,
    InvalidDefinitionError,
    NotFoundError,
)
from ducklake_spark.spec.model import (
    Column,
    PartitionSpec,
    SortKey,
    SortOrder,
    Table,
)
from ducklake_spark.spec.names import QualifiedName
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.types import parse_type

FIELDS = [
    Field("id", "int32"),
    Field("Name", "varchar"),
    Field("at", "timestamp"),
    Field("price", "decimal(10,2)"),
    Field("address", "struct(city varchar, geo struct(lat float, lon float))"),
    Field("tags", "varchar[]"),
    Field("props", "map(varchar, struct(n int))"),
]


def _table(*fields: Field) -> Table:
    return Table(
        id=1,
        uuid=uuid.uuid4(),
        schema_id=0,
        name=QualifiedName("main", "orders"),
        path=StoredPath("orders/"),
        location="/lake/main/orders/",
        columns=alter.new_columns(fields or FIELDS),
    )


@pytest.fixture
def orders() -> Table:
    return _table()


@pytest.fixture
def laid_out(orders: Table) -> Table:
    """The same, partitioned by month(at) and sorted by an expression over Name, then id."""
    fields = alter.partition_fields(orders, ["month(at)"])
    keys = alter.sort_keys(orders, ["lower(Name) desc", "id nulls first"])
    return replace(orders, partition=PartitionSpec(9, fields), sort=SortOrder(10, keys))


def _fresh() -> Iterator[int]:
    return count(100)


def _shape(column: Column) -> Any:
    return (column.id, column.name, str(column.type), [_shape(child) for child in column.children])


# --- new columns ---


def test_column_ids_go_depth_first_from_one(orders: Table) -> None:
    assert [(c.id, c.name) for c in orders.walk()] == [
        (1, "id"), (2, "Name"), (3, "at"), (4, "price"), (5, "address"), (6, "city"), (7, "geo"),
        (8, "lat"), (9, "lon"), (10, "tags"), (11, "element"), (12, "props"), (13, "key"),
        (14, "value"), (15, "n"),
    ]  # fmt: skip
    assert all(column.order == column.id for column in orders.walk())


@pytest.mark.parametrize(
    ("data_type", "value", "text"),
    [
        ("int32", 42, "42"), ("varchar", "", ""), ("varchar", "it's", "it's"),
        ("boolean", True, "true"), ("blob", b"\x00\xffa", r"\x00\xFFa"),
        ("decimal(5,2)", Decimal("1.5"), "1.50"), ("float64", 0.1, "0.1"),
        ("date", datetime.date(2024, 1, 15), "2024-01-15"),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    ],
)  # fmt: skip
def test_a_literal_default_is_that_of_old_rows_and_new(
    data_type: str, value: object, text: str
) -> None:
    (column,) = alter.new_columns([Field("x", data_type, default=value)])
    assert (column.default.kind, column.default.value, column.initial_default) == (
        "literal", text, text,
    )  # fmt: skip


def test_an_expression_is_a_default_for_new_rows_only() -> None:
    (column,) = alter.new_columns([Field("x", "timestamp", expression="now()")])
    assert (column.default.kind, column.default.value) == ("expression", "now()")
    assert column.initial_default is None


def test_a_column_without_a_default_says_so_as_duckdb_does(orders: Table) -> None:
    assert orders.column("id").default.is_none
    assert (orders.column("tags").default.value, orders.column("tags").default.kind) == ("NULL", "")


def test_a_new_column_can_be_not_null_and_have_a_comment() -> None:
    (column,) = alter.new_columns([Field("x", "int32", nullable=False, comment="the x")])
    assert (column.nullable, column.comment) == (False, "the x")


Refusal = tuple[Callable[[Table], object], type[DuckLakeError], list[str]]


def _new(*fields: Field) -> Callable[[Table], object]:
    return lambda _: alter.new_columns(fields)


NEW_COLUMN_REFUSALS: dict[str, Refusal] = {
    "no columns": (_new(), InvalidDefinitionError, ["at least one column"]),
    "two of a name": (
        _new(Field("a", "int"), Field("A", "int")), InvalidDefinitionError, ["Two columns", "'A'"]),
    "two fields of a name": (
        _new(Field("s", "struct(x int, X int)")), InvalidDefinitionError, ["fields of 's'", "'X'"]),
    "an empty name": (_new(Field("", "int")), InvalidDefinitionError, ["''", "name of a column"]),
    "a NUL in a name": (_new(Field("a\x00", "int")), InvalidDefinitionError, ["'a\\x00'"]),
    "a NUL in a field": (
        _new(Field("s", 'struct("a\x00" int)')), InvalidDefinitionError, ["'a\\x00'"]),
    "no type": (_new(Field("a", "nothing")), InvalidDefinitionError,
    ["'nothing'", "Types look like"]),
    "an unknown type": (_new(Field("a", "unknown")), InvalidDefinitionError,
    ["'a'", "no known type"]),
    "a default that does not fit": (
        _new(Field("a", "int8", default=300)), InvalidDefinitionError, ["300", "'a'", "int8"]),
    "a default of another kind": (
        _new(Field("a", "int8", default="x")), InvalidDefinitionError, ["'x'", "'a'", "int8"]),
    "a nested default": (
        _new(Field("a", "int[]", default=[1])), InvalidDefinitionError,
        ["'a'", "int32[]", "start as NULL"]),
    "the default NULL": (
        _new(Field("a", "varchar", default="NULL")), InvalidDefinitionError, ["'NULL'", "'a'"]),
    "a default with a NUL": (
        _new(Field("a", "varchar", default="x\x00")), InvalidDefinitionError,
        ["default", "'a'", "NUL"]),
    "an empty expression": (
        _new(Field("a", "int", expression=" ")), InvalidDefinitionError,
        ["'a'", "empty expression"]),
    "a comment with a NUL": (
        _new(Field("a", "int", comment="\x00")), InvalidDefinitionError, ["comment", "NUL"]),
}  # fmt: skip


# --- changing columns ---


def test_an_added_column_goes_to_the_end_under_a_new_id(orders: Table) -> None:
    after = alter.add_column(orders, None, Field("note", "int[]", comment="x"), _fresh())
    assert _shape(after.columns[-1]) == (100, "note", "int32[]", [(101, "element", "int32", [])])
    assert after.columns[:-1] == orders.columns


def test_a_field_is_added_to_the_struct_at_a_path(orders: Table) -> None:
    after = alter.add_column(orders, "address.geo", Field("alt", "float", default=1.5), _fresh())
    assert [c.name for c in after.column("address.geo").children] == ["lat", "lon", "alt"]
    assert after.column("address.geo.alt").initial_default == "1.5"
    assert str(after.column("ADDRESS").type).endswith('"alt" float32))')


def test_a_field_is_added_inside_lists_and_maps(orders: Table) -> None:
    after = alter.add_column(orders, "props.value", Field("m", "int"), _fresh())
    assert str(after.column("props").type) == 'map(varchar, struct("n" int32, "m" int32))'


def test_a_dropped_column_is_gone_with_all_inside(orders: Table) -> None:
    after = alter.drop_column(orders, "address")
    assert not {c.id for c in after.walk()} & {5, 6, 7, 8, 9}
    nested = alter.drop_column(orders, 'ADDRESS."city"')
    assert [c.name for c in nested.column("address").children] == ["geo"]


def test_a_renamed_column_keeps_its_id_and_place(orders: Table) -> None:
    after = alter.rename_column(orders, "name", "Full Name")
    assert (after.columns[1].id, after.columns[1].name) == (2, "Full Name")
    nested = alter.rename_column(orders, "address.geo.lat", "latitude")
    assert nested.column("address.geo.latitude").id == 8
    assert alter.rename_column(orders, "Name", "NAME").columns[1].name == "NAME"


def test_sort_expressions_follow_a_rename_and_nothing_else_in_them_does(orders: Table) -> None:
    key = SortKey("""lower("Name") || 'name' || name(Name) || "na""me" || nameless""")
    table = replace(orders, sort=SortOrder(3, (key,)))
    (after,) = alter.rename_column(table, "Name", "x y").sort_keys
    assert after.expression == """lower("x y") || 'name' || name("x y") || "na""me" || nameless"""


@pytest.mark.parametrize(
    ("path", "expression", "after"),
    [
        ("city", "address.city", "address.city"),
        ("city", 'lower(city) || "address" . city', 'lower(neu) || "address" . city'),
        ("city", "list[1].city + city.lower() + 1e5", "list[1].city + neu.lower() + 1e5"),
        ("address", "address.city + city", "neu.city + city"),
        ("address.city", 'Address."City" + city', "Address.neu + city"),
        ("address.geo", "address.geo.lat + geo", "address.neu.lat + geo"),
        ("été", "été + tété + ét", "neu + tété + ét"),
        ("t", "été + t", "été + neu"),
    ],
)
def test_sort_expressions_tell_columns_from_fields(path: str, expression: str, after: str) -> None:
    columns = [Field(n, "varchar") for n in ("id", "city", "été", "t", "list")]
    table = _table(*columns, FIELDS[4])
    table = replace(table, sort=SortOrder(3, (SortKey(expression),)))
    (key,) = alter.rename_column(table, path, "neu").sort_keys
    assert key.expression == after
    if after == expression:
        alter.drop_column(table, path)
    else:
        with pytest.raises(InvalidDefinitionError, match="sort order"):
            alter.drop_column(table, path)


def test_a_field_that_is_renamed_leaves_sort_expressions_alone(laid_out: Table) -> None:
    after = alter.rename_column(laid_out, "address.city", "id2")
    assert after.sort == laid_out.sort


def test_a_promoted_column_changes_its_type_alone(orders: Table) -> None:
    after = alter.set_type(orders, "id", "bigint")
    assert after.columns[0] == replace(orders.columns[0], type=parse_type("int64"))
    nested = alter.set_type(orders, "address.geo.lat", parse_type("double"))
    assert str(nested.column("address.geo").type) == 'struct("lat" float64, "lon" float32)'


def test_not_null_defaults_and_tags_are_set_and_dropped(orders: Table) -> None:
    assert not alter.set_nullable(orders, "id", False).columns[0].nullable
    with_default = alter.set_default(orders, "id", 5)
    assert with_default.columns[0].default.value == "5"
    assert with_default.columns[0].initial_default is None
    assert alter.set_default(with_default, "id") == orders
    computed = alter.set_default(orders, "id", expression="1 + 1")
    assert computed.columns[0].default.kind == "expression"
    tagged = alter.set_column_tag(orders, "address.city", "comment", "where")
    assert tagged.column("address.city").comment == "where"
    assert alter.set_column_tag(tagged, "address.city", "comment", None) == orders
    assert alter.set_column_tag(tagged, "address.city", "other", None) == tagged


@pytest.mark.parametrize(
    "change",
    [
        lambda t: alter.set_type(t, "id", "int32"),
        lambda t: alter.set_nullable(t, "id", True),
        lambda t: alter.set_default(t, "id"),
        lambda t: alter.set_default(t, "tags"),
        lambda t: alter.set_column_tag(t, "id", "comment", None),
        lambda t: alter.rename_column(t, "id", "id"),
    ],
)
def test_a_change_to_what_is_there_already_changes_nothing(
    orders: Table, change: Callable[[Table], Table]
) -> None:
    assert change(orders) == orders


def _add(field: Field, parent: str | None = None) -> Callable[[Table], object]:
    return lambda table: alter.add_column(table, parent, field, _fresh())


CHANGE_REFUSALS: dict[str, Refusal] = {
    "add a name that is taken": (_add(Field("NAME", "int")), AlreadyExistsError,
    ["column", "'NAME'", "main.orders"]),
    "add a field that is taken": (_add(Field("City", "int"), "address"), AlreadyExistsError,
    ["'address'", "'City'"]),
    "add NOT NULL without default": (
        _add(Field("x", "int", nullable=False)), InvalidDefinitionError,
        ["'x'", "main.orders", "NOT NULL", "Give it a default"]),
    "add a computed default": (
        _add(Field("x", "int", expression="1")), InvalidDefinitionError,
        ["'x'", "main.orders", "computed", "set the default"]),
    "add to what is no struct": (_add(Field("x", "int"), "tags"), InvalidDefinitionError,
    ["'tags'", "main.orders", "varchar[]"]),
    "add to what is not there": (_add(Field("x", "int"), "adress"), NotFoundError,
    ["'adress'", "main.orders", "'address'"]),
    "drop what is not there": (lambda t: alter.drop_column(t, "nam"), NotFoundError,
    ["'nam'", "main.orders", "'Name'"]),
    "drop a missing field": (lambda t: alter.drop_column(t, "address.cty"), NotFoundError,
    ["'address.cty'", "'city'"]),
    "drop a partition key": (
        lambda t: alter.drop_column(t, "at"), InvalidDefinitionError,
        ["'at'", "main.orders", "partitioning", "Reset"]),
    "drop a sort key": (
        lambda t: alter.drop_column(t, "name"), InvalidDefinitionError,
        ["'name'", "main.orders", "sort order", "Reset"]),
    "drop the last column": (
        lambda t: alter.drop_column(replace(t, columns=t.columns[3:4]), "price"),
        InvalidDefinitionError, ["'price'", "main.orders", "Drop the table"]),
    "drop the last field": (
        lambda t: alter.drop_column(t, "props.value.n"), InvalidDefinitionError,
        ["'n'", "last field", "'value'"]),
    "drop a list's element": (lambda t: alter.drop_column(t, "tags.element"),
    InvalidDefinitionError, ["'tags.element'", "list", "dropped"]),
    "rename a map's key": (lambda t: alter.rename_column(t, "props.key", "k"),
    InvalidDefinitionError, ["'props.key'", "map", "renamed"]),
    "rename to a name that is taken": (lambda t: alter.rename_column(t, "id", "NAME"),
    AlreadyExistsError, ["'NAME'", "'id'"]),
    "rename to nothing": (lambda t: alter.rename_column(t, "id", ""), InvalidDefinitionError,
    ["''"]),
    "rename what is not there": (lambda t: alter.rename_column(t, "idd", "x"), NotFoundError,
    ["'idd'", "'id'"]),
    "narrow a type": (
        lambda t: alter.set_type(t, "id", "int16"), InvalidDefinitionError,
        ["'id'", "main.orders", "int16", "int32", "widening"]),
    "retype a struct": (lambda t: alter.set_type(t, "address", "struct(a int)"),
    InvalidDefinitionError, ["'address'", "main.orders"]),
    "make a field NOT NULL": (lambda t: alter.set_nullable(t, "address.city", False),
    InvalidDefinitionError, ["'address.city'", "main.orders", "nested"]),
    "give a field a default": (lambda t: alter.set_default(t, "address.city", "x"),
    InvalidDefinitionError, ["'address.city'", "main.orders", "nested"]),
    "give a default that does not fit": (lambda t: alter.set_default(t, "id", "x"),
    InvalidDefinitionError, ["'x'", "'id'", "int32"]),
    "give an empty expression": (lambda t: alter.set_default(t, "id", expression=""),
    InvalidDefinitionError, ["'id'", "empty expression"]),
    "tag what is not there": (lambda t: alter.set_column_tag(t, "zz", "k", "v"), NotFoundError,
    ["'zz'", "main.orders"]),
    "tag by no name": (lambda t: alter.set_column_tag(t, "id", "", "v"), InvalidDefinitionError,
    ["''", "tag"]),
    "tag with a NUL": (lambda t: alter.set_column_tag(t, "id", "k", "\x00"), InvalidDefinitionError,
    ["'\\x00'", "the k"]),
    "change by no name": (lambda t: alter.drop_column(t, ""), InvalidDefinitionError,
    ["''", "double quotes"]),
}  # fmt: skip


# --- layout ---


def test_partition_keys_are_columns_and_transforms_of_them(orders: Table) -> None:
    fields = alter.partition_fields(orders, ["Id", "bucket(8, id)", 'year("at")', "`at`"])
    assert [(f.column_id, str(f.transform)) for f in fields] == [
        (1, "identity"), (1, "bucket(8)"), (3, "year"), (3, "identity"),
    ]  # fmt: skip
    assert alter.partition_fields(orders, []) == ()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("at", SortKey('"at"')), ("AT desc", SortKey('"at"', descending=True)),
        ("name", SortKey('"Name"')), ('"Name" NULLS FIRST', SortKey('"Name"', nulls_first=True)),
        ("`name` asc nulls last", SortKey('"Name"')),
        ("  id  DESC  ", SortKey("id", descending=True)),
        ("lower(name) desc nulls first", SortKey("lower(name)", descending=True, nulls_first=True)),
    ],
)  # fmt: skip
def test_sort_keys_are_read_as_order_by_writes_them(orders: Table, text: str, key: SortKey) -> None:
    assert alter.sort_keys(orders, [text]) == (key,)
    assert alter.sort_keys(orders, [key]) == (key,)


def test_a_sort_key_named_like_a_keyword_is_quoted() -> None:
    table = _table(Field("order", "int"), Field("1st", "int"))
    assert alter.sort_keys(table, ["order", '"1st" desc']) == (
        SortKey('"order"'), SortKey('"1st"', descending=True),
    )  # fmt: skip


LAYOUT_REFUSALS: dict[str, Refusal] = {
    "partition by what is not there": (lambda t: alter.partition_fields(t, ["idd"]), NotFoundError,
    ["idd", "main.orders", "'id'"]),
    "partition twice by a key": (
        lambda t: alter.partition_fields(t, ["id", "ID"]), InvalidDefinitionError,
        ["main.orders", "twice"]),
    "partition by a struct": (lambda t: alter.partition_fields(t, ["address"]),
    InvalidDefinitionError, ["struct", "plain type"]),
    "partition by the month of a number": (
        lambda t: alter.partition_fields(t, ["month(id)"]), InvalidDefinitionError,
        ["month", "int32", "takes"]),
    "partition by an expression": (
        lambda t: alter.partition_fields(t, ["id + 1"]), InvalidDefinitionError,
        ["'id + 1'", "Partition by"]),
    "sort by what is not there": (lambda t: alter.sort_keys(t, ["idd desc"]), NotFoundError,
    ["'idd'", "main.orders"]),
    "sort by nothing": (lambda t: alter.sort_keys(t, [""]), InvalidDefinitionError,
    ["''", "sort key"]),
    "sort by a NUL": (lambda t: alter.sort_keys(t, [SortKey("a\x00")]), InvalidDefinitionError,
    ["sort key", "NUL"]),
}  # fmt: skip
REFUSALS = NEW_COLUMN_REFUSALS | CHANGE_REFUSALS | LAYOUT_REFUSALS


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_names_what_where_and_why(laid_out: Table, what: str) -> None:
    act, kind, said = REFUSALS[what]
    with pytest.raises(DuckLakeError) as refused:
        act(laid_out)
    assert type(refused.value) is kind
    text = str(refused.value)
    assert not [part for part in said if part not in text], text
    assert re.fullmatch(r"\[DL\d{3}\] [^\x00]+[.?)]", text, re.DOTALL)
