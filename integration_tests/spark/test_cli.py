"""The command line on a lake: what it prints, and what DuckDB finds afterwards."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ducklake_spark.catalog import Catalog
from ducklake_spark.cli import main
from ducklake_spark.config import system_user
from ducklake_spark.session import Session
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle
from support.sparks import settings


@pytest.fixture
def lake(session: Session, tmp_path: Path) -> LakeAddress:
    """Where a lake will be; the Spark of the tests is the one that is found."""
    return file_lake("sqlite", tmp_path)


def on_spark() -> list[str]:
    """Where that Spark is, if it is not in this process."""
    remote = settings().remote
    return ["--remote", remote] if remote else []


def run(lake: LakeAddress, *arguments: str) -> int:
    command, *rest = arguments
    spark = on_spark() if command in ("sql", "shell") else []
    return main([command, "--catalog", lake.catalog, "--data-path", lake.data_path, *spark, *rest])


def test_statements(lake: LakeAddress, capsys: pytest.CaptureFixture[str]) -> None:
    script = "CREATE TABLE t AS SELECT id, 'v;' AS v FROM range(3); SELECT * FROM t WHERE id > 0"
    assert run(lake, "sql", script) == 0
    out = capsys.readouterr().out
    assert "CREATE TABLE AS: 3 rows inserted" in out
    assert "│  2 │ v; │" in out
    assert "2 rows" in out
    with Oracle(lake) as duck:
        assert duck.value("SELECT count(*) FROM t") == 3
    assert run(lake, "sql", "--output", "json", "SELECT map('a', array(1)) AS m") == 0
    assert json.loads(capsys.readouterr().out) == {"m": {"a": [1]}}
    assert run(lake, "tables", "--output", "csv") == 0
    assert capsys.readouterr().out == "schema,name,kind\nmain,t,table\n"
    assert run(lake, "snapshots", "--output", "csv", "--limit", "1") == 0
    out = capsys.readouterr().out
    assert "created_table" in out
    assert (system_user() or "") in out


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("map(named_struct('a', 1), 'x')", [[{"a": 1}, "x"]]),
        ("map(DATE'2024-01-01', map(1.5, 2))", {"2024-01-01": {"1.5": 2}}),
    ],
)
def test_maps_with_odd_keys(
    lake: LakeAddress, value: str, shown: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(lake, "sql", "--output", "json", f"SELECT {value} AS m") == 0
    assert json.loads(capsys.readouterr().out) == {"m": shown}
    assert run(lake, "sql", f"SELECT {value} AS m") == 0


def test_statements_from_stdin(
    lake: LakeAddress, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 1 AS a;\nSELECT 2 AS b\n"))
    assert run(lake, "sql", "--output", "csv", "-") == 0
    assert capsys.readouterr().out == "a\n1\nb\n2\n"


@pytest.mark.parametrize(
    "statement",
    ["SELECT nope", "SELECT 1 / 0", "SELECT 'a", "DROP TABLE x", "SELECT map(array(1), 2)"],
)
def test_errors(lake: LakeAddress, statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lake, "sql", statement) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("ducklake: [DL")
    assert "Traceback" not in captured.err


def test_an_error_shows_its_place(lake: LakeAddress, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lake, "sql", "SELECT 1,\n  nope") == 1
    first, line, place = capsys.readouterr().err.splitlines()
    assert "`nope`" in first
    assert line.strip() == "line 2:   nope"
    assert place.index("^") == line.index("nope")


@pytest.mark.parametrize("statement", ["SELECT * FROM t", "DELETE FROM t WHERE id = 1"])
def test_a_file_that_is_gone(
    lake: LakeAddress, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = "CREATE TABLE t AS SELECT id FROM range(0, 3, 1, 1); DELETE FROM t WHERE id = 0"
    assert run(lake, "sql", made) == 0
    (deletes,) = Path(lake.data_path).rglob("*-delete.parquet")
    deletes.unlink()
    capsys.readouterr()
    assert run(lake, "sql", statement) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"ducklake: [DL601] '{deletes}' of main.t is not there.")
    assert said.count("\n") == 1


def test_the_shell(
    lake: LakeAddress, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = (
        "help\n\nCREATE TABLE t\n  AS SELECT 1 AS a;\nSELECT nope;\nSELECT ';\n' AS b;\n"
        "BEGIN; INSERT INTO t VALUES (2);\nCOMMIT;\nSELECT sum(a) AS s FROM t"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert run(lake, "shell") == 0
    captured = capsys.readouterr()
    assert "Statements end with a semicolon" in captured.out
    assert "│ 3 │" in captured.out
    assert "│ ;⏎ │" in captured.out
    assert "`nope` cannot be resolved" in captured.err


def test_a_profile(
    lake: LakeAddress, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    with Oracle(lake) as duck:
        duck.run("CREATE SCHEMA marts", "CREATE TABLE marts.t AS SELECT 5 AS a")
    other = file_lake("duckdb", tmp_path)
    with Oracle(other) as duck:
        duck.run("CREATE TABLE u AS SELECT 6 AS b")
    monkeypatch.setenv("LAKE_CATALOG", lake.catalog)
    (tmp_path / "profiles.yml").write_text(
        "p:\n  outputs:\n    default:\n      type: ducklake\n"
        "      catalog: \"{{ env_var('LAKE_CATALOG') }}\"\n      database: mine\n"
        "      schema: marts\n      author: someone\n      attach:\n"
        f"        - {{database: other, catalog: '{other.catalog}', read_only: true}}\n"
    )
    query = "SELECT a + b AS c FROM t JOIN other.main.u; INSERT INTO mine.marts.t VALUES (1)"
    arguments = ["--profiles-dir", str(tmp_path), "--output", "csv", *on_spark()]
    assert main(["sql", *arguments, query]) == 0
    assert capsys.readouterr().out.startswith("c\n11\n")
    assert main(["sql", *arguments, "DELETE FROM other.u"]) == 1
    assert "read-only" in capsys.readouterr().err
    there = ["--profiles-dir", str(tmp_path), "--output", "csv", "--database", "OTHER"]
    assert main(["tables", *there]) == 0
    assert capsys.readouterr().out == "schema,name,kind\nmain,u,table\n"
    assert main(["sql", *there, *on_spark(), "SELECT b, a FROM u, mine.marts.t WHERE a > 1"]) == 0
    assert capsys.readouterr().out.startswith("b,a\n6,5\n")
    with Oracle(lake) as duck:
        assert duck.rows("SELECT author FROM lake.snapshots() ORDER BY ALL DESC LIMIT 1") == [
            ("someone",)
        ]


def test_ctrl_c_stops_a_statement_and_the_shell_goes_on(tmp_path: Path) -> None:
    catalog = f"sqlite:{tmp_path}/catalog.sqlite"
    command = (sys.executable, "-m", "ducklake_spark.cli", "shell", "--catalog", catalog)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write("CREATE TABLE t AS SELECT 1 AS a;\n")
        shell.stdin.flush()
        assert shell.stdout.readline().startswith("CREATE TABLE AS: 1 row")
        shell.stdin.write("INSERT INTO t SELECT sum(sqrt(id)) FROM range(300000000000);\n")
        shell.stdin.flush()
        time.sleep(3)  # Spark is at work by then; before, it is stopped as soon as it is.
        os.killpg(shell.pid, signal.SIGINT)
        told, errors = shell.communicate("SELECT count(*) AS n FROM t;\n", timeout=120)
    assert errors == "The statement was cancelled.\n"
    assert "1 row" in told
    assert list(tmp_path.glob("catalog.sqlite.files/**/*.parquet")) != []
    with Catalog.open(catalog, create=False) as lake:
        assert lake.snapshot().id == 1
