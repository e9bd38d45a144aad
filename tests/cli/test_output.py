"""Results as text."""

from __future__ import annotations

import datetime

import pytest

from ducklake_spark.cli.output import outcome_text, show_rows
from ducklake_spark.sql import Outcome

NAMES = ["id", "what"]
ROWS = [(1, "a"), (20, None), (None, 'it\'s "b",\nc')]


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(NAMES, ROWS, "table", 100)
    assert capsys.readouterr().out.splitlines() == [
        "┌──────┬─────────────┐",
        "│   id │ what        │",
        "├──────┼─────────────┤",
        "│    1 │ a           │",
        "│   20 │ NULL        │",
        '│ NULL │ it\'s "b",⏎c │',
        "└──────┴─────────────┘",
        "3 rows",
    ]


def test_a_table_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(NAMES, [], "table", 100)
    assert capsys.readouterr().out.splitlines()[-2:] == ["└────┴──────┘", "0 rows"]


def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(NAMES, ROWS, "csv", 100)
    assert capsys.readouterr().out == 'id,what\n1,a\n20,\n,"it\'s ""b"",\nc"\n'
    show_rows(NAMES, [(1, {"k": [b"\x01", True]})], "json", 100)
    assert capsys.readouterr().out == '{"id": 1, "what": {"k": ["01", true]}}\n'


def test_keys_that_are_no_texts(capsys: pytest.CaptureFixture[str]) -> None:
    maps = [{datetime.date(2024, 1, 1): 1, True: {1.5: b"\x01"}}, [({"a": 1}, "x")]]
    show_rows(["m"], [(value,) for value in maps], "json", 100)
    first, second = capsys.readouterr().out.splitlines()
    assert first == '{"m": {"2024-01-01": 1, "true": {"1.5": "01"}}}'
    assert second == '{"m": [[{"a": 1}, "x"]]}'
    show_rows(["m"], [(maps[0],)], "csv", 100)
    assert '""2024-01-01"": 1' in capsys.readouterr().out


def test_equal_names_stay_apart(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(["a", "a", "a_1", "a"], [(1, 2, 3, 4)], "json", 100)
    assert capsys.readouterr().out == '{"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}\n'


def test_no_more_than_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(NAMES, ROWS, "csv", 2)
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 3
    assert "more than 2 rows" in captured.err


def test_long_values_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(["x"], [("y" * 500,)], "table", 2)
    assert max(map(len, capsys.readouterr().out.splitlines())) < 70


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome("BEGIN"), "BEGIN"),
        (
            Outcome("MERGE", 1, 2000, 3, 2, 1_500_000, 7),
            "MERGE: 1 row inserted, 2,000 rows updated, 3 rows deleted, 2 files of 1.5 MB, "
            "snapshot 7",
        ),
        (Outcome("INSERT", 5, files=1, bytes=10), "INSERT: 5 rows inserted, 1 file of 10 B"),
    ],
)
def test_what_a_statement_did(outcome: Outcome, text: str) -> None:
    assert outcome_text(outcome) == text
