"""Times, and what must be known about the machine to judge them."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("sqlalchemy", "psycopg", "duckdb", "duckdb-extension-ducklake")


@dataclass(frozen=True)
class Timing:
    """Milliseconds of the same work, done several times."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def p90(self) -> float:
        return sorted(self.samples)[int(len(self.samples) * 0.9)]


def clocked(action: Callable[[], object]) -> float:
    """Milliseconds that an action takes."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def timed(action: Callable[[], object], times: int, *, warm_up: int = 1) -> Timing:
    """An action's times once everything that is kept between two of them is there."""
    for _ in range(warm_up):
        action()
    return Timing(tuple(clocked(action) for _ in range(times)))


def machine(folder: Path) -> list[str]:
    """What the figures depend on, and how much they can be trusted."""
    work, sync = timed(_work, 200), timed(lambda: _sync(folder), 100)
    return [
        f"{os.cpu_count()} x {_processor()}, {platform.system()} {platform.release()}, "
        f"load {os.getloadavg()[0]:.1f}",
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        + ", ".join(f"{name} {version(name)}" for name in _PACKAGES),
        f"a write with fsync: {sync.median:.2f} ms (p90 {sync.p90:.2f})",
        f"a fixed piece of Python: {work.median:.2f} ms (p90 {work.p90:.2f}, "
        f"best {min(work.samples):.2f}): the farther apart, the noisier the machine",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "?")


def _work() -> None:
    sum(hash((i, str(i))) for i in range(2_000))


def _sync(folder: Path) -> None:
    with (folder / "sync").open("wb") as file:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())
