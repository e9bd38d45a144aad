"""A password appears nowhere but where the driver needs it: in no message, text or log."""

from __future__ import annotations

import base64
import dataclasses
import logging
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.catalog.dialects import database_for
from ducklake_spark.config import CommitSettings, PostgresAddress, parse_catalog
from ducklake_spark.errors import DuckLakeError
from support.lakes import LakeAddress
from support.roles import user_with_password

# Each stretch between special characters is recognised for itself, should they be cut apart.
SPECIAL = "SeCreT1@SeCreT2/SeCreT3%SeCreT4 SeCreT5:SeCreT6'SeCreT7\\SeCreT8"
PLAIN = "SeCreT0"


def _forms(secret: str) -> Iterator[str]:
    yield from re.findall(r"SeCreT\d", secret)
    yield from (quote(secret, safe=""), quote_plus(secret))
    for shift in range(3):  # base64 has three ways to show the same bytes
        encoded = base64.b64encode(b"x" * shift + secret.encode()).decode().rstrip("=")
        yield encoded[(shift * 4 + 2) // 3 + 1 : -2]


FORMS = sorted({form for secret in (SPECIAL, PLAIN) for form in _forms(secret)})


def _leaks(*texts: str) -> list[str]:
    return [f"{form} in {text[:500]}" for text in texts for form in FORMS if form in text]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error with all that led to it, also what Python would not show."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _texts_of(error: BaseException) -> list[str]:
    texts = ["".join(traceback.format_exception(error))]
    for each in _chain(error):
        texts += [str(each), repr(each), repr(each.args), repr(vars(each))]
        texts += ["".join(traceback.format_exception_only(each))]
    return texts


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """All that anybody logs, at DEBUG; it is looked through at the end of every test."""
    for name in (
        "",
        "sqlalchemy",
        "sqlalchemy.engine",
        "sqlalchemy.pool",
        "psycopg",
        "psycopg.pool",
    ):
        caplog.set_level(logging.DEBUG, logger=name)
    yield caplog
    shown = [f"{r.getMessage()} {r.args!r} {r.exc_text or ''}" for r in caplog.records]
    assert _leaks(*shown, caplog.text) == []


def test_the_search_itself_finds_what_it_is_for() -> None:
    for secret in (SPECIAL, PLAIN):
        for shown in (secret, quote(secret, safe=""), quote_plus(secret)):
            assert _leaks(f"… {shown} …")
        for around in range(3):
            assert _leaks(base64.b64encode(b"u" * around + secret.encode() + b"@h").decode())
    assert _leaks("host=SeCreT2/SeCreT3") != []
    assert _leaks("user=me host=h password=***") == []


# --- what refuses to open ---


def _url(secret: str, rest: str = "127.0.0.1:1/lake") -> str:
    return f"postgresql://me:{secret}@{rest}"


ENCODED = quote(SPECIAL, safe="")
REFUSED = {
    "unreachable": f"postgres:{make_conninfo(host='127.0.0.1', port=1, password=SPECIAL)}",
    "unreachable by URL": _url(ENCODED),
    "unreachable by SQLAlchemy's URL": _url(ENCODED).replace("://", "+psycopg://"),
    "in the query of a URL": f"postgresql://me@127.0.0.1:1/lake?password={ENCODED}",
    "of a key": f"postgres:host=127.0.0.1 port=1 sslmode=require sslpassword={PLAIN}",
    "no such host": f"postgres:host=no-such-host.invalid password={PLAIN}",
    "bad parameter": f"postgres:host=127.0.0.1 port=1 password={PLAIN} sslmode=wrong",
    "bad number": f"postgres:host=127.0.0.1 port=1 password={PLAIN} connect_timeout=wrong",
    "unknown parameter": f"postgres:host=h passwd={PLAIN}",
    "not quoted": f"postgres:host=h password={SPECIAL}",
    "quote left open": f"postgres:host=h password='{PLAIN}",
    "no equals sign": f"postgres:host=h password {PLAIN}",
    "not encoded": _url(SPECIAL),
    "not encoded, with an at sign": _url("SeCreT1@SeCreT2"),
    "not encoded, with a slash": _url("SeCreT1/SeCreT2"),
    "not encoded, with both": _url("SeCreT1/SeCreT2@SeCreT3"),
    "not encoded, with a question mark": _url("SeCreT1?SeCreT2"),
    "not encoded, with a percent sign": _url("SeCreT1%SeCreT2"),
    "not encoded, with a hash": _url("SeCreT1#SeCreT2@SeCreT3"),
    "without a host": "postgresql://me:SeCreT1",
    "without a host but a database": "postgresql://me:SeCreT1/lake",
    "as the name of the database": f"postgres:dbname={_url(PLAIN)}",
    "without the prefix": f"host=h dbname=lake password={PLAIN}",
    "without the prefix, in another order": f"password={PLAIN} host=h",
    "mysql": f"mysql+pymysql://me:{ENCODED}@h/lake",
    "mysql by parameters": f"mysql:host=h password={PLAIN}",
    "unknown kind": f"oracle://me:{ENCODED}@h/lake",
    "misspelt kind": f"postgre:host=h password={PLAIN}",
    "two schemes": f"jdbc:{_url(ENCODED)}",
    "with a NUL": f"postgres:host=h password={PLAIN}\x00",
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_to_open_does_not_show_the_password(what: str) -> None:
    with pytest.raises(DuckLakeError) as refused:
        Catalog.open(REFUSED[what], data_path="/data/lake")
    assert _leaks(*_texts_of(refused.value)) == []


@pytest.mark.parametrize("what", REFUSED)
def test_an_address_does_not_show_the_password(what: str) -> None:
    try:
        address: Any = parse_catalog(REFUSED[what])
        database: Any = database_for(address, None)
    except DuckLakeError:
        return  # the refusal is looked at above
    shown = [f(x) for x in (address, database) for f in (str, repr, ascii, "{}".format)]
    assert isinstance(address, PostgresAddress)
    shown += [repr(dataclasses.asdict(address)), repr(dataclasses.astuple(address))]
    shown += [database.describe(), str(address.conninfo), repr([address.conninfo])]
    assert _leaks(*shown) == []


def test_settings_hold_no_secrets() -> None:
    assert _leaks(repr(CommitSettings()), repr(dataclasses.asdict(CommitSettings()))) == []


# --- an open lake ---


@pytest.fixture(scope="module", params=[PLAIN, SPECIAL], ids=["plain", "special"])
def password(request: pytest.FixtureRequest) -> str:
    secret: str = request.param
    return secret


@pytest.fixture(scope="module")
def user(postgres_conninfo: str, password: str) -> Iterator[str]:
    with user_with_password(postgres_conninfo, password) as name:
        yield name


@pytest.fixture
def conninfo(make_lake: Callable[[str], LakeAddress], user: str, password: str) -> str:
    """Of a new database, as the user who needs the password."""
    database = make_lake("postgres").catalog.removeprefix("postgres:")
    return make_conninfo(database, user=user, password=password)


def _as_url(conninfo: str) -> str:
    parts = {key: quote(str(value), safe="") for key, value in conninfo_to_dict(conninfo).items()}
    port = parts.get("port", "5432")
    return (f"postgresql+psycopg://{parts['user']}:{parts['password']}@/{parts['dbname']}"
            f"?host={parts['host']}&port={port}")  # fmt: skip


def _everything(catalog: Catalog) -> list[Any]:
    """All objects behind a catalog that somebody may print."""
    store = catalog._store
    engine = store.engine
    objects: list[Any] = [catalog, store, store.database, engine, engine.url, engine.pool]
    objects += [engine.dialect, engine.pool.status(), catalog.at(), catalog.snapshot()]
    objects += [catalog.transaction(), catalog.commits(), engine.get_execution_options()]
    with store.connected() as connection:
        driver = connection.connection.driver_connection
        objects += [connection, connection.connection, driver]
    return objects


@pytest.mark.parametrize("by_url", [False, True], ids=["conninfo", "url"])
def test_an_open_lake_does_not_show_the_password(conninfo: str, by_url: bool) -> None:
    catalog = _as_url(conninfo) if by_url else f"postgres:{conninfo}"
    with Catalog.open(catalog, data_path="/data/lake", author="me") as lake:
        with lake.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
        assert lake.at().table("t")
        shown = [f(x) for x in _everything(lake) for f in (str, repr, ascii)]
    assert _leaks(*shown) == []


def _damaged(lake: Catalog, _: str) -> None:
    with lake._store.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE ducklake_table DROP COLUMN table_name")
    lake.at().table("t")


def _ended(lake: Catalog, _: str) -> None:
    with lake._store.connected() as connection:
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")


def _locked_out(lake: Catalog, catalog: str) -> None:
    """The user's password changes while the lake is open, and the connection ends."""
    user = conninfo_to_dict(catalog.removeprefix("postgres:"))["user"]
    with lake._store.writing() as connection:
        connection.exec_driver_sql(f"ALTER ROLE {user} PASSWORD 'other'")
    try:
        with pytest.raises(DuckLakeError):
            _ended(lake, catalog)
        lake.snapshot()
    finally:
        with psycopg.connect(catalog.removeprefix("postgres:"), password="other") as connection:
            right = conninfo_to_dict(catalog.removeprefix("postgres:"))["password"]
            change = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(change.format(sql.Identifier(str(user)), sql.Literal(right)))


# A read waits for a server that does not let it in.
IMPATIENT = CommitSettings(give_up_after_s=0.5)
MISHAPS: dict[str, Callable[[Catalog, str], object]] = {
    "a missing table": lambda lake, _: lake.at().table("nothing"),
    "a missing snapshot": lambda lake, _: lake.snapshot(99),
    "a damaged catalog": _damaged,
    "a lost connection": _ended,
    "a password that changed": _locked_out,
    "another data path": lambda _, catalog: Catalog.open(catalog, data_path="/other"),
    "another password": lambda _, catalog: Catalog.open(f"{catalog} password=SeCreT9"),
}


@pytest.mark.parametrize("what", MISHAPS)
def test_an_error_in_an_open_lake_does_not_show_the_password(conninfo: str, what: str) -> None:
    catalog = f"postgres:{conninfo}"
    with (
        Catalog.open(catalog, data_path="/data/lake", commit_settings=IMPATIENT) as lake,
        pytest.raises(DuckLakeError) as raised,
    ):
        MISHAPS[what](lake, catalog)
    assert _leaks(*_texts_of(raised.value)) == []
