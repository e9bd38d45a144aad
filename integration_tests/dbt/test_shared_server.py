"""dbt on a PostgreSQL server that others share: its timeouts, and PgBouncer in front of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from dbt.cli.main import dbtRunner

from support.lakes import LakeAddress
from support.oracle import Oracle
from support.pooler import Pooler


@pytest.fixture
def run_dbt_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[LakeAddress, str], bool]:
    """Run a command of dbt in a project of a few models, with a lake as its target."""
    project = tmp_path / "project"
    (project / "models").mkdir(parents=True)
    for number in range(4):
        (project / "models" / f"m{number}.sql").write_text(
            f"{{{{ config(materialized='table') }}}} select {number} as id"
        )
    (project / "dbt_project.yml").write_text("name: shop\nprofile: shop\nversion: '1.0'\n")
    monkeypatch.chdir(project)

    def run(lake: LakeAddress, command: str) -> bool:
        output = {
            "type": "ducklake",
            "catalog": lake.catalog,
            "data_path": lake.data_path,
            "threads": 4,
        }
        profiles = {"shop": {"target": "dev", "outputs": {"dev": output}}}
        (project / "profiles.yml").write_text(yaml.safe_dump(profiles))
        where = ["--project-dir", str(project), "--profiles-dir", str(project)]
        return dbtRunner().invoke([command, *where]).success

    return run


def test_a_timeout_while_dbt_lists_schemas_is_one_error(
    make_lake: Callable[[str], LakeAddress],
    run_dbt_on: Callable[[LakeAddress, str], bool],
    capsys: Any,
) -> None:
    lake = make_lake("postgres")
    lake.open().close()
    role = f"hurried_{uuid.uuid4().hex[:8]}"
    lake.run(
        f"CREATE ROLE {role} SUPERUSER LOGIN", f"ALTER ROLE {role} SET statement_timeout = '100ms'"
    )
    hurried = LakeAddress(
        "postgres", lake.catalog.replace("user=postgres", f"user={role}"), lake.data_path
    )
    with psycopg.connect(lake.catalog.removeprefix("postgres:")) as holder:
        holder.execute("LOCK TABLE ducklake_snapshot IN ACCESS EXCLUSIVE MODE")
        assert not run_dbt_on(hurried, "run")
    out = capsys.readouterr().out
    assert "Traceback" not in out, out
    assert out.count("[DL208]") == 1, out
    assert "its setting statement_timeout" in out


def test_a_project_is_built_through_pgbouncer(
    make_lake: Callable[[str], LakeAddress],
    pooler: Pooler,
    postgres_conninfo: str,
    run_dbt_on: Callable[[LakeAddress, str], bool],
) -> None:
    lake = make_lake("postgres")
    pooled = lake.through(postgres_conninfo, pooler.conninfo)
    assert run_dbt_on(pooled, "run")
    assert run_dbt_on(pooled, "run")
    with Oracle(lake) as duck:
        for number in range(4):
            assert duck.rows(f"FROM m{number}") == [(number,)]
