"""How much memory this process uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_RESET = Path("/proc/self/clear_refs")
CAN_MEASURE = _RESET.exists()  # on Linux


@dataclass
class Peak:
    """The memory of this process at its most, in bytes."""

    total: int = 0
    grown: int = 0


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure the peak of the resident memory; JVMs are processes of their own."""
    _RESET.write_text("5")  # the peak begins anew
    before, peak = resident_memory(), Peak()
    yield peak
    peak.total = _status("VmHWM")
    peak.grown = peak.total - before


def resident_memory() -> int:
    """Return the memory of this process in bytes."""
    return _status("VmRSS")


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024
