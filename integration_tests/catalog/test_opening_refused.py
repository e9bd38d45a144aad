"""What is no lake, cannot be reached, or may not be touched is refused by one of our own errors."""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.catalog.dialects import duckdb as duckdb_dialect
from ducklake_spark.errors import (
    CatalogAccessError,
    CatalogDamagedError,
    CatalogError,
    CatalogNotFoundError,
    CatalogUnavailableError,
    ConfigError,
    UnsupportedCatalogError,
)
from support.lakes import KINDS, LakeAddress
from support.roles import user_with_password

MakeLake = Callable[[str], LakeAddress]
ID = [Field("id", "int32")]
WAYS: list[dict[str, Any]] = [{}, {"read_only": True}, {"create": False}]


def _make(lake: LakeAddress) -> None:
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.create_table("t", ID)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A DuckDB file that another process holds is given up on at once."""
    monkeypatch.setattr(duckdb_dialect, "_OPEN_TIMEOUT_S", 0.2)


# --- no lake ---


def _file(lake: LakeAddress) -> Path:
    return Path(lake.catalog.removeprefix("sqlite:"))


FOREIGN: dict[str, Callable[[Path], object]] = {
    "a text": lambda path: path.write_text("Dear diary, " * 500),
    "a short text": lambda path: path.write_text("x"),
    "a Parquet file": lambda path: path.write_bytes(b"PAR1" + bytes(100) + b"PAR1"),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
}


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("content", FOREIGN)
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_is_no_database_is_no_lake_and_stays_as_it_is(
    make_lake: MakeLake, kind: str, content: str, options: dict[str, bool]
) -> None:
    lake = make_lake(kind)
    FOREIGN[content](_file(lake))
    before = _file(lake).read_bytes()
    with pytest.raises(CatalogAccessError, match=r"is not a \w+ file.*name another file") as no:
        lake.open(**options)
    assert str(_file(lake)) in str(no.value)
    assert _file(lake).read_bytes() == before


def test_a_file_of_the_other_kind_is_refused_with_how_to_write_it(make_lake: MakeLake) -> None:
    one, other = make_lake("sqlite"), make_lake("duckdb")
    _make(one)
    _make(other)
    with pytest.raises(CatalogAccessError, match=r"not a DuckDB file.* Write sqlite:FILE"):
        Catalog.open(str(_file(one)))
    with pytest.raises(CatalogAccessError, match=r"not a SQLite file.* the path alone"):
        Catalog.open(f"sqlite:{_file(other)}")


@pytest.mark.parametrize("options", WAYS[1:], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_database_with_other_tables_is_no_lake(
    make_lake: MakeLake, kind: str, options: dict[str, bool]
) -> None:
    lake = make_lake(kind)
    lake.sql("CREATE TABLE users (id INT)")
    with pytest.raises(CatalogNotFoundError, match="no DuckLake catalog at"):
        lake.open(**options)
    assert lake.tables() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_lake_can_share_a_database_with_other_tables_as_it_can_in_duckdb(
    make_lake: MakeLake, kind: str
) -> None:
    lake = make_lake(kind)
    lake.sql("CREATE TABLE users (id INT)")
    _make(lake)
    assert lake.sql("SELECT count(*) FROM users") == [(0,)]


def test_an_empty_file_becomes_a_lake_where_the_database_takes_it_for_one_of_its_own(
    make_lake: MakeLake,
) -> None:
    lake, other = make_lake("sqlite"), make_lake("duckdb")
    for each in (lake, other):
        _file(each).touch()
        with pytest.raises(CatalogNotFoundError):
            each.open(create=False)
    _make(lake)
    with pytest.raises(CatalogUnavailableError, match="not a valid DuckDB database file"):
        other.open()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_directory_is_no_catalog(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    _file(lake).mkdir()
    with pytest.raises(CatalogAccessError, match=r"Is a directory.*Check the path"):
        lake.open()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_cannot_hold_a_catalog_below_it(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    _file(lake).write_text("x")
    with pytest.raises(CatalogAccessError, match="its directory cannot be made"):
        Catalog.open(f"{lake.catalog}/catalog")
    with pytest.raises(CatalogNotFoundError):
        Catalog.open(f"{lake.catalog}/catalog", read_only=True)


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    for catalog in (f"sqlite:{tmp_path}/{'x' * 300}", f"{tmp_path}/{'x' * 300}"):
        with pytest.raises(CatalogAccessError, match="name too long"):
            Catalog.open(catalog)


@pytest.mark.parametrize(
    ("catalog", "said"),
    [("mysql:db=lake host=h", "Use PostgreSQL"), ("mysql://u:p@h/lake", "Use PostgreSQL"),
     ("oracle://h/lake", "sqlite:FILE"), ("s3://bucket/lake", "sqlite:FILE")],
)  # fmt: skip
def test_databases_that_cannot_hold_a_lake_are_refused_by_name(catalog: str, said: str) -> None:
    with pytest.raises(UnsupportedCatalogError, match=said):
        Catalog.open(catalog)


# --- damage ---

DAMAGES = {
    "DROP TABLE ducklake_snapshot": "ducklake_snapshot",
    "DELETE FROM ducklake_snapshot": "no snapshot at all",
    "DELETE FROM ducklake_metadata WHERE key = 'data_path'": "no data path",
    "DROP TABLE ducklake_table": "ducklake_table",
    "ALTER TABLE ducklake_column DROP COLUMN column_type": "column_type",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_catalog_is_called_so(make_lake: MakeLake, kind: str, damage: str) -> None:
    lake = make_lake(kind)
    _make(lake)
    lake.sql(damage)
    said = pytest.raises(CatalogDamagedError, match=DAMAGES[damage])
    with said as damaged, lake.open() as catalog:
        catalog.at().table("t")
    assert "restore it from a backup" in str(damaged.value)
    with said, lake.open() as catalog, catalog.transaction() as tx:
        tx.add_column("t", Field("x", "int32"))


def test_a_file_whose_pages_are_broken_is_called_damaged(make_lake: MakeLake) -> None:
    lake = make_lake("sqlite")
    _make(lake)
    content = bytearray(_file(lake).read_bytes())
    content[100:] = os.urandom(len(content) - 100)
    _file(lake).write_bytes(content)
    with pytest.raises(CatalogError, match=str(_file(lake))):
        lake.open()


# --- servers ---


@pytest.mark.parametrize(
    "catalog",
    [
        "postgres:host=127.0.0.1 port=1 dbname=lake user=me password=CANARY",
        "postgresql://me:CANARY@127.0.0.1:1/lake",
        "postgres:host=no-such-host.invalid dbname=lake user=me password=CANARY",
        "postgres:host=/no/such/folder dbname=lake user=me password=CANARY",
        "postgres:host=127.0.0.1 port=1 dbname=lake user=me password=CANARY sslmode=verify-full",
    ],
)
def test_a_server_that_cannot_be_reached_is_named_with_what_to_check(catalog: str) -> None:
    for options in WAYS:
        with pytest.raises(CatalogUnavailableError, match="Check that the server runs") as lost:
            Catalog.open(catalog, data_path="/data", **options)
        for said in ("dbname=lake", "user=me", "cannot be reached"):
            assert said in str(lost.value)
        assert "CANARY" not in str(lost.value)


def test_a_database_that_is_missing_is_not_made(make_lake: MakeLake) -> None:
    lake = make_lake("postgres")
    with pytest.raises(CatalogUnavailableError, match='"no_such_lake" does not exist'):
        Catalog.open(f"{lake.catalog} dbname=no_such_lake", data_path=lake.data_path)
    assert lake.sql("SELECT count(*) FROM pg_database WHERE datname = 'no_such_lake'") == [(0,)]


def test_a_wrong_password_is_told_and_not_shown(postgres_conninfo: str) -> None:
    with user_with_password(postgres_conninfo, "right") as name:
        catalog = f"postgres:{postgres_conninfo} dbname=postgres user={name}"
        for slot, said in ((" password=CANARY", "authentication failed"), ("", "no password")):
            with pytest.raises(CatalogUnavailableError, match=said) as refused:
                Catalog.open(catalog + slot, data_path="/data")
            assert "CANARY" not in str(refused.value)
            assert "password and database name are right" in str(refused.value)
        with pytest.raises(CatalogNotFoundError):  # which is as far as the right one gets
            Catalog.open(f"{catalog} password=right", create=False)


@pytest.mark.parametrize(
    "conninfo",
    ["nonsense", "dbname", "dbname=lake passwd=CANARY", "dbname='lake", "dbname=lake port=CANARY",
     "postgresql://me:CAN@ARY@h/lake", "postgresql://me:CAN/ARY@h/lake",
     "postgresql://me:%ZZ@h/lake", "postgresql://me:CANARY", "host=me:CANARY@h",
     "dbname=postgresql://me:CANARY@h/lake"],
)  # fmt: skip
def test_a_connection_string_that_makes_no_sense_is_refused_without_quoting_it(
    conninfo: str,
) -> None:
    with pytest.raises(ConfigError, match=r"cannot be understood.*Write postgres:dbname") as no:
        Catalog.open(f"postgres:{conninfo}")
    assert not {"CANARY", "CAN", "ARY"} & set(re.findall("[A-Z]+", str(no.value)))


def test_a_connection_that_the_server_ended_is_replaced(make_lake: MakeLake) -> None:
    lake = make_lake("postgres")
    _make(lake)
    with lake.open() as catalog:
        assert catalog.snapshot().id == 1
        lake.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                 "WHERE datname = current_database() AND pid <> pg_backend_pid()")  # fmt: skip
        assert catalog.snapshot().id == 1


# --- not ours to touch ---


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user of the machine can see; pytest's own are private."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _lake_in(folder: Path, kind: str) -> LakeAddress:
    prefix = "sqlite:" if kind == "sqlite" else ""
    return LakeAddress(kind, f"{prefix}{folder}/catalog", f"{folder}/data/")


def _as_nobody(work: Callable[[], None]) -> str:
    """The error that some work ends with if done by a user without rights."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            work()
            outcome = "no error"
        except BaseException as error:  # noqa: BLE001 - all of it goes to the parent
            outcome = f"{type(error).__name__}: {error}"
        os.write(write, outcome.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_without_write_permission_is_read_and_not_written(
    public_folder: Path, kind: str
) -> None:
    lake = _lake_in(public_folder, kind)
    file = _file(lake)
    _make(lake)
    before = lake.dump()
    file.chmod(0o444)
    public_folder.chmod(0o555)

    def read() -> None:
        with lake.open(read_only=True) as catalog:
            catalog.at().table("t")

    def write() -> None:
        with lake.open() as catalog, catalog.transaction() as tx:
            tx.create_table("u", ID)

    assert _as_nobody(read) == "no error"
    refusal = _as_nobody(write)
    assert refusal.startswith("CatalogAccessError: [DL207]"), refusal
    assert str(file) in refusal
    file.chmod(0o644)
    public_folder.chmod(0o755)
    assert lake.dump() == before


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_without_any_permission_is_refused(
    public_folder: Path, kind: str, read_only: bool
) -> None:
    lake = _lake_in(public_folder, kind)
    file = _file(lake)
    _make(lake)
    file.chmod(0)
    refusal = _as_nobody(lambda: lake.open(read_only=read_only).close())
    assert refusal.startswith("CatalogAccessError: [DL207]"), refusal
    assert "Permission denied" in refusal


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_folder_without_write_permission_gets_no_lake(public_folder: Path, kind: str) -> None:
    lake = _lake_in(public_folder / "new", kind)
    refusals = [_as_nobody(lambda: lake.open().close())]
    (public_folder / "new").mkdir(mode=0o555)
    refusals.append(_as_nobody(lambda: lake.open().close()))
    assert all(r.startswith("CatalogAccessError: [DL207]") for r in refusals), refusals


@pytest.fixture
def reader(make_lake: MakeLake) -> Iterator[tuple[LakeAddress, str]]:
    """A lake on a server, and the name of a user there who may do nothing yet."""
    lake = make_lake("postgres")
    _make(lake)
    name = f"reader_{uuid.uuid4().hex[:8]}"
    lake.sql(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    yield lake, name
    lake.sql(f"DROP OWNED BY {name}")
    lake.sql(f"DROP ROLE {name}")


def _as_user(lake: LakeAddress, name: str) -> LakeAddress:
    return LakeAddress("postgres", f"{lake.catalog} user={name} password=x", lake.data_path)


def test_a_user_who_may_not_see_the_catalog_is_told_so(reader: tuple[LakeAddress, str]) -> None:
    for options in WAYS:
        with pytest.raises(CatalogAccessError, match=r"permission denied.*Check what the database"):
            _as_user(*reader).open(**options)


def test_a_user_who_may_only_read_reads(reader: tuple[LakeAddress, str]) -> None:
    lake, name = reader
    lake.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
    before = lake.dump()
    with _as_user(lake, name).open() as catalog:
        assert catalog.at().table("t")
        denied = pytest.raises(CatalogAccessError, match="permission denied")
        with denied, catalog.transaction() as tx:
            tx.create_table("u", ID)
        lake.sql("DROP INDEX ix_ducklake_column_table_id")
        with pytest.raises(CatalogAccessError, match="must be owner"):
            catalog.create_indexes()
    assert lake.dump() == before


def test_a_server_that_only_reads_gets_no_lake(make_lake: MakeLake) -> None:
    lake = make_lake("postgres")
    name = conninfo_to_dict(lake.catalog.removeprefix("postgres:"))["dbname"]
    lake.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(CatalogAccessError, match="read-only"):
        lake.open()
