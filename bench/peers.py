"""The same dbt project on this adapter and on its peers, each in an environment of its own.

    python bench/peers.py [--scale 1.0] [--only ducklake,spark,duckdb] [--folder bench/.peers]

Each step is a dbt command of its own, and its time is what one waits for: dbt's start and Spark's
are in it. Beside the first stands a script of Spark's alone, with the time of `dbt list` added.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from peers_environments import PEERS, SPARK, Peer, cache, environment, postgres, prepare

sys.path.insert(0, str(Path(__file__).parents[1] / "integration_tests"))
from support.sparks import connect_server

PROJECT = Path(__file__).parent / "peers_project"
SMALL_TABLES = 50
ORDERS, CUSTOMERS = 6_000_000, 100_000


@dataclass(frozen=True)
class Step:
    """A command of dbt's in one of two rounds; the second one finds changed data."""

    name: str
    command: tuple[str, ...]
    round: int = 1


STEPS = (
    Step("table of {orders} rows", ("run", "-s", "big")),
    Step("join and aggregate", ("run", "-s", "revenue")),
    Step("incremental, first load", ("run", "-s", "merged")),
    Step("incremental merge of 2 %", ("run", "-s", "merged"), 2),
    Step("snapshot, first load", ("snapshot",)),
    Step("snapshot of 1 % changes", ("snapshot",), 2),
    Step("50 small tables", ("run", "-s", "small")),
    Step("view", ("run", "-s", "orders_view")),
)


def main() -> None:
    given = _arguments()
    folder = given.folder.resolve()
    keys = given.only.split(",")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        work = Path(stack.enter_context(TemporaryDirectory(prefix="ducklake-peers-")))
        conninfo = stack.enter_context(postgres(work)) if "postgres" in keys else None
        if "postgres" in keys and conninfo is None:
            keys.remove("postgres")
        print(f"making {int(ORDERS * given.scale):,} orders", file=sys.stderr)
        _make_data(work / "data", given.scale)
        times = {}
        for key in keys:
            programs = environment(PEERS[key], folder)
            prepare(key, programs, work / key)
            times[key] = _measure(key, PEERS[key], programs, work, conninfo or "")
    _print(times, given.scale)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="1.0 is 6 million rows")
    parser.add_argument("--only", default=",".join(PEERS), help=f"of {', '.join(PEERS)}")
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parent / ".peers", help="for the environments"
    )
    return parser.parse_args()


def _make_data(folder: Path, scale: float) -> None:
    """Parquet files that every engine reads: hash() gives the same numbers each time."""
    folder.mkdir()
    orders, customers = int(ORDERS * scale), int(CUSTOMERS * scale) or 100
    changed = orders // 50
    order = f"""
        SELECT i AS id, (hash(i, 'c') % {customers})::BIGINT AS customer_id,
            (hash(i, 'q', {{version}}) % 9 + 1)::INT AS quantity,
            ((hash(i, 'p') % 9000) / 100)::DECIMAL(10, 2) AS price,
            TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL 1 SECOND * (i * 60_000_000 // {orders})
                AS ordered_at,
            'order ' || hash(i) AS note
        FROM {{source}} AS t(i)"""
    customer = f"""
        SELECT i AS id, 'customer ' || i AS name,
            'city ' || hash(i, 'city', {{version}}) % 100 AS city,
            TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL {{version}} DAY AS updated_at
        FROM range({customers}) AS t(i) WHERE {{which}}"""
    unchanged, moved = "i % 100 <> 7", "i % 100 = 7"
    # Half of the changes are new orders, the others are spread over all that there are.
    step = orders // (changed // 2)
    files = {
        "orders": order.format(source=f"range({orders})", version=1),
        "changes": order.format(source=f"range(0, {orders}, {step})", version=2)
        + " UNION ALL "
        + order.format(source=f"range({orders}, {orders + changed // 2})", version=2),
        "customers_1": customer.format(version=1, which="true"),
        "customers_2": customer.format(version=1, which=unchanged)
        + " UNION ALL "
        + customer.format(version=2, which=moved),
    }
    with duckdb.connect() as connection:
        for name, query in files.items():
            connection.execute(f"COPY ({query}) TO '{folder}/{name}.parquet'")


