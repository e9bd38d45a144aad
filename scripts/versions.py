"""Run one story through dbt with many versions of what users install, and update the table in
docs/versions.md with what ran.

    .venv/bin/python scripts/versions.py --work /tmp/try --python 3.12=/opt/py312/bin/python3

Each combination has an environment of its own, in which one version differs from the default.
Combinations are left out if their interpreter is not given; their rows stay as they are. Needs
`uv` on the PATH, which shares the files of packages between environments.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "versions.md"
STORY = Path(__file__).with_name("version_story.py")
BEGIN, END = "<!-- rows: scripts/versions.py -->", "<!-- end of rows -->"
DUCKDB = "1.5.5"  # the newest with a ducklake extension on the package index
DEFAULTS = {"pyspark": "4.3.*", "dbt-core": "1.11.*", "duckdb": DUCKDB, "pyarrow": ">=26"}
DBT = "dbt-core==1.11.*"
EXTENSIONS = ("duckdb-extension-ducklake", "duckdb-extension-sqlite-scanner")
# Installed without its dependencies: it requires a parser that downloads a binary.
DBT_1_12 = ("dbt-core==1.12.*", "metricflow>=0.213,<1", "python-dotenv", "rapidfuzz", "tabulate")


@dataclass(frozen=True)
class Combination:
    """The default versions but for one, all of the oldest versions that pyproject.toml allows, or
    the default versions with another adapter that is installed before or after."""

    name: str
    package: str | None = None
    wanted: str = ""
    python: str = "3.11"
    is_oldest: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


COMBINATIONS = (
    Combination("default"),
    Combination("Python 3.12", python="3.12"),
    Combination("Python 3.13", python="3.13"),
    Combination("PySpark 4.2", "pyspark", "4.2.*"),
    Combination("PySpark 4.1", "pyspark", "4.1.*"),
    Combination("PySpark 4.0", "pyspark", "4.0.*"),
    Combination("dbt 1.12", "dbt-core", "1.12.*"),
    Combination("duckdb 2.0", "duckdb", "2.0.0"),
    Combination("oldest pyarrow", "pyarrow", "18.0.0"),
    Combination("all oldest", is_oldest=True),
    Combination("dbt-duckdb, then dbt-ducklake", before=("dbt-duckdb", DBT)),
    Combination("dbt-ducklake, then dbt-duckdb", after=("dbt-duckdb",)),
    Combination("dbt-databricks, then dbt-ducklake", before=("dbt-databricks", DBT)),
    Combination("dbt-ducklake, then dbt-databricks", after=("dbt-databricks",)),
)


def main() -> None:
    arguments = parse_arguments()
    pythons = {"3.11": sys.executable} | dict(text.split("=", 1) for text in arguments.python)
    work = arguments.work.resolve()
    wheel = build_wheel(work)
    for combination in COMBINATIONS:
        if arguments.only and combination.name not in arguments.only:
            continue
        if combination.python not in pythons:
            print(f"{combination.name}: left out, no interpreter")
            continue
        cells = try_out(combination, pythons[combination.python], wheel, work)
        print(" | ".join(cells), flush=True)
        update_page(cells)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="a folder for environments")
    parser.add_argument("--python", action="append", default=[], metavar="3.12=PATH")
    parser.add_argument("--only", action="append", default=[], metavar="COMBINATION")
    return parser.parse_args()


def build_wheel(work: Path) -> Path:
    folder = work / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    checked_run("uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT))
    return next(folder.glob("*.whl"))


def try_out(combination: Combination, python: str, wheel: Path, work: Path) -> list[str]:
    """Return the cells of a combination's row."""
    folder = work / combination.name.replace(",", "").replace(" ", "-").lower()
    shutil.rmtree(folder, ignore_errors=True)
    environment = create_environment(combination, python, wheel, folder / "env")
    project = folder / "project"
    project.mkdir()
    told = tell_story(environment, project, folder / "story.log")
    versions, failed = told["versions"], [step for step in told["steps"] if step["error"]]
    outcome = f"`dbt {failed[0]['step']}` failed" if failed else "passed"
    names = ("python", "pyspark", "dbt-core", "duckdb", "pyarrow")
    today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    reader = environment if versions["duckdb"] == DUCKDB else Path(sys.executable)
    read = "not tried" if failed else read_with_duckdb(reader, project)
    return [combination.name, *(versions[name] for name in names), outcome, read, today]


def create_environment(combination: Combination, python: str, wheel: Path, folder: Path) -> Path:
    """Create an environment and return its interpreter."""
    interpreter = folder / "bin" / "python"
    checked_run("uv", "venv", "--quiet", "--python", python, str(folder))
    install = ("uv", "pip", "install", "--quiet", "--python", str(interpreter))
    if combination.is_oldest:
        declared = ("--resolution", "lowest-direct", "-r", "pyproject.toml", "--extra", "duckdb")
        checked_run(*install, *declared, DBT)
        checked_run(*install, "--no-deps", str(wheel))
        return interpreter
    pins = DEFAULTS | ({combination.package: combination.wanted} if combination.package else {})
    is_new_dbt = pins["dbt-core"] == "1.12.*"
    if is_new_dbt:
        pins["dbt-core"] = DEFAULTS["dbt-core"]
    wanted = [f"{name}{pin if pin[0] in '<>=' else '==' + pin}" for name, pin in pins.items()]
    extensions = [f"{name}=={DUCKDB}" for name in EXTENSIONS if pins["duckdb"] == DUCKDB]
    if combination.before:
        checked_run(*install, *combination.before)
    checked_run(*install, f"dbt-ducklake[duckdb] @ {wheel.as_uri()}", *wanted, *extensions)
    if is_new_dbt:
        checked_run(*install, "--no-deps", *DBT_1_12)
    if combination.after:
        checked_run(*install, *combination.after)
    return interpreter


def tell_story(interpreter: Path, project: Path, log: Path) -> dict[str, Any]:
    command = [str(interpreter), str(STORY), "run", str(project)]
    hidden = {"PYTHONPATH", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    log.write_text(done.stdout + done.stderr)
    if done.returncode:
        raise SystemExit(f"The story did not end: see {log}.")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def read_with_duckdb(interpreter: Path, project: Path) -> str:
    command = [str(interpreter), str(STORY), "read", str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{done.stdout.strip()}: passed" if done.returncode == 0 else "failed: " + done.stderr


def update_page(cells: list[str]) -> None:
    """Replace the row of a combination, or add it after the others."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN + "\n", 1)
    table, after = rest.split(END, 1)
    heading, line, *rows = table.strip().splitlines()
    known = {row.split("|")[1].strip(): row for row in rows}
    known[cells[0]] = f"| {' | '.join(cells)} |"
    order = [combination.name for combination in COMBINATIONS if combination.name in known]
    table = "\n".join([heading, line, *(known[name] for name in order)])
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


def checked_run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
