"""The grammar of ducklake_snapshot_changes: what others write is read, what we write is theirs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.spec.changes import (
    Change,
    describe_change,
    format_changes,
    listed_changes,
    parse_changes,
)
from ducklake_spark.spec.changes import ChangeKind as Kind
from ducklake_spark.spec.names import QualifiedName

NAMED = (
    Kind.CREATED_TABLE,
    Kind.CREATED_VIEW,
    Kind.CREATED_SCALAR_MACRO,
    Kind.CREATED_TABLE_MACRO,
)


def _table(schema: str, name: str) -> Change:
    return Change(Kind.CREATED_TABLE, QualifiedName(schema, name))


# The examples of FORMAT 1.5, as DuckDB wrote them.
EXAMPLES: dict[str, list[Change]] = {
    'created_schema:"main"': [Change(Kind.CREATED_SCHEMA, "main")],
    'created_table:"s1"."we,ird ""t"': [_table("s1", 'we,ird "t')],
    'created_table:"s1"."ctas",inserted_into_table:8': [
        _table("s1", "ctas"),
        Change(Kind.INSERTED_INTO_TABLE, 8),
    ],
    "inserted_into_table:1,deleted_from_table:1": [
        Change(Kind.INSERTED_INTO_TABLE, 1),
        Change(Kind.DELETED_FROM_TABLE, 1),
    ],
    'dropped_table:1,created_table:"main"."t2",inserted_into_table:9': [
        Change(Kind.DROPPED_TABLE, 1),
        _table("main", "t2"),
        Change(Kind.INSERTED_INTO_TABLE, 9),
    ],
    'created_table:"main"."pp",inserted_into_table:3,altered_table:3': [
        _table("main", "pp"),
        Change(Kind.INSERTED_INTO_TABLE, 3),
        Change(Kind.ALTERED_TABLE, 3),
    ],
    "dropped_schema:6,dropped_table:7": [
        Change(Kind.DROPPED_SCHEMA, 6),
        Change(Kind.DROPPED_TABLE, 7),
    ],
    'dropped_view:2,created_view:"main"."v"': [
        Change(Kind.DROPPED_VIEW, 2),
        Change(Kind.CREATED_VIEW, QualifiedName("main", "v")),
    ],
    'created_table:"main"."t2"': [_table("main", "t2")],
    "altered_table:4": [Change(Kind.ALTERED_TABLE, 4)],
    "altered_view:4": [Change(Kind.ALTERED_VIEW, 4)],
    "inlined_insert:1,inlined_delete:1": [
        Change(Kind.INLINED_INSERT, 1),
        Change(Kind.INLINED_DELETE, 1),
    ],
    "deleted_from_table:1,inline_flush:1": [
        Change(Kind.DELETED_FROM_TABLE, 1),
        Change(Kind.INLINE_FLUSH, 1),
    ],
    "merge_adjacent:1": [Change(Kind.MERGE_ADJACENT, 1)],
    "rewrite_delete:1": [Change(Kind.REWRITE_DELETE, 1)],
    'created_scalar_macro:"main"."f"': [
        Change(Kind.CREATED_SCALAR_MACRO, QualifiedName("main", "f"))
    ],
    "dropped_scalar_macro:3,dropped_table_macro:4": [
        Change(Kind.DROPPED_SCALAR_MACRO, 3),
        Change(Kind.DROPPED_TABLE_MACRO, 4),
    ],
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_what_duckdb_writes_is_read_and_written_the_same(text: str) -> None:
    assert parse_changes(text) == EXAMPLES[text]
    assert format_changes(EXAMPLES[text]) == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("flushed_inlined:1", Kind.INLINE_FLUSH),
        ("compacted_table:1", Kind.COMPACTED_TABLE),
        ("INSERTED_INTO_TABLE:1", Kind.INSERTED_INTO_TABLE),
        ("Flushed_Inlined:1", Kind.INLINE_FLUSH),
    ],
)
def test_older_and_other_spellings_are_read(text: str, kind: Kind) -> None:
    assert parse_changes(text) == [Change(kind, 1)]


@pytest.mark.parametrize("text", [None, ""])
def test_a_commit_that_says_nothing_did_nothing(text: str | None) -> None:
    assert parse_changes(text) == []


def test_no_changes_are_no_text() -> None:
    assert format_changes([]) == ""


_NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8
) | st.sampled_from(['"', '""', '","', '".', "a,b:1", 'x",dropped_table:"1', "\n", "\\"])
_IDS = st.integers(0, 2**63 - 1)
CHANGES = st.one_of(
    st.builds(Change, st.sampled_from(NAMED), st.builds(QualifiedName, _NAMES, _NAMES)),
    st.builds(Change, st.just(Kind.CREATED_SCHEMA), _NAMES),
    st.builds(
        Change,
        st.sampled_from([k for k in Kind if k not in (*NAMED, Kind.CREATED_SCHEMA)]),
        _IDS,
    ),
)


@given(st.lists(CHANGES, max_size=6))
def test_any_changes_come_back_once_each_in_the_order_of_the_reference(
    changes: list[Change],
) -> None:
    order = list(Kind)
    expected = sorted(dict.fromkeys(changes), key=lambda change: order.index(change.kind))
    assert parse_changes(format_changes(changes)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "created_table:5", 'created_table:"main"', "created_schema:5", 'dropped_table:"t"',
        'inserted_into_table:"main"."t"', "exploded:1", "inserted_into_table", "altered_table:",
        "inserted_into_table:x", "inserted_into_table:-1", "inserted_into_table:1.5", ":1", ",",
        "inserted_into_table:1 ,deleted_from_table:1", "inserted_into_table:1;deleted_from_table:1",
        "inserted_into_table:1,,deleted_from_table:1", ",inserted_into_table:1", " altered_table:1",
        'created_schema:"a', 'created_schema:a"', 'created_table:"a"."b', 'created_table:"a""b"',
        'created_table:"a"."b"."c"', 'created_schema:"a"x', "created_schema:main", "NULL", "{}",
        'created_view:"main".v', "altered_table:1 ",
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_refused_and_shown(text: str) -> None:
    with pytest.raises(CatalogDamagedError, match="another DuckLake client") as refused:
        parse_changes(text)
    assert "cannot be understood from" in refused.value.message


def test_the_refusal_begins_where_the_damage_does() -> None:
    with pytest.raises(CatalogDamagedError, match=r"from 'exploded:2,altered_table:3' on"):
        parse_changes("altered_table:1,exploded:2,altered_table:3")


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        changes = parse_changes(text)
    except CatalogDamagedError:
        return
    assert parse_changes(format_changes(changes)) is not None


def test_a_change_shows_itself_as_the_catalog_does() -> None:
    assert str(_table('s"', "t")) == 'created_table:"s"""."t"'
    assert str(Change(Kind.ALTERED_TABLE, 3)) == "altered_table:3"


