"""How long `dbt run` of one view takes when nothing runs yet, and beside a warm Connect server.

    python bench/start.py [--times 5] [--folder bench/.peers]

Seconds depend on the machine, so each is also told as a multiple of `dbt list`, which is dbt's own
start, with the plugin.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peers_environments import PEERS, cache, environment

sys.path.insert(0, str(Path(__file__).parents[1] / "integration_tests"))
from support.sparks import connect_server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / ".peers")
    given = parser.parse_args()
    programs = environment(PEERS["ducklake"], given.folder.resolve())
    with tempfile.TemporaryDirectory() as empty:
        archived = {"XDG_CACHE_HOME": str(cache(programs))}
        bare = _measure(programs, "list", {}, {}, given.times)
        print(f"dbt list: {bare:.1f} s")
        without = {"XDG_CACHE_HOME": empty}
        _report(
            "without `ducklake warm-up`", _measure(programs, "run", {}, without, given.times), bare
        )
        _report(
            "after `ducklake warm-up`", _measure(programs, "run", {}, archived, given.times), bare
        )
        server = {"spark_remote": connect_server(str(programs / "python"), ())}
        _report("a Connect server", _measure(programs, "run", server, archived, given.times), bare)


def _report(what: str, seconds: float, bare: float) -> None:
    print(f"dbt run of a view, {what}: {seconds:.1f} s, {seconds / bare:.2f} times", flush=True)


def _measure(
    programs: Path, command: str, profile: Mapping[str, Any], environ: Mapping[str, str], times: int
) -> float:
    """The median, without the first one: dbt parses the project then, and the server warms up."""
    with tempfile.TemporaryDirectory() as name:
        project = Path(name)
        (project / "models").mkdir()
        (project / "models" / "one.sql").write_text(
            "{{ config(materialized='view') }} select 1 as id\n"
        )
        (project / "dbt_project.yml").write_text("name: start\nprofile: start\n")
        outputs = {"bench": {"type": "ducklake", **profile}}
        profiles = {"start": {"target": "bench", "outputs": outputs}}
        (project / "profiles.yml").write_text(json.dumps(profiles))  # JSON is YAML
        return statistics.median(
            [_seconds(programs, command, project, environ) for _ in range(times + 1)][1:]
        )


def _seconds(programs: Path, command: str, project: Path, environ: Mapping[str, str]) -> float:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": path, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    started = time.monotonic()
    subprocess.run(
        (programs / "dbt", "--quiet", command),
        cwd=project,
        env=os.environ | own | environ,
        check=True,
        capture_output=True,
    )
    return time.monotonic() - started


if __name__ == "__main__":
    main()
