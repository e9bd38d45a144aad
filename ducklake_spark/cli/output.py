"""Results as text: a table for people, CSV and JSON lines for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from itertools import count
from typing import Any, TextIO

from ducklake_spark.spec.sizes import count_text, size_text
from ducklake_spark.sql import Outcome, Result

FORMATS = ("table", "csv", "json")
_WIDEST = 60


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
              "deleted": outcome.rows_deleted}  # fmt: skip
    parts = [f"{count_text(count, 'row')} {what}" for what, count in counts.items() if count]
    if outcome.files:
        parts.append(f"{count_text(outcome.files, 'file')} of {size_text(outcome.bytes)}")
    if outcome.snapshot_id is not None:
        parts.append(f"snapshot {outcome.snapshot_id}")
    return f"{outcome.operation}: {', '.join(parts)}" if parts else outcome.operation


def table_text(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as an aligned table; numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    header = [_cut(name) for name in names]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [
        any(_is_number(row[at]) for row in rows) and all(
            row[at] is None or _is_number(row[at]) for row in rows
        )
        for at in range(len(names))
    ]  # fmt: skip

    def line(values: Sequence[str]) -> str:
        aligned = [
            value.rjust(width) if to_right else value.ljust(width)
            for value, width, to_right in zip(values, widths, right, strict=True)
        ]
        return f"│ {' │ '.join(aligned)} │"

    def rule(left: str, middle: str, end: str) -> str:
        return left + middle.join("─" * (width + 2) for width in widths) + end

    top, under, bottom = rule("┌", "┬", "┐"), rule("├", "┼", "┤"), rule("└", "┴", "┘")
    return "\n".join([top, line(header), under, *map(line, cells), bottom])


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    return "NULL" if value is None else _cut(_text(value))


def _cut(text: str) -> str:
    text = text.replace("\n", "⏎").replace("\t", " ")
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple, dict)):
        return _json(value)
    return str(value)


def _json(value: Any) -> str:
    return json.dumps(_keyed_by_text(value), default=_text, ensure_ascii=False)


def _keyed_by_text(value: Any) -> Any:
    """The value with texts for the keys of its maps, as JSON has no others."""
    if isinstance(value, dict):
        return {_text(key): _keyed_by_text(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_keyed_by_text(item) for item in value]
    return value


def _write_table(out: TextIO, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    out.write(table_text(names, rows) + "\n")


def _write_csv(out: TextIO, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if v is None else _text(v) for v in row] for row in rows])


def _write_json(out: TextIO, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    keys = _distinct(names)
    for row in rows:
        out.write(_json(dict(zip(keys, row, strict=True))) + "\n")


def _distinct(names: Sequence[str]) -> list[str]:
    """The names with a number at those that come again, as DuckDB tells them apart."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(1))
        taken = {*found, *names}
        found.append(name if name not in found else next(n for n in numbered if n not in taken))
    return found