def _measure(
    key: str, peer: Peer, programs: Path, work: Path, conninfo: str
) -> dict[str, float | None]:
    """Seconds by step; None for what the peer does not do."""
    folder = work / key
    project = folder / "project"
    shutil.copytree(PROJECT, project)
    for number in range(SMALL_TABLES):
        text = f"select * from {{{{ raw('customers_1') }}}} where id % {SMALL_TABLES} = {number}\n"
        (project / "models" / "small").mkdir(exist_ok=True)
        (project / "models" / "small" / f"small_{number:02}.sql").write_text(text)
    output = {"schema": "bench", "threads": 4} | peer.profile(folder)
    if key == "postgres":
        output["catalog"] = f"postgres:{conninfo}"
    if key == "connect":
        output["spark_remote"] = connect_server(str(programs / "python"), tuple(SPARK.items()))
    profiles = {"peers": {"target": "bench", "outputs": {"bench": output}}}
    (project / "profiles.yml").write_text(json.dumps(profiles))  # JSON is YAML
    if key == "script":
        return {STEPS[0].name: _script(programs, project, work)}
    times: dict[str, float | None] = {}
    for step in STEPS:
        times[step.name] = seconds = _run(programs, project, work, step)
        shown = "-" if seconds is None else f"{seconds:.1f} s"
        print(f"{peer.title}: {step.name.format(orders='many')}: {shown}", file=sys.stderr)
    return times


def _script(programs: Path, project: Path, work: Path) -> float | None:
    """Seconds for dbt's own start, and for Spark alone to write what the first step writes."""
    config = "".join(f".config({key!r}, {value!r})" for key, value in SPARK.items())
    script = (
        "from pyspark.sql import SparkSession\n"
        f"spark = SparkSession.builder{config}.getOrCreate()\n"
        f"spark.read.parquet('{work}/data/orders.parquet').write.parquet('{work}/script/orders')"
    )
    start = _seconds((programs / "dbt", "--quiet", "list"), project, programs, work)
    written = _seconds((programs / "python", "-I", "-c", script), project, programs, work)
    return start + written if start and written else None


def _run(programs: Path, project: Path, work: Path, step: Step) -> float | None:
    variables = json.dumps({"round": step.round})
    command = (programs / "dbt", "--quiet", *step.command, "--vars", variables)
    return _seconds(command, project, programs, work)


def _seconds(
    command: Sequence[str | Path], project: Path, programs: Path, work: Path
) -> float | None:
    """How long a command takes; None if it fails."""
    environ = os.environ | {
        "PEERS_DATA": str(work / "data"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "XDG_CACHE_HOME": str(cache(programs)),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    environ.pop("PYTHONPATH", None)
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=project, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-4:]), file=sys.stderr)
        return None
    return time.monotonic() - started


def _print(times: dict[str, dict[str, float | None]], scale: float) -> None:
    """The figures, each with its ratio to the first column's."""
    first, *others = times
    print(
        f"{datetime.date.today()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
        "in brackets how many times our time on SQLite\n"
    )
    titles = [PEERS[key].title for key in times]
    print(f"| | {' | '.join(titles)} |")
    print(f"|---|{'--:|' * len(times)}")
    for name in (step.name for step in STEPS):
        ours = times[first].get(name)
        cells = [_cell(ours, None)] + [_cell(times[key].get(name), ours) for key in others]
        print(f"| {name.format(orders=_millions(scale))} | {' | '.join(cells)} |")


def _cell(seconds: float | None, ours: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.1f} s" + (f" ({seconds / ours:.2f})" if ours else "")


def _millions(scale: float) -> str:
    count = ORDERS * scale
    return f"{count / 1e6:g} M" if count >= 1e6 else f"{count:,.0f}"


if __name__ == "__main__":
    main()
