"""Results as text."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from ducklake_spark.cli.output import outcome_text, show_rows
from ducklake_spark.cli.text_table import draw_table
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


def test_a_pipe_gets_whole_values_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(["x"], [("y" * 500,)], "table", 2)
    assert "y" * 500 in capsys.readouterr().out


def test_values_wrap_to_the_width_of_the_terminal() -> None:
    advice = "Run ducklake_cleanup_old_files, then run ducklake_verify again."
    path = "main/orders/" + "0123456789abcdef" * 4 + ".parquet"
    lines = draw_table(["id", "file", "advice"], [(1, path, advice), (2, "b", "-")], 80).split("\n")
    assert {len(line) for line in lines} == {80}
    assert sum(line.startswith("├") for line in lines) == 2  # below the header, between the rows
    columns = [[part.strip() for part in line.split("│")[1:-1]] for line in lines if "│" in line]
    assert "".join(row[1] for row in columns[1:-1]) == path
    assert " ".join(row[2] for row in columns[1:-1]).split() == advice.split()


def test_a_table_of_many_columns_keeps_them_readable() -> None:
    names = [f"column_{at:02}" for at in range(20)]
    header = draw_table(names, [["a value of some length"] * 20], 80).split("\n")[1]
    assert [part.strip() for part in header.split("│")[1:-1]] == names


def test_decimals_align_to_the_right() -> None:
    text = draw_table(["d"], [(Decimal("1.50"),), (Decimal("100.00"),), (None,)])
    assert [line[2:-2] for line in text.split("\n")[3:-1]] == ["  1.50", "100.00", "  NULL"]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome("BEGIN"), "BEGIN"),
        (Outcome("DELETE"), "DELETE: 0 rows, no new snapshot"),
        (Outcome("CREATE VIEW", snapshot_id=3), "CREATE VIEW: snapshot 3"),
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
