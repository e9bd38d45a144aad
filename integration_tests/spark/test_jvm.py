"""A Spark that ends in the middle is told in a line, and the next statement has another one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_BEGINNING = """
import os, signal, sys
from pyspark import SparkContext
from pyspark.sql import SparkSession
from ducklake_spark import Lake
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.session import SparkSettings

HUGE = "SELECT size(collect_list(repeat(cast(id AS string), 1000))) AS n FROM range(10000000)"

def open_lake(spark=SparkSettings("local[2]", config={"spark.driver.memory": "512m"})):
    return Lake.open("sqlite:catalog.sqlite", "data/", spark)

def say(lake, statement):
    try:
        result = lake.execute(statement)
        print(result.fetch(3)[1] if result.rows else result.outcome.operation)
    except DuckLakeError as error:
        print(type(error).__name__, error)

def kill():
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)

"""


def _run(script: str, folder: Path) -> list[str]:
    """The lines that a script prints in a process of its own, whose Spark may end."""
    done = subprocess.run(
        (sys.executable, "-c", _BEGINNING + script),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


def test_a_query_that_needs_too_much_memory(tmp_path: Path) -> None:
    lines = _run(
        """
with open_lake() as lake:
    say(lake, "CREATE TABLE t AS SELECT 1 AS id")
    say(lake, "CREATE TABLE u AS " + HUGE)
    say(lake, "INSERT INTO t VALUES (2)")
    say(lake, HUGE)
    say(lake, "SELECT * FROM t ORDER BY id")
    say(lake, "SELECT * FROM u")
""",
        tmp_path,
    )
    told = "QueryError [DL402] Spark ran out of memory"
    assert lines[0] == "CREATE TABLE AS"
    assert lines[1].startswith(told)
    assert lines[2] == "INSERT"
    assert lines[3].startswith(told)
    assert "spark.driver.memory" in lines[3]
    assert lines[4] == "[(1,), (2,)]"
    assert "lake.main.u does not exist" in lines[5]


def test_a_transaction_goes_on_in_another_spark(tmp_path: Path) -> None:
    lines = _run(
        """
with open_lake() as lake:
    other = lake.sibling()
    lake.begin()
    say(lake, "CREATE TABLE t AS SELECT id FROM range(3)")
    kill()
    say(lake, "INSERT INTO t SELECT id FROM range(3, 5)")
    say(lake, "INSERT INTO t SELECT id FROM range(5, 7)")
    lake.commit()
    say(other, "SELECT count(*), max(id) FROM t")
with open_lake() as lake:
    kill()
    SparkContext._gateway.proc.wait()
with open_lake() as lake:
    say(lake, "SELECT count(*) FROM t")
""",
        tmp_path,
    )
    assert lines[0] == "CREATE TABLE AS"
    # The system may have ended Spark before the statement began, or while it ran.
    assert lines[1] == "INSERT" or "[DL402] Spark was killed" in lines[1]
    assert lines[2] == "INSERT"
    assert lines[3] in ("[(7, 6)]", "[(5, 6)]")
    assert lines[4] == f"[({lines[3][2]},)]"


def test_a_spark_of_the_users_own_is_not_replaced(tmp_path: Path) -> None:
    lines = _run(
        """
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
with open_lake(spark) as lake:
    say(lake, "CREATE TABLE t AS SELECT 1 AS id")
    kill()
    SparkContext._gateway.proc.wait()
    say(lake, "INSERT INTO t SELECT 2")
    say(lake, "SELECT * FROM t")
with open_lake() as lake:
    say(lake, "SELECT * FROM t")
""",
        tmp_path,
    )
    assert lines[0] == "CREATE TABLE AS"
    assert lines[1].startswith("QueryError [DL402] Spark was killed")
    assert lines[2] == lines[1]
    assert lines[3] == "[(1,)]"


_PROJECT = """
name: shop
profile: shop
"""
_PROFILE = """
shop:
  target: dev
  outputs:
    dev:
      type: ducklake
      threads: 1
      spark_config: {spark.driver.memory: 512m}
"""
_HUGE = "select size(collect_list(repeat(cast(id as string), 1000))) as n from range(10000000)"


def test_dbt_reports_it_for_one_model_and_builds_the_others(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text(_PROJECT)
    (tmp_path / "profiles.yml").write_text(_PROFILE)
    (tmp_path / "models").mkdir()
    for name, query in (("a", "select 1 as id"), ("b", _HUGE), ("c", "select 2 as id")):
        model = f"{{{{ config(materialized='table') }}}} {query}"
        (tmp_path / "models" / f"{name}.sql").write_text(model)
    dbt = Path(sys.executable).with_name("dbt")
    done = subprocess.run((dbt, "run"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "PASS=2 WARN=0 ERROR=1" in done.stdout, done.stdout
    assert done.stdout.count("Spark ran out of memory") == 1, done.stdout
    assert "Errno" not in done.stdout + done.stderr
