"""Runs `dbt snapshot` with dbt-duckdb, once per step, as a second opinion.

It is a process of its own: two adapters in one process would share dbt's global state.
"""

from __future__ import annotations

import json
import sys

from dbt.cli.main import dbtRunner


def snapshot(folder: str, step: int) -> None:
    """Run the snapshots of a project for one step. Raise if one fails."""
    arguments = ["--quiet", "snapshot", "--project-dir", folder, "--profiles-dir", folder]
    done = dbtRunner().invoke([*arguments, "--vars", json.dumps({"step": step})])
    if not done.success:
        results = getattr(done.result, "results", [])
        failed = [f"{r.node.name}: {r.message}" for r in results if r.status != "success"]
        raise SystemExit(f"step {step}: {done.exception or failed}")


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        snapshot(sys.argv[1], number)
