"""Statements taken apart: nothing of the text is lost, and errors say where they are."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import StatementError
from ducklake_spark.sql.tokens import Cursor, Kind, literal, quoted, split_statements, tokenize

TEXTS = [
    "SELECT 1",
    "SELECT `a b`.`c``d`, 'it''s', \"x\" FROM t -- end",
    "SELECT /* c */ 10L, 1.5BD, .5, 1e-3, X'41', r'\\n' FROM t",
    "SELECT /*+ BROADCAST(t) */ a->b, a:b, a::int, {1}, [2] FROM t |> WHERE a <=> b",
    'SELECT \'a\nb\', "c\\"d" FROM `t`\n\t;',
    "SELECT größe, 変数, _x, a1 FROM täble",
]


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_in_order_and_have_their_places(text: str) -> None:
    last = 0
    for token in tokenize(text):
        assert last <= token.start < token.end <= len(text)
        last = token.end


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("abc", Kind.WORD, "abc"),
        ("größe", Kind.WORD, "größe"),
        ("`a b`", Kind.QUOTED, "a b"),
        ("`a``b`", Kind.QUOTED, "a`b"),
        ("'a b'", Kind.STRING, "a b"),
        ('"a"', Kind.STRING, "a"),
        ("r'a'", Kind.STRING, "a"),
        ("12", Kind.NUMBER, "12"),
        ("<=>", Kind.SYMBOL, "<=>"),
        ("|>", Kind.SYMBOL, "|>"),
    ],
)
def test_kinds(text: str, kind: Kind, shown: str) -> None:
    (token,) = tokenize(text)
    assert (token.kind, token.text) == (kind, shown)


def test_quoted_names_and_strings_are_no_keywords() -> None:
    assert [token.word for token in tokenize("`select` 'from' from")] == ["", "", "FROM"]


@pytest.mark.parametrize("text", ["SELECT 'a", "SELECT `a", "/* a", "SELECT 'a\\'"])
def test_what_is_not_closed_is_told(text: str) -> None:
    with pytest.raises(StatementError, match="not closed"):
        tokenize(text)


def test_statements_of_a_script() -> None:
    script = "SELECT ';' AS a; -- no; statement\n\nDELETE FROM `a;b`;; /* ; */ SELECT 2 ; -- end"
    assert split_statements(script) == [
        "SELECT ';' AS a",
        "DELETE FROM `a;b`",
        "SELECT 2",
    ]
    assert split_statements(" ; -- nothing\n") == []


def test_an_error_says_what_was_expected_and_where() -> None:
    cursor = Cursor("CREATE\n  TALE t")
    cursor.take()
    with pytest.raises(StatementError, match="Expected TABLE and found 'TALE' at line 2, column 3"):
        cursor.expect("TABLE")


def test_an_error_at_the_end() -> None:
    cursor = Cursor("DROP ;")
    cursor.take()
    with pytest.raises(StatementError, match="found 'the end' at line 1, column 5"):
        cursor.name()


@pytest.mark.parametrize(
    ("text", "ends", "found"),
    [
        ("a + 1, b", (",",), "a + 1"),
        ("f(a, b), c", (",",), "f(a, b)"),
        ("[1, 2], c", (",",), "[1, 2]"),
        ("CASE WHEN a THEN b END THEN c", ("THEN",), "CASE WHEN a THEN b END"),
        ("CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END, c", (",",),
         "CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END"),
        ("a) b", (",",), "a"),
        ("'a,b', c", (",",), "'a,b'"),
    ],
)  # fmt: skip
def test_expressions_end_outside_parentheses(text: str, ends: tuple[str, ...], found: str) -> None:
    assert Cursor(text).until(*ends) == found


@pytest.mark.parametrize(
    ("text", "found"), [("'it''s'", "it's"), ("'a' 'b'", "ab"), ("'a'\n\"b\"", "ab"), ("''", "")]
)
def test_strings_side_by_side_are_one(text: str, found: str) -> None:
    assert Cursor(text).string() == found


@pytest.mark.parametrize("text", ["a", "it's", "a\\b", "", "\n", "`x`", 'q"q', "𝄞"])
def test_what_is_quoted_is_read_back(text: str) -> None:
    assert Cursor(literal(text)).string() == text
    if text:
        assert Cursor(quoted(text)).name() == text
