"""What can be wrong with a lake, as a check of it reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """What a fault means to those who use the lake."""

    ERROR = "error"  # somebody reads wrong rows, fails, or will after the next commit
    WARNING = "warning"  # rows are right; space, speed or an old snapshot is what it costs


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, under a name that stays the same over versions."""

    severity: Severity
    fault: str
    relation: str
    problem: str
    advice: str
