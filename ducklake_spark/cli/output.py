"""Print results: as a table for people, as CSV or JSON lines for programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from itertools import count
from typing import Any, TextIO

from ducklake_spark.cli.text_table import draw_table, json_text, terminal_width, value_text
from ducklake_spark.spec.sizes import count_text, size_text
from ducklake_spark.sql import Outcome, Result

FORMATS = ("table", "csv", "json")


def show(result: Result, shape: str, limit: int) -> None:
    """Print the rows of a result, or what was changed."""
    if result.outcome is not None and shape == "table":
        print(outcome_text(result.outcome))  # noqa: T201
        return
    names, rows = result.fetch(limit + 1)
    show_rows(names, rows, shape, limit)


def show_rows(names: Sequence[str], rows: Sequence[Sequence[Any]], shape: str, limit: int) -> None:
    """Print rows, at most `limit`; of the others it is only said that there are some."""
    shown = rows[:limit]
    write = {"csv": _write_csv, "json": _write_json}.get(shape, _write_table)
    write(sys.stdout, names, shown)
    if len(rows) > limit:
        print(f"There are more than {limit} rows: see --limit.", file=sys.stderr)  # noqa: T201
    elif shape == "table":
        print(count_text(len(rows), "row"))  # noqa: T201


def outcome_text(outcome: Outcome) -> str:
    """What a statement did, in a line."""
    counts = {"inserted": outcome.rows_inserted, "updated": outcome.rows_updated,
              "deleted": outcome.rows_deleted, "left out": outcome.rows_left_out}  # fmt: skip
    parts = [f"{count_text(count, 'row')} {what}" for what, count in counts.items() if count]
    if not parts and outcome.snapshot_id is None and outcome.is_row_change:
        parts.append("0 rows, no new snapshot")
    if outcome.files:
        parts.append(f"{count_text(outcome.files, 'file')} of {size_text(outcome.bytes)}")
    if outcome.snapshot_id is not None:
        parts.append(f"snapshot {outcome.snapshot_id}")
    return f"{outcome.operation}: {', '.join(parts)}" if parts else outcome.operation


def _write_table(out: TextIO, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    out.write(draw_table(names, rows, terminal_width()) + "\n")


def _write_csv(out: TextIO, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if v is None else value_text(v) for v in row] for row in rows])


def _write_json(out: TextIO, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    keys = _distinct(names)
    for row in rows:
        out.write(json_text(dict(zip(keys, row, strict=True))) + "\n")


def _distinct(names: Sequence[str]) -> list[str]:
    """The names with a number at those that come again, as DuckDB tells them apart."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(1))
        taken = {*found, *names}
        found.append(name if name not in found else next(n for n in numbered if n not in taken))
    return found
