"""One story through dbt, in the environment that runs this file.

`run FOLDER` writes a small project and runs it; the last line of its output is JSON with the
versions and the result of each step. `read FOLDER` reads the lakes with DuckDB's extension.
The lake of the project has a SQLite catalog. A second lake has a catalog in a DuckDB file.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("pyspark", "dbt-core", "duckdb", "pyarrow", "pandas")
SEEDS = ("id,city\n1,Oslo\n2,Lima\n", "id,city\n1,Oslo\n2,Cusco\n3,Bern\n")
FILES = {
    "dbt_project.yml": """
name: story
profile: story
flags: {send_anonymous_usage_stats: false}
""",
    "profiles.yml": """
story:
  target: dev
  outputs:
    dev:
      type: ducklake
      catalog: "sqlite:{folder}/catalog.sqlite"
      data_path: "{folder}/data/"
      database: lake
      attach: [{{database: far, catalog: "duckdb:{folder}/far.duckdb"}}]
      threads: 2
""",
    "models/cities_now.sql": """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
select id, city, current_timestamp() as seen from {{ ref('cities') }}
""",
    "models/lengths.py": """
def model(dbt, session):
    frame = dbt.ref("cities_now").toPandas()
    frame["length"] = frame["city"].str.len()
    return frame[["id", "length"]]
""",
    "models/in_duckdb_file.sql": """
{{ config(materialized='table', database='far') }}
select id, array(city) as names, cast(id as decimal(10, 2)) as price from {{ ref('cities_now') }}
""",
    "models/shown.sql": "select id, upper(city) as city from {{ ref('cities_now') }}",
    "models/models.yml": """
models:
  - name: cities_now
    columns: [{name: id, data_tests: [unique, not_null]}]
unit_tests:
  - name: names_are_upper_case
    model: shown
    given: [{input: ref('cities_now'), rows: [{id: 1, city: x}]}]
    expect: {rows: [{id: 1, city: X}]}
""",
    "snapshots/history.yml": """
snapshots:
  - name: history
    relation: ref('cities')
    config: {strategy: check, check_cols: all, unique_key: id}
""",
    "functions/doubled.sql": "n * by_what",
    "functions/doubled.yml": """
functions:
  - name: doubled
    arguments: [{name: n, data_type: bigint}, {name: by_what, data_type: bigint, default_value: 2}]
    returns: {data_type: bigint}
""",
}
STEPS = (
    ("seed",),
    ("build", "--exclude", "resource_type:seed"),
    ("seed",),
    ("run",),
    ("snapshot",),
    ("test",),
    ("run-operation", "ducklake_merge_adjacent_files"),
    ("run-operation", "ducklake_verify"),
    ("docs", "generate"),
)
EXPECTED = {
    "SELECT id, city FROM lake.main.cities_now ORDER BY id": [
        (1, "Oslo"),
        (2, "Cusco"),
        (3, "Bern"),
    ],
    "SELECT id, city FROM lake.main.shown ORDER BY id LIMIT 1": [(1, "OSLO")],
    "SELECT id, length FROM lake.main.lengths ORDER BY id": [(1, 4), (2, 5), (3, 4)],
    "SELECT count(*), count(dbt_valid_to) FROM lake.main.history": [(4, 1)],
    "SELECT lake.main.doubled(4), lake.main.doubled(4, 3)": [(8, 12)],
    "SELECT id, names, price::INT FROM far.main.in_duckdb_file ORDER BY id LIMIT 1": [
        (1, ["Oslo"], 1)
    ],
}


def main() -> None:
    command, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    if command == "read":
        read(folder)
        return
    steps = [{"step": step, "error": error} for step, error in run(folder)]
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    print(json.dumps({"versions": versions, "steps": steps}))


def run(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield each step and its error. Stop at the first error."""
    from dbt.cli.main import dbtRunner

    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(folder=folder) if name == "profiles.yml" else text)
    os.chdir(folder)
    seeds = iter(SEEDS)
    (folder / "seeds").mkdir(exist_ok=True)
    for step in STEPS:
        if step == ("seed",):
            (folder / "seeds" / "cities.csv").write_text(next(seeds))
        done = dbtRunner().invoke(["--quiet", *step])
        failed = getattr(done.result, "results", None) or []
        messages = [str(result.message) for result in failed if result.message]
        error = None if done.success else str(done.exception or "; ".join(messages) or "failed")
        yield " ".join(step), error
        if error is not None:
            return


def read(folder: Path) -> None:
    """Read both lakes with DuckDB's ducklake extension, and print the version of DuckDB."""
    import duckdb

    connection = duckdb.connect()
    for extension in ("ducklake", "sqlite_scanner"):
        wheel = importlib.import_module(f"duckdb_extension_{extension}")
        home = Path(str(wheel.__file__)).parent / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"LOAD '{home / extension}.duckdb_extension'")
    connection.execute(f"ATTACH 'ducklake:sqlite:{folder}/catalog.sqlite' AS lake")
    connection.execute(f"ATTACH 'ducklake:{folder}/far.duckdb' AS far")
    for query, expected in EXPECTED.items():
        rows = connection.execute(query).fetchall()
        if rows != expected:
            raise SystemExit(f"{query}: expected {expected}, got {rows}")
    connection.execute("INSERT INTO lake.main.cities_now VALUES (4, 'Bonn', now())")
    print(duckdb.__version__)


if __name__ == "__main__":
    main()
