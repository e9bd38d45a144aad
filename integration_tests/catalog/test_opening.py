"""Lakes are opened and created from every spelling of where they are, read-only or not."""

from __future__ import annotations

import datetime
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from ducklake_spark.catalog import Catalog, Field, Transaction
from ducklake_spark.errors import (
    CatalogNotFoundError,
    CatalogVersionError,
    ConfigError,
    DataPathError,
    NotFoundError,
    ReadOnlyError,
)
from support.lakes import KINDS, LakeAddress
from support.oracle import Oracle
from support.parquet import append, delete_positions
from support.reader import read_rows

MakeLake = Callable[[str], LakeAddress]


def _fill(lake: LakeAddress) -> None:
    """The table t, with the one row 1."""
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.create_table("t", [Field("id", "int32")])
        append(tx, "t", [{"id": 1}])


def _duck_rows(lake: LakeAddress, query: str = "FROM t ORDER BY ALL") -> list[int]:
    with Oracle(lake) as duck:
        return [row[0] for row in duck.rows(query)]


# --- spellings ---

SPELLINGS = {
    "sqlite": ["sqlite:{0}", "ducklake:sqlite:{0}", "sqlite:///{0}", "sqlite+pysqlite:///{0}"],
    "duckdb": ["{0}", "ducklake:{0}", "duckdb:{0}", "duckdb:///{0}"],
    "postgres": [
        "postgres:{0}", "ducklake:postgres:{0}", "postgresql:{0}", "postgres:{1}", "{1}",
        "postgresql+psycopg{2}", "postgres{2}",
    ],
}  # fmt: skip


def _spell(lake: LakeAddress, spelling: str) -> str:
    plain = lake.catalog.removeprefix(f"{lake.kind}:")
    if lake.kind != "postgres":
        return spelling.format(plain)
    parts = conninfo_to_dict(plain)
    secret = f":{quote(str(parts['password']), safe='')}" if "password" in parts else ""
    user, host = quote(str(parts["user"]), safe=""), quote(str(parts["host"]), safe="")
    url = f"://{user}{secret}@/{parts['dbname']}?host={host}&port={parts.get('port', 5432)}"
    return spelling.format(plain, f"postgresql{url}", url)


