"""Identifiers: what equals what, how they are quoted, split and turned into directories."""

from __future__ import annotations

import time
import uuid
from itertools import pairwise
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec.names import (
    QualifiedName,
    check_column_name,
    check_identifier,
    check_text,
    directory_for,
    fold,
    is_storable,
    quote,
    split_identifier,
    uuid7,
)

UNIQUE = uuid.UUID("0190a1b2-0000-7000-8000-000000000001")
# Everything a catalog can hold as a name.
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20
)
ODD_NAMES = [
    "a", "Order Items", "a.b", ".", '"', '"a"', '""', "'", "`", "``", "a;--", "%s", ":x", "\\",
    "ß", "ẞ", "İ", "\u0131", "straße", "日本語", "👩‍👩‍👧", "\u202ertl", "\u200b", " lead", "trail ",
    "new\nline", "tab\t",
    "select", "1", "-", "x" * 63, "é" * 64,
]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Orders", "ORDERS"), ("Ä", "ä"), ("İ", "i\u0307"), ("I", "\u0131"), ("İ", "i"), ("ß", "ẞ"),
        ("straße", "STRASSE"), ("K", "\u212a"), ("Σ", "\u03c3"), ("é", "e\u0301"), ("aÄ", "AÄ"),
        ("aÄ", "Aä"),
        ("[", "{"), ("@", "`"),
    ],
)  # fmt: skip
def test_names_fold_as_they_do_in_duckdb(
    duck: duckdb.DuckDBPyConnection, one: str, other: str
) -> None:
    try:
        duck.execute(f"CREATE OR REPLACE TEMP TABLE folded ({quote(one)} INT, {quote(other)} INT)")
        same = False
    except duckdb.CatalogException:
        same = True
    assert (fold(one) == fold(other)) == same


@pytest.mark.parametrize("name", ODD_NAMES)
def test_duckdb_reads_a_quoted_name_as_it_is(duck: duckdb.DuckDBPyConnection, name: str) -> None:
    (column,) = duck.execute(f"SELECT 1 AS {quote(name)}").description
    assert column[0] == name


@given(NAMES)
def test_a_quoted_name_is_one_part_and_comes_back(name: str) -> None:
    assert split_identifier(quote(name)) == [name]


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_parts_with_dots_between_them_come_back(names: list[str]) -> None:
    assert split_identifier(".".join(map(quote, names))) == names


@given(NAMES, NAMES)
def test_a_shown_name_is_read_back_as_the_same(schema: str, name: str) -> None:
    shown = QualifiedName(schema, name)
    assert QualifiedName.parse(str(shown)) == shown


@given(st.text(max_size=12))
def test_any_text_is_split_or_refused_and_nothing_else(text: str) -> None:
    try:
        parts = split_identifier(text)
    except InvalidDefinitionError as error:
        assert repr(text) in str(error)  # noqa: PT017 - both outcomes are right
    else:
        assert all(isinstance(part, str) for part in parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ["a"]), ("a.b", ["a", "b"]), (" a . b ", ["a", "b"]), ("my table", ["my table"]),
        ('"a.b".c', ["a.b", "c"]), ('"say ""hi"""', ['say "hi"']), ("`a``b`.`c.d`", ["a`b", "c.d"]),
        ('"a"."b".c', ["a", "b", "c"]), ("it's", ["it's"]), ("a-b", ["a-b"]),
        ("ä.日本", ["ä", "日本"]),
    ],
)  # fmt: skip
def test_dotted_names_are_split_at_dots_outside_quotes(text: str, parts: list[str]) -> None:
    assert split_identifier(text) == parts


@pytest.mark.parametrize(
    "text", ["", " ", ".", "a.", ".a", "a..b", '"a', 'a"', '"a"b', 'a"b"', "`a", '"a" "b"', "a\n."]
)
def test_what_is_no_name_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(InvalidDefinitionError, match="Put double quotes around"):
        split_identifier(text)


def test_a_bare_table_name_is_one_of_the_schema_main() -> None:
    assert QualifiedName.parse("t") == QualifiedName("main", "t")
    assert QualifiedName.parse("t", "staging") == QualifiedName("staging", "t")
    assert QualifiedName.parse("s.t") == QualifiedName("s", "t")


def test_a_name_of_three_parts_is_no_table() -> None:
    with pytest.raises(InvalidDefinitionError, match=r"Write it as name or schema\.name"):
        QualifiedName.parse("lake.s.t")


def test_a_qualified_name_folds_both_its_parts() -> None:
    assert QualifiedName("Main", "İX").folded == ("main", "İx")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_that_catalogs_can_hold_are_accepted(name: str) -> None:
    assert check_identifier(name, "table") == name
    assert check_text(name, "a comment") == name


@pytest.mark.parametrize("name", ["", "\x00", "a\x00b", "\ud800", "a\udfff"])
def test_names_that_no_catalog_can_hold_are_refused(name: str) -> None:
    with pytest.raises(InvalidDefinitionError, match="cannot be the name of a table") as refused:
        check_identifier(name, "table")
    assert str(refused.value).isprintable()


def test_a_text_may_be_empty_but_not_unstorable() -> None:
    assert check_text("", "a comment") == ""
    assert not is_storable("a\x00")
    with pytest.raises(InvalidDefinitionError, match="cannot be stored as a comment"):
        check_text("a\x00", "a comment")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_directories_are_named_as_duckdb_names_them(file_lake: Any, name: str) -> None:
    file_lake.sql(
        f"CREATE SCHEMA {quote(name)}", f"CREATE TABLE {quote(name)}.{quote(name)} (i INT)"
    )
    ((schema_path, schema_uuid),) = file_lake.catalog(
        "SELECT path, schema_uuid FROM ducklake_schema WHERE schema_name = ?", name
    )
    ((table_path, table_uuid),) = file_lake.catalog(
        "SELECT path, table_uuid FROM ducklake_table WHERE table_name = ?", name
    )
    assert directory_for(name, uuid.UUID(schema_uuid)) == schema_path
    assert directory_for(name, uuid.UUID(table_uuid)) == table_path


def test_a_name_with_a_newline_at_its_end_is_no_directory() -> None:
    assert directory_for("orders", UNIQUE) == "orders/"
    assert directory_for("orders\n", UNIQUE) == f"{UNIQUE}/"


def test_new_uuids_are_of_version_7_and_sort_by_time() -> None:
    before = time.time_ns() // 1_000_000
    made = []
    for _ in range(5):
        made.append(uuid7())
        time.sleep(0.002)
    assert {(u.version, u.variant) for u in made} == {(7, uuid.RFC_4122)}
    assert all(one < other for one, other in pairwise(made))
    assert before <= made[0].int >> 80 <= time.time_ns() // 1_000_000
    assert len({uuid7() for _ in range(1_000)}) == 1_000


def test_a_directory_is_not_longer_than_file_systems_allow() -> None:
    unique = uuid7()
    assert directory_for("t" * 255, unique) == "t" * 255 + "/"
    assert directory_for("t" * 256, unique) == f"{unique}/"


@pytest.mark.parametrize("name", ["_ducklake_place", "_DuckLake_x", "_DUCKLAKE_"])
def test_names_of_columns_can_be_reserved(name: str) -> None:
    with pytest.raises(InvalidDefinitionError, match="reserved"):
        check_column_name(name)
    assert check_column_name(f"x{name}") == f"x{name}"
