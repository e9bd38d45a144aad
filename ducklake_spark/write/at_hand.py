"""Rows that need no job to be written: few that are computed from literals, and none at all.

A job that writes ten such rows takes far longer than the rows themselves, and packages that log
their runs insert little else. This process writes them, as workers write changed rows.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

_LITERALS = {"LocalRelation", "OneRowRelation", "ResolvedInlineTable"}
# A plan contains one of these for `WHERE 1 = 0`, `WHERE false` and `LIMIT 0`.
_PERHAPS_EMPTY = re.compile(r"Filter (\(\d+ = \d+\)|false)|Limit 0\b")
# More are worth a job, which can write several files at once.
_MOST_ROWS = 10_000


def rows_at_hand(frame: DataFrame) -> pa.Table | None:
    """Return the rows of a frame that are certainly few and need nothing read; None otherwise.

    None on Spark Connect, too, which does not show its plans.
    """
    execution: Any = frame._jdf.queryExecution() if hasattr(frame, "_jdf") else None
    if execution is None:
        return None
    # Optimising a query may take long: do it only where the plan suggests few or no rows.
    plan = execution.analyzed()
    if _is_of_literals(plan):
        allowed = _MOST_ROWS
    elif _PERHAPS_EMPTY.search(plan.toString()):
        allowed = 0
    else:
        return None
    most = execution.optimizedPlan().maxRows()
    return frame.toArrow() if most.isDefined() and most.get() <= allowed else None


def _is_of_literals(plan: Any) -> bool:
    leaves = plan.collectLeaves()
    return leaves.size() == 1 and leaves.apply(0).nodeName() in _LITERALS
