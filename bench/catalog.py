"""How fast the catalog client is on a big lake, with DuckDB's own time for the same work.

    python bench/catalog.py [--kinds sqlite,postgres] [--scale 1.0]

Exits with 1 if a bar is missed. bench/README.md says what the lines mean.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "integration_tests")]

from big_lake import Size, fill  # noqa: E402 - the path comes first
from duck import Duck  # noqa: E402
from lakes import lakes, working_folder  # noqa: E402
from ours import Ours  # noqa: E402
from timing import Timing, machine  # noqa: E402

from support.lakes import KINDS, LakeAddress  # noqa: E402

_APPEND = {"sqlite": 10.0, "postgres": 20.0}
_ALL = dict.fromkeys(("sqlite", "postgres"), 0.0)


def _bar(milliseconds: float) -> dict[str, float]:
    return dict.fromkeys(_ALL, milliseconds)


@dataclass(frozen=True)
class Line:
    """Work to measure: a method of `Ours` and `Duck`. Bars are milliseconds by kind."""

    label: str
    method: str
    bars: Mapping[str, float] = field(default_factory=dict)


_ON_OURS = (
    Line("append a file to a table of 10", "append_small", _APPEND),
    Line("append a file to a table of {files}", "append_events", _APPEND),
    Line("state of a table of 10 files", "state", _bar(10)),
    Line("one of {files} files by integer", "pruned_id", _bar(100)),
    Line("one of {files} files by timestamp", "pruned_seen", _bar(100)),
    Line("one of {files} files by text", "pruned_code", _bar(100)),
    Line("one of {files} files by decimal", "pruned_amount", _bar(100)),
    Line("all {files} files", "all_files"),
    Line("history of {snapshots} snapshots", "history"),
    Line("snapshot at a time halfway", "snapshot_at"),
    Line("names of {tables} tables", "list_tables"),
    Line("create 100 tables in a commit", "create_tables"),
    Line("append 1,000 files in a commit", "append_many"),
    Line("open the lake", "open"),
)
_ON_DUCKDBS = (
    Line("append a file to a table of 10", "append_small"),
    Line("state of a table of 10 files", "state"),
    Line("one of {files} files by integer", "pruned_id", _bar(500)),
    Line("one of {files} files by timestamp", "pruned_seen", _bar(500)),
    Line("one of {files} files by text", "pruned_code", _bar(500)),
    Line("one of {files} files by decimal", "pruned_amount", _bar(500)),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kinds", default="sqlite,postgres", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="how big the lake is")
    options = parser.parse_args()
    size = Size.scaled(options.scale)
    with working_folder() as folder:
        for fact in machine(folder):
            print(fact)
        missed = sum(_measure(kind, folder, size) for kind in options.kinds.split(","))
        print("\n".join(machine(folder)[-2:]))
    return 1 if missed else 0


def _measure(kind: str, folder: Path, size: Size) -> int:
    with lakes(kind, folder, ("ours", "duckdb")) as (ours, duckdbs):
        ours.open().close()
        fill(ours, size)
        missed = _table(f"{kind}: a lake made by us, with indexes", _ON_OURS, ours, size)
        Duck(duckdbs, size).open()
        fill(duckdbs, size)
        return missed + _table(f"{kind}: a lake made by DuckDB", _ON_DUCKDBS, duckdbs, size)


def _table(title: str, lines: tuple[Line, ...], lake: LakeAddress, size: Size) -> int:
    print(f"\n{title}\n")
    print("| ms | median | p90 | bar | | DuckDB | and ATTACH |\n|---|--:|--:|--:|---|--:|--:|")
    missed = 0
    ours, duck = Ours(lake, size), Duck(lake, size)
    for line in lines:
        timing = getattr(ours, line.method)()
        warm, cold = getattr(duck, line.method, lambda: (None, None))()
        bar = line.bars.get(lake.kind)
        verdict = "" if bar is None else "ok" if timing.median <= bar else "MISSED"
        missed += verdict == "MISSED"
        label = line.label.format(
            files=f"{size.files:,}", tables=f"{size.tables:,}", snapshots=f"{size.snapshots:,}"
        )
        limit = "" if bar is None else f"{bar:.0f}"
        figures = f"{timing.median:.1f} | {timing.p90:.1f} | {limit} | {verdict}"
        print(f"| {label} | {figures} | {_shown(warm)} | {_shown(cold)} |", flush=True)
    print(f"\n{ours.parts_of_a_commit()}\n{ours.memory()}")
    ours.close()
    return missed


def _shown(timing: Timing | None) -> str:
    return "" if timing is None else f"{timing.median:.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
