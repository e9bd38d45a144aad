"""Fixtures for races: lakes that all start from the same content."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from support.lakes import LakeAddress, file_lake
from support.races import SCHEMAS, prepare


@pytest.fixture(scope="session")
def postgres_template(
    new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> LakeAddress:
    folder = tmp_path_factory.mktemp("races")
    lake = LakeAddress("postgres", f"postgres:{new_database()}", f"{folder}/")
    prepare(lake, SCHEMAS)
    return lake


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> LakeAddress:
    lake = file_lake("sqlite", tmp_path_factory.mktemp("races"))
    prepare(lake, SCHEMAS)
    return lake


@pytest.fixture
def copied(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_conninfo: str
) -> Callable[[str], LakeAddress]:
    """A copy of the lake that races start from; its data files are shared."""

    def copy(kind: str) -> LakeAddress:
        template: LakeAddress = request.getfixturevalue(f"{kind}_template")
        if kind == "sqlite":
            shutil.copy(template.catalog.removeprefix("sqlite:"), tmp_path / "copy.sqlite")
            return LakeAddress(kind, f"sqlite:{tmp_path}/copy.sqlite", template.data_path)
        origin = template.catalog.rpartition("dbname=")[2]
        name = f"races_{uuid.uuid4().hex[:12]}"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with psycopg.connect(f"{postgres_conninfo} dbname=postgres", autocommit=True) as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(origin)))
        return LakeAddress(kind, f"postgres:{postgres_conninfo} dbname={name}", template.data_path)

    return copy
