"""Faults that the machine finds and that are not fixed yet.

Each name here keeps the machine from the steps that show the fault. Remove a name together with its
fix: from then on the machine searches for the fault again.
"""

from __future__ import annotations

EXPIRED_BASE = "a snapshot that a transaction reads is expired"

NOT_FIXED = frozenset({EXPIRED_BASE})
