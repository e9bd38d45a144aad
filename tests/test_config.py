"""The strings that name a catalog, and what they stand for."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import pytest

from ducklake_spark.config import (
    CatalogAddress,
    CommitSettings,
    DuckDBAddress,
    PostgresAddress,
    Secret,
    SqliteAddress,
    parse_catalog,
)
from ducklake_spark.errors import ConfigError, UnsupportedCatalogError


def _sqlite(path: str) -> SqliteAddress:
    return SqliteAddress(Path(path))


def _duckdb(path: str) -> DuckDBAddress:
    return DuckDBAddress(Path(path))


def _postgres(conninfo: str) -> PostgresAddress:
    return PostgresAddress(Secret(conninfo))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("sqlite:lake.sqlite", _sqlite("lake.sqlite")),
        ("sqlite:/data/my lake.sqlite", _sqlite("/data/my lake.sqlite")),
        ("SQLite:lake.sqlite", _sqlite("lake.sqlite")),
        ("ducklake:sqlite:lake.sqlite", _sqlite("lake.sqlite")),
        ("  ducklake:sqlite:lake.sqlite  ", _sqlite("lake.sqlite")),
        ("sqlite:///lake.sqlite", _sqlite("lake.sqlite")),
        ("sqlite:////data/lake.sqlite", _sqlite("/data/lake.sqlite")),
        ("sqlite+pysqlite:////data/lake.sqlite", _sqlite("/data/lake.sqlite")),
        ("lake.ducklake", _duckdb("lake.ducklake")),
        ("/data/lake.ducklake", _duckdb("/data/lake.ducklake")),
        ("ducklake:/data/lake.ducklake", _duckdb("/data/lake.ducklake")),
        ("duckdb:/data/lake.ducklake", _duckdb("/data/lake.ducklake")),
        ("duckdb:////data/lake.ducklake", _duckdb("/data/lake.ducklake")),
        ("./user=me/lake.ducklake", _duckdb("user=me/lake.ducklake")),
        ("postgres:dbname=lake host=h", _postgres("dbname=lake host=h")),
        ("postgresql:dbname=lake", _postgres("dbname=lake")),
        ("postgres:", _postgres("")),
        ("ducklake:postgres:dbname=lake", _postgres("dbname=lake")),
        ("postgres:postgresql://u@h/lake", _postgres("postgresql://u@h/lake")),
        ("postgresql://u:p%40@h:5433/lake?sslmode=require",
         _postgres("postgresql://u:p%40@h:5433/lake?sslmode=require")),
        ("postgres://u@h/lake", _postgres("postgresql://u@h/lake")),
        ("postgresql+psycopg://u@h/lake", _postgres("postgresql://u@h/lake")),
        ("postgresql+psycopg2://u@h/lake", _postgres("postgresql://u@h/lake")),
    ],
)  # fmt: skip
def test_every_spelling_of_a_catalog_is_understood(text: str, address: CatalogAddress) -> None:
    assert parse_catalog(text) == address


@pytest.mark.parametrize("text", ["C:/data/lake.ducklake", "C:\\data\\lake.ducklake"])
def test_a_windows_drive_is_no_kind_of_catalog(text: str) -> None:
    assert parse_catalog(text) == _duckdb(text)


@pytest.mark.parametrize("text", ["~/lake.ducklake", "sqlite:~/lake.ducklake"])
def test_a_tilde_is_the_home_directory(text: str) -> None:
    address = parse_catalog(text)
    assert not isinstance(address, PostgresAddress)
    assert address.path == Path.home() / "lake.ducklake"


@pytest.mark.parametrize("text", ["mysql:db=lake", "mysql://h/lake", "mysql+pymysql://h/lake",
                                  "MariaDB://h/lake", "ducklake:mysql:db=lake"])  # fmt: skip
def test_mysql_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnsupportedCatalogError, match=r"MySQL .* Use PostgreSQL"):
        parse_catalog(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("oracle://h/lake", "oracle"), ("s3://bucket/lake", "s3"), ("jdbc:postgresql://h/x", "jdbc"),
     ("md:lake", "md")],
)  # fmt: skip
def test_an_unknown_kind_is_named_with_the_ones_there_are(text: str, kind: str) -> None:
    with pytest.raises(UnsupportedCatalogError, match=f"'{kind}' .*sqlite:FILE, postgres:"):
        parse_catalog(text)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "ducklake:", "sqlite:", "sqlite://", "sqlite:///", "duckdb:", "duckdb://",
     "sqlite:///?timeout=5", "sqlite:///lake.sqlite?mode=ro", ":memory:", "sqlite::memory:",
     "duckdb::memory:", "sqlite:a\x00b", "a\x00b", "a\ud800b", "postgres:dbname=a\x00b"],
)  # fmt: skip
def test_what_names_no_catalog_is_refused_with_what_would(text: str) -> None:
    with pytest.raises(ConfigError, match=r"Write sqlite:FILE") as refused:
        parse_catalog(text)
    assert not isinstance(refused.value, UnsupportedCatalogError)


@pytest.mark.parametrize(
    "text",
    ["dbname=lake password=CANARY", "host=h dbname=lake password=CANARY", "password = CANARY",
     "user=u password=CANARY dbname=lake", "ducklake:dbname=lake password=CANARY"],
)  # fmt: skip
def test_a_connection_string_without_its_prefix_does_not_become_a_file_name(text: str) -> None:
    with pytest.raises(ConfigError, match="does not say of what kind") as refused:
        parse_catalog(text)
    assert "CANARY" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["mysql://u:CANARY@h/db", "oracle://u:CANARY@h/db", "sqlite://?key=CANARY", "me:CANARY@h/db"],
)
def test_a_refusal_does_not_show_what_may_be_a_password(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_catalog(text)
    assert "CANARY" not in str(refused.value)


def test_a_secret_shows_itself_to_nobody_but_who_asks_for_its_value() -> None:
    secret = Secret("CANARY")
    holder = PostgresAddress(secret)
    shown = [str(secret), repr(secret), f"{secret!s:>9}", repr(holder), str(holder), repr([holder])]
    shown += [repr(dataclasses.asdict(holder)), repr(dataclasses.astuple(holder))]
    assert not [text for text in shown if "CANARY" in text]
    assert secret.value == "CANARY"


def test_secrets_are_equal_by_value_and_copied_whole() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
    assert copy.deepcopy(Secret("a")) == Secret("a")


def test_addresses_say_their_kind() -> None:
    texts = ("sqlite:a", "postgres:dbname=a", "a")
    assert [parse_catalog(text).kind for text in texts] == ["sqlite", "postgres", "duckdb"]


def test_commits_keep_trying_for_a_while_by_default() -> None:
    settings = CommitSettings()
    assert settings.max_attempts > 10
    assert settings.first_wait_ms <= settings.longest_wait_ms
