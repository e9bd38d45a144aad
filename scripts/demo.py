"""Runs the sample project: two builds, a delivery by DuckDB, maintenance, and a look around.

Every command is printed as you would type it in sample_project/. The lake is left there.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from ducklake_spark.catalog import Catalog

PROJECT = Path(__file__).parents[1] / "sample_project"
BIN = Path(sys.executable).parent
BOLD, PLAIN = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")


def main() -> None:
    started = time.monotonic()
    shutil.rmtree(PROJECT / "lake", ignore_errors=True)
    title("dbt builds raw tables, staging, marts and a snapshot: Spark does the work")
    build()
    after_first_build = newest_snapshot()
    title("DuckDB delivers into the same lake: new orders, changed ones, customers who moved")
    run("python", "with_duckdb/deliver.py")
    title("dbt builds again: the incremental models take what is new")
    build()
    title("Maintenance: small files become large ones")
    run("dbt", "--quiet", "run-operation", "ducklake_merge_adjacent_files")
    title("What is in the lake now, and what it was when it was young")
    run("ducklake", "snapshots", "--limit", "14")
    run("ducklake", "sql", TIME_TRAVEL.format(version=after_first_build))
    title("The same lake in DuckDB, which knows nothing of dbt or Spark")
    run("python", "with_duckdb/ask.py")
    title(f"Done in {time.monotonic() - started:.0f} seconds. The lake is in sample_project/lake")
    print(WHERE_NEXT)


TIME_TRAVEL = """\
select 'now' as seen, count(*) as orders, sum(revenue) as revenue from fct_orders
union all
select 'after the first build', count(*), sum(revenue) from fct_orders version as of {version}"""

WHERE_NEXT = """
  cd sample_project                       and have a look at models/, snapshots/ and profiles.yml
  ../.venv/bin/dbt build                  build again
  ../.venv/bin/dbt docs generate          the catalog, with row counts and sizes
  ../.venv/bin/ducklake shell             SQL on the lake, run by Spark
  ../docs/                                everything else: start with index.md
"""


def title(text: str) -> None:
    print(f"\n{BOLD}{text}{PLAIN}", flush=True)


def run(program: str, *arguments: str) -> None:
    """Run a command of this environment in the project, and stop the demo if it fails."""
    print(f"$ {' '.join(map(typed, (program, *arguments)))}", flush=True)
    command = (str(BIN / program), *arguments)
    environment = os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    if subprocess.run(command, cwd=PROJECT, env=environment, check=False).returncode:
        sys.exit(f"\nThe demo stops here: {program} failed. dbt's log is in {PROJECT}/logs.")


def typed(argument: str) -> str:
    """An argument as a person quotes it: SQL, which has single quotes in it, in double ones."""
    return f'"{argument}"' if "'" in argument else shlex.quote(argument)


def newest_snapshot() -> int:
    with Catalog.open(f"sqlite:{PROJECT}/lake/catalog.sqlite", create=False) as catalog:
        return catalog.snapshot().id


def build() -> None:
    run("dbt", "--quiet", "build")
    results = json.loads((PROJECT / "target" / "run_results.json").read_text())["results"]
    passed = 0
    for result in results:
        kind, _, name = result["unique_id"].partition(".")
        if kind in ("model", "seed", "snapshot"):
            response = result["adapter_response"].get("_message", "")
            print(f"  {kind:<9}{name.partition('.')[2]:<19}{response}")
        elif kind in ("test", "unit_test"):
            passed += result["status"] == "pass"
    print(f"  and {passed} tests passed")


if __name__ == "__main__":
    main()