@pytest.mark.parametrize(
    "text",
    [
        *EXAMPLES,
        "dropped_table_macro:4,altered_table:12,altered_table:3",
        'created_table_macro:"main"."m",created_schema:"s""x y",created_view:"Odd"."select"',
    ],
)
def test_changes_are_listed_as_duckdbs_snapshots_list_them(file_lake: Any, text: str) -> None:
    (newest,) = file_lake.catalog("SELECT max(snapshot_id) FROM ducklake_snapshot_changes")
    before = file_lake.catalog(
        "SELECT changes_made FROM ducklake_snapshot_changes WHERE snapshot_id = ?", *newest
    )
    change = "UPDATE ducklake_snapshot_changes SET changes_made = ? WHERE snapshot_id = ?"
    file_lake.catalog(change, text, *newest)
    told = f"SELECT changes FROM lake.snapshots() WHERE snapshot_id = {newest[0]}"
    ((theirs,),) = file_lake.sql(told)
    file_lake.catalog(change, *before[0], *newest)
    ours = listed_changes(parse_changes(text))
    assert list(ours) == list(theirs)
    assert {kind: sorted(names) for kind, names in ours.items()} == {
        kind: sorted(names) for kind, names in theirs.items()
    }


def test_a_change_is_described_by_the_name_of_its_relation() -> None:
    relations = {5: QualifiedName("main", "orders"), 7: QualifiedName("old", "")}
    text = 'dropped_schema:7,created_table:"main"."t",merge_adjacent:5,inserted_into_table:9'
    assert [describe_change(change, relations) for change in parse_changes(text)] == [
        "dropped_schema old",
        "created_table main.t",
        "merge_adjacent main.orders",
        "inserted_into_table 9",
    ]