@pytest.mark.parametrize("kind", KINDS)
def test_every_spelling_opens_the_same_lake(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    _fill(lake)
    for spelling in SPELLINGS[kind]:
        with Catalog.open(_spell(lake, spelling), create=False) as catalog:
            assert [entry.name.name for entry in catalog.at().tables("main")] == ["t"], spelling


@pytest.mark.parametrize(
    ("kind", "spelling"), [(kind, s) for kind in KINDS for s in SPELLINGS[kind]]
)
def test_every_spelling_creates_a_lake_that_duckdb_opens(
    make_lake: MakeLake, kind: str, spelling: str
) -> None:
    lake = make_lake(kind)
    with Catalog.open(_spell(lake, spelling), data_path=lake.data_path) as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
        assert catalog.snapshot().id == 1
    with Oracle(lake) as duck:
        duck.run("INSERT INTO t VALUES (7)")
        assert duck.rows("FROM t") == [(7,)]


@pytest.mark.parametrize("catalog", ["sqlite:lake.sqlite", "sqlite:///sub/lake.sqlite", "lake.db"])
def test_a_relative_path_is_one_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Catalog.open(catalog, data_path="files").close()
    file = tmp_path / catalog.removeprefix("sqlite:").removeprefix("///")
    assert file.is_file()
    other_way = f"sqlite:{file}" if catalog.startswith("sqlite") else str(file)
    with Catalog.open(other_way, create=False) as opened:
        assert opened.data_path == f"{tmp_path}/files/"


@pytest.mark.parametrize("kind", KINDS)
def test_an_open_lake_shows_where_it_is(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    with lake.open() as catalog:
        plain = lake.catalog.removeprefix(f"{kind}:")
        shown = conninfo_to_dict(plain)["dbname"] if kind == "postgres" else plain
        assert str(shown) in repr(catalog)


# --- a schema of its own in PostgreSQL ---


@pytest.mark.parametrize("schema", ["lake_one", "My Lake", 'odd "schema"', "public"])
def test_a_lake_lives_in_a_schema_of_its_own(make_lake: MakeLake, schema: str) -> None:
    base = make_lake("postgres")
    lake = LakeAddress("postgres", base.catalog, base.data_path, schema)
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.create_table("t", [Field("id", "int32")], options={"data_inlining_row_limit": 10})
    found = base.sql("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename LIKE 'ducklake%'")
    assert found == [(schema,)]
    with Oracle(lake) as duck:
        duck.run("INSERT INTO t VALUES (1), (2)", "INSERT INTO t VALUES (3)")

    with lake.open() as catalog:
        table = catalog.at().table("t")
        inlined = [(r.row_id, r.values) for r in catalog.at().inlined_rows(table)]
        assert inlined == [(0, {1: 1}), (1, {1: 2}), (2, {1: 3})]
        with catalog.transaction() as tx:
            tx.delete_inlined("t", [0])
            append(tx, "t", [{"id": 8}, {"id": 9}])
    with Oracle(lake) as duck:
        assert duck.rows("FROM t ORDER BY id") == [(2,), (3,), (8,), (9,)]
        duck.run("DELETE FROM t WHERE id = 8")  # which goes into a table of the catalog as well
    with lake.open() as catalog:
        assert [row["id"] for row in read_rows(catalog.at(), table)] == [2, 3, 9]
        with catalog.transaction() as tx:
            delete_positions(tx, "t", tx.files(table)[0], [1])
    assert _duck_rows(lake) == [2, 3]


def test_two_lakes_in_one_database_do_not_mix(make_lake: MakeLake) -> None:
    base = make_lake("postgres")
    lakes = [
        LakeAddress("postgres", base.catalog, f"{base.data_path}{name}/", name)
        for name in ("one", "two")
    ]
    for lake in lakes:
        _fill(lake)
    with lakes[0].open() as catalog, catalog.transaction() as tx:
        append(tx, "t", [{"id": 2}])
    assert [_duck_rows(lake) for lake in lakes] == [[1, 2], [1]]
    with pytest.raises(CatalogNotFoundError):
        base.open(create=False)


def test_without_a_schema_the_lake_is_where_duckdb_looks_for_it(make_lake: MakeLake) -> None:
    lake = make_lake("postgres")
    # A schema named like the user comes first in PostgreSQL's own search path.
    lake.sql("CREATE SCHEMA AUTHORIZATION CURRENT_USER")
    _fill(lake)
    assert _duck_rows(lake) == [1]
    assert lake.sql(
        "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename LIKE 'ducklake%'"
    ) == [("public",)]


@pytest.mark.parametrize("schema", ["", "é" * 32])
def test_a_schema_that_postgres_cannot_have_is_refused(make_lake: MakeLake, schema: str) -> None:
    with pytest.raises(ConfigError, match="1 to 63 bytes"):
        Catalog.open(make_lake("postgres").catalog, metadata_schema=schema)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_has_no_schemas(make_lake: MakeLake, kind: str) -> None:
    with pytest.raises(ConfigError, match=f"A {kind} catalog has no schemas"):
        Catalog.open(make_lake(kind).catalog, metadata_schema="s")


# --- read-only ---

WRITES: list[Callable[[Transaction], object]] = [
    lambda tx: tx.create_table("u", [Field("id", "int32")]),
    lambda tx: tx.drop_table("t"),
    lambda tx: tx.rename_table("t", "u"),
    lambda tx: tx.add_column("t", Field("x", "int32")),
    lambda tx: tx.create_schema("s"),
    lambda tx: tx.create_view("v", "SELECT 1"),
    lambda tx: tx.comment_on_table("t", "x"),
    lambda tx: tx.truncate("t"),
    lambda tx: tx.set_option("parquet_compression", "zstd"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_lake_opened_read_only_is_read_and_not_written(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    _fill(lake)
    before = lake.dump()
    with lake.open(read_only=True) as catalog:
        assert catalog.read_only
        assert read_rows(catalog.at(), catalog.at().table("t")) == [{"id": 1}]
        for write in WRITES:
            refusal = pytest.raises(ReadOnlyError, match="open read-only")
            with refusal as refused, catalog.transaction() as tx:
                write(tx)
            assert "without read_only" in str(refused.value)
        with catalog.transaction() as tx:
            pass  # nothing to write is nothing to refuse
    assert lake.dump() == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"read_only": True}, {"create": False}], ids=str)
def test_a_lake_that_is_missing_is_not_created_on_the_way(
    make_lake: MakeLake, kind: str, options: dict[str, bool]
) -> None:
    lake = make_lake(kind)
    with pytest.raises(CatalogNotFoundError, match=r"no DuckLake catalog at .* to create it"):
        lake.open(**options)
    if kind == "postgres":
        assert lake.tables() == []
    else:
        assert list(Path(lake.data_path).parent.iterdir()) == []


# --- the data path ---


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_path_is_kept_and_need_not_be_given_again(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    _fill(lake)
    assert lake.sql("SELECT value FROM ducklake_metadata WHERE key = 'data_path'") == [
        (lake.data_path,)
    ]
    folder = lake.data_path.rstrip("/")
    for given in (
        None,
        folder,
        f"{folder}//",
        f"{folder}/x/..",
        f"file://{folder}",
        f"file:{folder}",
    ):
        with lake.open(data_path=given) as catalog:
            assert catalog.data_path == lake.data_path


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_keeps_its_data_beside_it_unless_told_otherwise(
    make_lake: MakeLake, kind: str
) -> None:
    lake = make_lake(kind)
    file = lake.catalog.removeprefix("sqlite:")
    with lake.open(data_path=None) as catalog:
        assert catalog.data_path == f"{file}.files/"


def test_a_lake_on_a_server_must_be_told_where_its_data_goes(make_lake: MakeLake) -> None:
    lake = make_lake("postgres")
    with pytest.raises(DataPathError, match=r"needs a data path.*Set data_path"):
        lake.open(data_path=None)
    assert lake.tables() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_relative_data_path_is_stored_as_given_and_means_what_duckdb_means(
    make_lake: MakeLake, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    made = make_lake(kind)
    lake = LakeAddress(kind, made.catalog, "some/where")
    _fill(lake)
    assert lake.sql("SELECT value FROM ducklake_metadata WHERE key = 'data_path'") == [
        ("some/where/",)
    ]
    with lake.open(data_path=str(tmp_path / "some" / "where")) as catalog:
        assert catalog.data_path == f"{tmp_path}/some/where/"
    with Oracle(lake) as duck:
        duck.run("INSERT INTO t SELECT * FROM range(2, 20)")
    assert len(list((tmp_path / "some/where/main/t").iterdir())) == 2
    with lake.open() as catalog:
        assert len(read_rows(catalog.at(), catalog.at().table("t"))) == 19


def test_a_tilde_in_the_data_path_is_the_home_directory(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    lake = LakeAddress("sqlite", make_lake("sqlite").catalog, "~/files")
    _fill(lake)
    with lake.open() as catalog:
        assert catalog.data_path == f"{tmp_path}/files/"
    assert _duck_rows(lake) == [1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_data_path_that_contradicts_the_stored_one_is_refused(
    make_lake: MakeLake, kind: str
) -> None:
    lake = make_lake(kind)
    _fill(lake)
    with pytest.raises(DataPathError) as refused:
        lake.open(data_path="/else/where")
    for said in ("'/else/where'", repr(lake.data_path), "value of data_path"):
        assert said in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_have_moved_are_found_where_they_are_now(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    _fill(lake)
    moved = lake.data_path.replace("/data/", "/moved/")
    shutil.move(lake.data_path, moved)
    with lake.open(data_path=moved, override_data_path=True) as catalog:
        assert catalog.data_path == moved
        assert read_rows(catalog.at(), catalog.at().table("t")) == [{"id": 1}]
        with catalog.transaction() as tx:
            append(tx, "t", [{"id": 2}])
    here = LakeAddress(kind, lake.catalog, moved)
    with Oracle(here, override_data_path=True) as duck:
        assert duck.rows("FROM t ORDER BY id") == [(1,), (2,)]
    assert not os.path.exists(lake.data_path)  # noqa: PTH110 - a text, as users write it


@pytest.mark.parametrize("path", ["", "a\x00b", "a\ud800b"])
def test_a_data_path_that_cannot_be_is_refused_before_anything_is_made(
    make_lake: MakeLake, path: str
) -> None:
    lake = make_lake("sqlite")
    with pytest.raises(DataPathError, match="cannot be the data path"):
        lake.open(data_path=path)
    with pytest.raises(CatalogNotFoundError):
        lake.open(create=False)


# --- other versions ---


_WAYS_OUT = {"0.3": "AUTOMATIC_MIGRATION", "0.4": "AUTOMATIC_MIGRATION"} | dict.fromkeys(
    ("", "10", "1.0 ", "x"), "table ducklake_metadata"
)


@pytest.mark.parametrize(
    ("kind", "version"),
    [("sqlite", v) for v in ("0.3", "0.4", "1.1-dev1", "2.0", "", "10", "1.0 ", "x")]
    + [(kind, "1.2") for kind in KINDS],
)
def test_a_lake_of_another_version_is_refused_with_the_way_out(
    make_lake: MakeLake, kind: str, version: str
) -> None:
    lake = make_lake(kind)
    _fill(lake)
    lake.sql(f"UPDATE ducklake_metadata SET value = '{version}' WHERE key = 'version'")
    before = lake.dump()
    for read_only in (True, False):
        with pytest.raises(CatalogVersionError) as refused:
            lake.open(read_only=read_only)
        said = f"version {version!r}. dbt-ducklake reads versions 1.0 and 1.1."
        assert said in str(refused.value)
        assert _WAYS_OUT.get(version, "Upgrade dbt-ducklake") in str(refused.value)
    assert lake.dump() == before


# --- what an open lake is asked ---


@pytest.mark.parametrize("fact", ["version", "created_by", "data_path", "encrypted"])
def test_the_facts_of_a_lake_cannot_be_removed_as_if_they_were_options(
    make_lake: MakeLake, fact: str
) -> None:
    lake = make_lake("sqlite")
    with lake.open() as catalog:
        for value in (None, "x"):
            refusal = pytest.raises(NotFoundError, match=f"The option '{fact}' does not exist")
            with refusal, catalog.transaction() as tx:
                tx.set_option(fact, value)
    lake.open(create=False).close()


def test_a_point_in_time_needs_a_time_zone(make_lake: MakeLake) -> None:
    with make_lake("sqlite").open() as catalog:
        now = datetime.datetime.now(datetime.UTC)
        assert catalog.snapshot(timestamp=now).id == 0
        with pytest.raises(ConfigError, match=r"no time zone.*datetime\.now\(UTC\)"):
            catalog.snapshot(timestamp=now.replace(tzinfo=None))


@pytest.mark.parametrize("version", ["3", 3.0, b"3"])
def test_a_version_is_a_whole_number(make_lake: MakeLake, version: Any) -> None:
    with make_lake("sqlite").open() as catalog:
        with pytest.raises(ConfigError, match="no version of the lake"):
            catalog.snapshot(version)
        with pytest.raises(NotFoundError, match="Snapshot 9223372036854775808"):
            catalog.at(2**63)
